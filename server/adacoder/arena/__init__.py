"""The arena compares models and workflows on tasks. It judges by hidden tests, which no lower room can read."""
