"""Agents, and the request that strategies use. Most agents ask a model. The others follow fixed rules."""
