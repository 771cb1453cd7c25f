"""TODO room junit."""
