"""Hao, Liu and Yao 2020: quasi-velocities against Routh, knife-edge body."""
