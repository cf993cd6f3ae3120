"""gaussopt: every time step of a mechanical system as an optimisation problem.

System -> StepData -> Program -> Solution -> certificate -> Trajectory -> comparison -> report.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaussopt.atlas import Atlas, scan
    from gaussopt.atlas_grid import AtlasGrid, Axis
    from gaussopt.batch import BatchSolution, solve_batch
    from gaussopt.batch_simulation import simulate_batch
    from gaussopt.catalogue import Problem, problem
    from gaussopt.certificate import Certificate, certify
    from gaussopt.classification import ContactClass, classify_step
    from gaussopt.comparison.compare import Results, compare
    from gaussopt.contact_certificate import ContactCertificate, certify_contact
    from gaussopt.contact_operator import ContactOperator
    from gaussopt.contacts import Contact, ContactData, Event, contact_points
    from gaussopt.errors import (
        BadInput,
        GaussoptError,
        IllPosed,
        MachineFailure,
        MissingBackend,
        NotAccepted,
        UnknownName,
        Unverified,
    )
    from gaussopt.lcp import LCPSolutions, MatrixClass, certify_lcp, classify_matrix, enumerate_lcp
    from gaussopt.netcdf import load_dataset, save_dataset
    from gaussopt.programs import LCP, QP, LeastSquares, LinearSystem, Solution
    from gaussopt.qp_certificate import certify_qp
    from gaussopt.ranks import rank_report
    from gaussopt.registry import names, register
    from gaussopt.reporting.animation import animate
    from gaussopt.simulation import simulate
    from gaussopt.sketch import Sketch
    from gaussopt.solver import make_solver
    from gaussopt.solving import Answer, StepSolver, formulate, solve, solve_step
    from gaussopt.stabilisation import Baumgarte, Projection
    from gaussopt.status import Status
    from gaussopt.stepdata import StepData
    from gaussopt.system import Energy, System
    from gaussopt.trajectory import Trajectory

__version__ = "0.1.0"

# Loaded when first used, so that `import gaussopt` and `gaussopt --help` stay quick.
_HOME = {
    "Answer": "solving", "Atlas": "atlas", "AtlasGrid": "atlas_grid", "Axis": "atlas_grid", "BadInput": "errors",
    "BatchSolution": "batch", "Baumgarte": "stabilisation", "Certificate": "certificate", "Contact": "contacts",
    "ContactCertificate": "contact_certificate", "ContactClass": "classification", "ContactData": "contacts",
    "ContactOperator": "contact_operator", "Energy": "system", "Event": "contacts", "GaussoptError": "errors",
    "IllPosed": "errors", "LCP": "programs", "LCPSolutions": "lcp", "LeastSquares": "programs",
    "LinearSystem": "programs", "MachineFailure": "errors", "MatrixClass": "lcp", "MissingBackend": "errors",
    "NotAccepted": "errors", "Problem": "catalogue", "Projection": "stabilisation", "QP": "programs",
    "Results": "comparison.compare", "Sketch": "sketch", "Solution": "programs", "Status": "status",
    "StepData": "stepdata", "StepSolver": "solving", "System": "system", "Trajectory": "trajectory",
    "UnknownName": "errors", "Unverified": "errors", "animate": "reporting.animation", "certify": "certificate",
    "certify_contact": "contact_certificate", "certify_lcp": "lcp", "certify_qp": "qp_certificate",
    "classify_matrix": "lcp", "classify_step": "classification", "compare": "comparison.compare",
    "contact_points": "contacts", "enumerate_lcp": "lcp", "formulate": "solving", "load_dataset": "netcdf",
    "make_solver": "solver", "names": "registry", "problem": "catalogue", "rank_report": "ranks",
    "register": "registry", "save_dataset": "netcdf", "scan": "atlas", "simulate": "simulation",
    "simulate_batch": "batch_simulation", "solve": "solving", "solve_batch": "batch", "solve_step": "solving",
}  # fmt: skip

__all__ = [
    "LCP", "QP", "Answer", "Atlas", "AtlasGrid", "Axis", "BadInput", "BatchSolution", "Baumgarte", "Certificate",
    "Contact", "ContactCertificate", "ContactClass", "ContactData", "ContactOperator", "Energy", "Event",
    "GaussoptError", "IllPosed", "LCPSolutions", "LeastSquares", "LinearSystem", "MachineFailure", "MatrixClass",
    "MissingBackend", "NotAccepted", "Problem", "Projection", "Results", "Sketch", "Solution", "Status", "StepData",
    "StepSolver", "System", "Trajectory", "UnknownName", "Unverified", "animate", "certify", "certify_contact",
    "certify_lcp", "certify_qp", "classify_matrix", "classify_step", "compare", "contact_points", "enumerate_lcp",
    "formulate", "load_dataset", "make_solver", "names", "problem", "rank_report", "register", "save_dataset", "scan",
    "simulate", "simulate_batch", "solve", "solve_batch", "solve_step",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        module = importlib.import_module(f"gaussopt.{_HOME[name]}")
        value = getattr(module, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'gaussopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
