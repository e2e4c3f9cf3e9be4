"""Every method in every world, the same luck for all: who is best where, and by how much."""
