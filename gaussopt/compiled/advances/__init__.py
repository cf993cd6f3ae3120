"""Advances of a motion by machine code; see `gaussopt.integration.advance`."""
