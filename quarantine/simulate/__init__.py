"""Worlds in which everything is known, and rules let loose on them: what each rule finds, misses, hides and costs.

A world is drawn from a seed: real flake rates, real storm and diff sizes, and the accidents that a rule must not take
for flaking. `ours` decides by the product's own policy, `peers` by what others publish; both see the same builds.
"""
