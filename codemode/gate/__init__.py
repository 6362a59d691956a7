"""The gate for everything that enters the host: how late its loop is, whose turn it is to hold it up, and how
much is kept for whom. What JSON text would be once it is decoded is told by codemode_runtime.parts."""
