"""Exact draws on public grids: whole numbers decide, bounds save counting. Imports `inference` and above."""
