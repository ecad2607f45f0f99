"""Write Python functions from their docstrings, and run the docstrings' examples before showing a result."""

__version__ = "0.1.0"
