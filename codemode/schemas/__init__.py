"""JSON Schema documents, as tools bring them: what holds for all who read one."""
