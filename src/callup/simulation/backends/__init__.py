"""Ways to train clients: one at a time (the oracle), all at once in numpy, any torch module over processes."""
