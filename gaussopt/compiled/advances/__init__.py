"""Ways of taking a motion forward as machine code."""
