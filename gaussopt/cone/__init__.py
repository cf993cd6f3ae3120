"""Contacts with friction cones: exact solution of one contact, sweeps over many contacts, all solutions of two."""
