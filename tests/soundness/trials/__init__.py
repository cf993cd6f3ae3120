"""The random campaign: programs of many families, every solver and formulation on them, the exact judge on the answers.

- `families`, `contact_families`, `lcp_families`, `qp_families`: programs from a seed
- `calls`: which formulations and solvers a program is given to
- `lies`: wrong answers made by hand, given to the certificates
- `findings`: what the judge says of an answer
- `work`: a block of programs, one after the other; worker processes, resumption
- `page`: the summary
"""
