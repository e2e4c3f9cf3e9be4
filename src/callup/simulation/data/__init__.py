"""Real data: where it lies, and readers for its published formats that trust no header."""
