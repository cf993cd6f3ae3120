"""Advances of a motion by interpreted steps, one file for each; see `gaussopt.integration.advance`."""
