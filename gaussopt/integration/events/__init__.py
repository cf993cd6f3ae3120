"""Event-driven integration of motions with contacts: watched functions, search for zeros, contact modes, impacts."""
