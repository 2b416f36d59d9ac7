"""Families, priors, formulas and models of whole tables. Imports `tables` and above."""
