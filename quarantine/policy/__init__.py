"""TODO room policy."""
