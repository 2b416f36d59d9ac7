"""What a stored table holds, and what might be declared of it, to be checked by hand. Imports `raking` and above."""
