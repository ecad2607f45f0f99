"""The arena: models and workflows compared on tasks, each judged by tests that nothing below can reach."""
