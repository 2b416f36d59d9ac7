"""Whole tables from noisy counts and moments, raked: cells, sums, pools, weights, rows. Imports `tables` and above."""
