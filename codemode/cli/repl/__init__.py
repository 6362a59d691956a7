"""`codemode repl`: runs one program after another, with completion."""
