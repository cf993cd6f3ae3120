"""The classes that advance a motion by interpreted steps, one in each file; see `gaussopt.integration.advance`."""
