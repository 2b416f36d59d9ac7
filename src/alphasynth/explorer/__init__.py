"""A page on which a run's numbers are sliders: draws weighted anew in the browser. Imports `pages` and above."""
