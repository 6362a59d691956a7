"""A small MCP server, for the demo: what a courier company would offer. Speaks MCP over stdio."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("courier")


@server.tool()
def quote_price(parcels: int, express: bool = False) -> dict[str, int]:
    """What a delivery costs, in cents."""
    return {"cents": 350 * parcels + (500 if express else 0)}


if __name__ == "__main__":
    server.run()
