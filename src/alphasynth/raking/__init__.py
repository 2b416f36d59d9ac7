"""Whole tables from noisy counts and moments, raked; imports errors, `privacy` and `tables`."""
