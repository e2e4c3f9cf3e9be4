"""The guard: checks what clients say before anybody is chosen by it, and bounds what lying can win."""
