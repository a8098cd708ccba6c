"""The pages of the console: one module a screen, and the frame that they share."""
