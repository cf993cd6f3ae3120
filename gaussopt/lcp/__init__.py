"""Linear complementarity problems: matrix classes, all solutions, certificates."""

from __future__ import annotations

from gaussopt.lcp.certificate import LCPCertificate, certify_lcp, natural_residual, polish
from gaussopt.lcp.enumeration import MAX_ENUMERATED, Face, LCPSolutions, enumerate_lcp
from gaussopt.lcp.matrix_classes import MatrixClass, classify_matrix

__all__ = [
    "MAX_ENUMERATED", "Face", "LCPCertificate", "LCPSolutions", "MatrixClass", "certify_lcp", "classify_matrix",
    "enumerate_lcp", "natural_residual", "polish",
]  # fmt: skip
