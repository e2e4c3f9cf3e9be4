"""Tasks to run on. One dataset, one file."""
