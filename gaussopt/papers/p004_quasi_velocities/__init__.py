"""Claims of the paper by Hao, Liu and Yao, 2020: quasi-velocities against Routh's equations for a body with a blade."""
