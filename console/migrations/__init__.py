"""How the console's tables came to be."""
