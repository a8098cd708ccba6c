"""Words and shapes that templates share."""
