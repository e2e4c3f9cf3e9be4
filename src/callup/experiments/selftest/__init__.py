"""The short battery: what Callup promises, shown on the machine it runs on."""
