"""Write Python functions from their docstrings, and run the docstrings' examples before offering anything."""

__version__ = "0.1.0"
