"""A grid of states at once: what the contact laws and the printed programs do there."""
