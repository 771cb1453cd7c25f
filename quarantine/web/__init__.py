"""TODO room web."""
