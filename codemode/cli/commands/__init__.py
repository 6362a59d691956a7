"""One module per command; see codemode/cli/__init__.py."""
