"""The execution plane: one guest in one process, and the worker around it.

It imports nothing of the control plane; a worker process loads only this package.
"""
