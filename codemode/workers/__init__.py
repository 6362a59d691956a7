"""Worker processes: who gets one, how it is talked to, and how it is ended."""
