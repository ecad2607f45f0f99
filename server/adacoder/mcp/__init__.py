"""`adacoder mcp`: a server of the Model Context Protocol. Coding agents use its tools to check functions."""
