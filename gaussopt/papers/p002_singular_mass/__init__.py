"""Claims of the paper by Yang and Yao, 2017: singular mass matrix, four-bar linkage, genetic algorithm."""
