"""The life of a run: its phases and legs, the host work it waits for, where it is kept while it waits."""
