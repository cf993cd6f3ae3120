"""Study a grid of states at once: the answers of the contact laws and of the papers' printed programs."""
