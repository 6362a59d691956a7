"""`codemode repl`: one program after another, with completion."""
