"""A judge of answers in exact arithmetic: integers and fractions of integers, no rounding anywhere in a verdict.

Floats are fractions with a power of two below, so the judge takes exactly the numbers that gaussopt was given. It
imports nothing of gaussopt: what it says of a step or a program is derived from the definitions alone.

- `exact`: fraction-free elimination, distances
- `polyhedron`: points, vertices and rays of the solutions of equations and inequalities
- `bilateral`: steps without contacts
- `contact`: steps with frictionless, sliding and resting contacts
- `complementarity`: linear complementarity problems
- `convex`: convex quadratic programs
"""
