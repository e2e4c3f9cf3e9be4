"""Fed-CBS in Flower where the server never sees a label count."""
