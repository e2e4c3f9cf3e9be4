"""Texts by the people who wrote them, and what next-word prediction makes of them."""
