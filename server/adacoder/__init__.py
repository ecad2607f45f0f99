"""Write Python functions from their docstrings. A function is only inserted after the docstring's examples were run."""

__version__ = "0.1.0"
