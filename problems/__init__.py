"""Problems, one file each; see `gaussopt.problem` for the interface."""
