"""One file for each thing that goes wrong."""
