"""Is the claim kept? Neighbouring databases and the loss towards them. Imports `synthesis` and above."""
