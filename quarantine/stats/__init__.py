"""TODO room stats."""
