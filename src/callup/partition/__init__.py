"""How samples are spread over clients. One scheme, one file."""
