"""What a notebook shows, made of words and numbers: cards, small figures, a progress bar. Imports nothing of ours."""
