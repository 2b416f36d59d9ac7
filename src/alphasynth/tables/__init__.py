"""Tables of any kind to records, and what is declared public of them. Imports `privacy` and above."""
