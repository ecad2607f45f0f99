"""The Agents, one per file. Agents that ask a model are Roles; the others work by rule."""
