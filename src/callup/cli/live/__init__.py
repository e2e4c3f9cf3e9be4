"""The race as it happens: a board that keeps score, and two ways to show it."""
