"""TODO room reach."""
