"""Whole tables from noisy counts and moments: cells, sums, margins, pairs, features, raking, rows; imports the layers above."""
