"""Worker processes: which leg gets one, how the host talks to it, and how it ends."""
