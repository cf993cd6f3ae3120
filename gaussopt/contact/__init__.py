"""Contact and friction: the contact laws of a step and their solutions, closed contacts, and impacts."""
