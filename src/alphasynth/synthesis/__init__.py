"""A request carried out: a table read, a mechanism run, synthetic tables made. Imports `mechanisms` and above."""
