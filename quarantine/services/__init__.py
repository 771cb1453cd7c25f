"""Gather, decide, apply, in one transaction: every verb of the product, without an edge around it."""
