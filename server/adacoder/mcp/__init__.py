"""`adacoder mcp`: a server of the Model Context Protocol.

Through its tools, coding agents check and verify functions.
"""
