"""Writes Python functions from their docstrings, and runs the docstring's examples before it offers anything."""

__version__ = "0.1.0"
