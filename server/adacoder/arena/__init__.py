"""Compare models and workflows on tasks. Hidden tests judge the functions that models write."""
