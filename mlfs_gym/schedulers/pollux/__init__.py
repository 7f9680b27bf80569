"""Pollux: goodput, the search for an allocation, the scheduler."""
