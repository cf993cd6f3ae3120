"""A grid of states studied at once: the answers of the contact laws and of the papers' printed programs."""
