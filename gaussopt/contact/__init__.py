"""Contact and friction: the operator of a step, who is closed, impacts, the papers' quadratic programs."""
