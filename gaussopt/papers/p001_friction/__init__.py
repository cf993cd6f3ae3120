"""Claims of the paper by Yao, Liu and Yang, 2020: Coulomb friction of a sliding rod and of two hinged bars."""
