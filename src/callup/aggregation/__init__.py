"""One rule, one file: which replies are averaged, and how they become the next model."""
