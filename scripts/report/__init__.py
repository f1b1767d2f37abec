"""Shared code of `scripts.tables`, `scripts.claims` and `scripts.figures`."""
