"""One file per engine under test, each a process of its own that answers requests on its standard streams."""
