"""The collection of step problems with proofs: its members, how it is built and loaded, and the page on all solvers."""
