"""Problems, one file each; see `gaussopt.modelling.problem` for the interface."""
