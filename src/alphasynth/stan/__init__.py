"""Stan in a process of its own: programs compiled, sampled and evaluated there. Imports `errors` alone."""
