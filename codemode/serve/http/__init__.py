"""`codemode serve --http`: the JSON API, events, MCP, the console and metrics of one engine, in one process.

docs/http.md is the contract. Needs `codemode[http]`: only this package and serve/mcp load starlette and
uvicorn, and only when something is served.
"""
