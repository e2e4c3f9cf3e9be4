"""A run while it goes on: what the terminal and the browser show of its folder. Reads, and never writes."""
