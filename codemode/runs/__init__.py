"""The life of a run: its phases and legs, the host work it waits for, and where it is kept meanwhile."""
