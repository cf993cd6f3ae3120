"""Contact and friction: the operator of a step, closed contacts, impacts, the papers' quadratic programs."""
