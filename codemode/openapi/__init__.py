"""Tools from OpenAPI documents: one for each operation, called over HTTP."""
