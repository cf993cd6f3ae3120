"""Solution of steps and programs, up to a verified answer."""
