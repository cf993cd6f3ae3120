"""gaussopt: every time step of a mechanical system as an optimisation problem.

System -> StepData -> Program -> Solution -> certificate -> Trajectory -> comparison -> report.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaussopt.catalogue import Problem, problem
    from gaussopt.certificate import Certificate, certify
    from gaussopt.comparison import Results, compare
    from gaussopt.contacts import Contact, ContactData, Event, contact_points
    from gaussopt.errors import BadInput, GaussoptError, MissingBackend, NotAccepted, UnknownName
    from gaussopt.programs import QP, LeastSquares, LinearSystem, Solution
    from gaussopt.qp_certificate import certify_qp
    from gaussopt.ranks import rank_report
    from gaussopt.registry import names, register
    from gaussopt.simulation import simulate
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
    "Answer": "solving", "BadInput": "errors", "Baumgarte": "stabilisation", "Certificate": "certificate",
    "Contact": "contacts", "ContactData": "contacts", "Energy": "system", "Event": "contacts",
    "GaussoptError": "errors", "LeastSquares": "programs", "LinearSystem": "programs", "MissingBackend": "errors",
    "NotAccepted": "errors", "Problem": "catalogue", "Projection": "stabilisation", "QP": "programs",
    "Results": "comparison", "Solution": "programs", "Status": "status", "StepData": "stepdata",
    "StepSolver": "solving", "System": "system", "Trajectory": "trajectory", "UnknownName": "errors",
    "certify": "certificate", "certify_qp": "qp_certificate", "compare": "comparison",
    "contact_points": "contacts", "formulate": "solving", "make_solver": "solver", "names": "registry",
    "problem": "catalogue", "rank_report": "ranks", "register": "registry", "simulate": "simulation",
    "solve": "solving", "solve_step": "solving",
}  # fmt: skip

__all__ = [
    "QP", "Answer", "BadInput", "Baumgarte", "Certificate", "Contact", "ContactData", "Energy", "Event",
    "GaussoptError", "LeastSquares", "LinearSystem", "MissingBackend", "NotAccepted", "Problem", "Projection",
    "Results", "Solution", "Status", "StepData", "StepSolver", "System", "Trajectory", "UnknownName", "certify",
    "certify_qp", "compare", "contact_points", "formulate", "make_solver", "names", "problem", "rank_report",
    "register", "simulate", "solve", "solve_step",
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
