"""Linear algebra of steps: dense and sparse saddle-point systems, ranks, redundant rows."""
