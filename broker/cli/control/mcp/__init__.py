"""`barnabas mcp`: the commands of this program as tools of the Model Context Protocol, for coding agents."""
