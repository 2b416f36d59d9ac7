"""Utility and risk of synthetic tables. Imports `synthesizer` and above."""
