"""Callup in a Flower app with PyTorch."""
