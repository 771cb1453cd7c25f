"""TODO room client."""
