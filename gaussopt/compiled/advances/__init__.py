"""Ways of advancing a motion as machine code."""
