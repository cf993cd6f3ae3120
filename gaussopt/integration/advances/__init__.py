"""Ways of taking a motion forward by interpreted steps, one file for each."""
