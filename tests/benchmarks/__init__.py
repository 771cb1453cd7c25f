"""Figures taken by `make bench`: ratios within one run, medians, on whatever machine this is."""
