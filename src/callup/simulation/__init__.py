"""A federation in one process: the round written once, backends that train, tasks that bring data."""
