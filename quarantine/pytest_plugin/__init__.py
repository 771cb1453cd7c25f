"""The pytest plugin. It does nothing unless it is asked with `--quarantine`."""
