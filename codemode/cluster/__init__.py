"""Engines on several machines by other people's schedulers. Nothing is imported here: each needs its own."""
