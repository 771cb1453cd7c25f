"""Frozen values: the words every other room speaks in. Nothing here reads a clock, a file or a database."""
