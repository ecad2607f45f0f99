"""The arena compares models and workflows on tasks.

Hidden tests judge the results, and no lower room can read the tests.
"""
