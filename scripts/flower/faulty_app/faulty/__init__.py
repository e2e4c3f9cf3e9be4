"""The quickstart with one client that misbehaves."""
