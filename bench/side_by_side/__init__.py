"""This engine and its peers on the same work, in one run on one machine: bench/README.md says how to read it.

`python -m bench.side_by_side` installs the peers, takes turns between all engines, writes docs/benchmarks.md.
"""
