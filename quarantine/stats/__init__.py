"""Numbers in, numbers out: binomial tails, the sequential entry test, the shares of the error budget, exit streaks."""
