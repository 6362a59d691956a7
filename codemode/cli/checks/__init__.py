"""The checks of `codemode doctor`."""
