"""Offers the engine to hosts in other languages: JSON-RPC over standard input and output."""
