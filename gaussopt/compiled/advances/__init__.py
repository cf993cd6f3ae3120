"""Classes that advance a motion by machine code; see `gaussopt.integration.advance`."""
