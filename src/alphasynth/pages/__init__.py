"""Figures, tables and pages, confidential and public. Imports `evaluation` and above."""
