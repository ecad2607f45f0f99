"""Compare models and workflows on tasks. Hidden tests judge the results, and the model never sees these tests."""
