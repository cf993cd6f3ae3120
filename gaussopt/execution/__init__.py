"""Independent jobs: guarded processes, workers, clusters, the store of finished results."""
