"""The contract everything hangs on. Numpy only."""
