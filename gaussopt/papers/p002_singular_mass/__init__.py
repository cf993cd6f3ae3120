"""Yang and Yao 2017: singular mass matrix, four-bar, genetic algorithm."""
