"""The papers' tables again: published number, ours, and a verdict."""
