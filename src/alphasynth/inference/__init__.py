"""Contributions of records, densities and what draws from them. Imports `models` and above."""
