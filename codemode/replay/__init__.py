"""Runs again as they were: bundles of what a program was told and did, and what runs them."""
