"""What `codemode doctor` looks at."""
