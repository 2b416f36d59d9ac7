"""What is declared to hold between columns: read from words, judged by spans of numbers. Imports `tables` and above."""
