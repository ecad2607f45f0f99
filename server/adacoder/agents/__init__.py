"""The Agents: one file each. Those that ask a model are Roles; the others work by rule."""
