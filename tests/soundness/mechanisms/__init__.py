"""The random campaign of models: mechanisms from a seed, gaussopt's ways to describe them, a judge of its own.

- `fixed`: numbers of 75 decimals
- `parts`, `rows`, `loads`, `judge`: what a mechanism is, what its joints keep, what pulls at it, how it accelerates;
  they import nothing of gaussopt
- `dials`, `draw`: the ranges, and mechanisms drawn from them
- `in_bodies`, `in_mujoco`, `in_pinocchio`, `measures`: a mechanism as a model, and what its coordinates are
- `work`, `page`: a block of states through every answer; the summary
"""
