"""Callup in a Flower app."""
