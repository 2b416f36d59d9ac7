"""What a whole table says of its population, by its public page. Imports `evaluation` and above."""
