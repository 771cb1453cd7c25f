"""TODO room services."""
