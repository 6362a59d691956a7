"""JSON Schema to TypeScript: what a model reads about a tool. Pure."""
