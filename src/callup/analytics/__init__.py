"""What a cohort, a federation or a whole run looks like in numbers. Numpy only."""
