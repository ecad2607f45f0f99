"""Protect a project's private files. AdaCoder never shows private files to running code, and never reads them for a
prompt or sends them anywhere.
"""
