"""A generated world with its documents and questions: a benchmark that needs no network."""
