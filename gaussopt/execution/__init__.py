"""Execution of independent jobs: guarded processes, workers, clusters, and a store of finished results."""
