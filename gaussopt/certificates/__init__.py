"""How far a candidate is from the truth, whoever computed it."""
