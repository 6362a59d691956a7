"""The control plane: what hosts plug in. Loads neither wasmtime nor a parser: those live in workers."""
