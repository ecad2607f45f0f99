"""The Agents, one per file. Agents that ask a model are Roles. The others follow fixed rules."""
