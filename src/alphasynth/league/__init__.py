"""Mechanisms and baselines compared at equal epsilon. Imports `pages` and above."""
