"""Log-likelihoods from another program: matrices in, weights and bounds out. Imports `mechanisms` and above."""
