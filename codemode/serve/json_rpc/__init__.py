"""The engine for hosts in other languages: JSON-RPC over standard input and output."""
