"""Problems, one file for each; see `gaussopt.modelling.problem` for the interface."""
