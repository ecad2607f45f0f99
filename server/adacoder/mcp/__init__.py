"""`adacoder mcp`: a server of the Model Context Protocol, through which coding agents check and verify functions."""
