"""TODO room daemon."""
