"""The arena compares models and workflows on tasks. Hidden tests judge them, and no lower room can reach the tests."""
