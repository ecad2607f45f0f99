"""Amounts and times of recipes."""
