"""Problems, one file each; see `gaussopt.catalogue` for the interface."""
