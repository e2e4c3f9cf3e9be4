"""Many runs at once: grids of methods, scenarios and seeds, and what is concluded from them."""
