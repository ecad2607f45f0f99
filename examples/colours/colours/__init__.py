"""Colours of web pages, and whether people can read one on another."""
