"""Runs with their settings, folders, ledger and reports. Imports `league` and above."""
