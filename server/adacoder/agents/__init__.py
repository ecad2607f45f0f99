"""The Agents, and the request that strategies use. Agents that ask a model are Roles. The others follow fixed rules."""
