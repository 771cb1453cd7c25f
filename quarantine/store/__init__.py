"""TODO room store."""
