"""A scripted evaluation: what a model needs until its program is right. See bench_models.py."""
