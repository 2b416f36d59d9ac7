"""Arithmetic of epsilon, random bits, exact noise and draws, what is promised. Imports the root modules alone."""
