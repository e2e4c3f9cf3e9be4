"""Clients that lie: one way of lying, one file. Each alters only what clients say, never what the server does."""
