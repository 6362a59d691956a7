"""How long a test waits for what has to happen: enough for a busy machine, less than pytest's own limit."""

PATIENCE_SECONDS = 40.0
