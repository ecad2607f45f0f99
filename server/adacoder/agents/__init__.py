"""Agents, which ask a model or follow fixed rules, and `Request`, their interface to strategies."""
