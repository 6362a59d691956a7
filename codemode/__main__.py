"""`python -m codemode`: the same as the command `codemode`."""

from codemode.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
