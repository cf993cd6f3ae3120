"""Yao, Liu and Yang 2020: Coulomb friction, sliding rod and two bars."""
