"""Rules, searches, strict contributions and noisy scores: what is private, and how. Imports `inference` and above."""
