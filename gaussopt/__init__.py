"""gaussopt: every time step of a mechanical system as an optimisation problem.

System -> StepData -> Program -> Solution -> certificate -> Trajectory -> comparison -> report.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gaussopt._version import __version__ as __version__

if TYPE_CHECKING:
    from gaussopt.animation.animate import animate
    from gaussopt.atlas.scan import Atlas, scan
    from gaussopt.bodies.model import Model
    from gaussopt.certificates import certify
    from gaussopt.certificates.base import Certificate
    from gaussopt.certificates.cone import ConeCertificate, certify_cone
    from gaussopt.certificates.contact import ContactCertificate, certify_contact
    from gaussopt.certificates.contact_class import ContactClass, classify_step
    from gaussopt.certificates.qp import certify_qp
    from gaussopt.comparison.compare import compare
    from gaussopt.comparison.merging import merge_results
    from gaussopt.comparison.recommend import Recommendation, recommend
    from gaussopt.comparison.results import Results
    from gaussopt.contact.operator import ContactOperator
    from gaussopt.core.cone_complementarity import ConeComplementarity, GlobalContacts
    from gaussopt.core.contacts import Contact, ContactData
    from gaussopt.core.errors import (
        BadInput,
        GaussoptError,
        IllPosed,
        MachineFailure,
        MissingBackend,
        NotAccepted,
        UnknownName,
        Unverified,
    )
    from gaussopt.core.event import Event
    from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem
    from gaussopt.core.registry import names, register
    from gaussopt.core.solution import Solution
    from gaussopt.core.solver import make_solver
    from gaussopt.core.status import Status
    from gaussopt.core.step_data import StepData
    from gaussopt.core.system import Energy
    from gaussopt.integration.stabilisation import Baumgarte, Projection
    from gaussopt.integration.trajectory import Trajectory
    from gaussopt.interchange.fclib import write_fclib
    from gaussopt.interchange.mujoco_model import contacts_from_mujoco, from_mujoco, soft_from_mujoco
    from gaussopt.interchange.mujoco_motion import problem_from_mujoco
    from gaussopt.interchange.pinocchio_model import from_pinocchio
    from gaussopt.interchange.problem_reader import read_problem
    from gaussopt.lcp import LCPSolutions, MatrixClass, certify_lcp, classify_matrix, enumerate_lcp
    from gaussopt.linalg.redundancy import rank_report
    from gaussopt.modelling.assembly import Mobility, assemble, mobility
    from gaussopt.modelling.callables import System
    from gaussopt.modelling.contact_points import contact_points
    from gaussopt.modelling.model_check import check
    from gaussopt.modelling.parameter_grid import AtlasGrid, Axis
    from gaussopt.modelling.problem import Problem, problem
    from gaussopt.modelling.sketch import Sketch
    from gaussopt.plotting.figures import save_figure
    from gaussopt.simulation.batch import simulate_batch
    from gaussopt.simulation.concatenation import concatenate
    from gaussopt.simulation.simulate import simulate
    from gaussopt.solving.answer import Answer
    from gaussopt.solving.defaults import formulate
    from gaussopt.solving.lcp_batch import BatchSolution, solve_batch
    from gaussopt.solving.solve import judge_acceleration, solve, solve_step
    from gaussopt.solving.step_solver import StepSolver
    from gaussopt.storage.netcdf import load_dataset, save_dataset

# Loaded when first used, so that `import gaussopt` and `gaussopt --help` stay quick.
_HOME = {
    "Answer": "solving.answer", "Atlas": "atlas.scan", "AtlasGrid": "modelling.parameter_grid",
    "Axis": "modelling.parameter_grid", "BadInput": "core.errors", "BatchSolution": "solving.lcp_batch",
    "Baumgarte": "integration.stabilisation", "Certificate": "certificates.base",
    "ConeCertificate": "certificates.cone", "ConeComplementarity": "core.cone_complementarity",
    "Contact": "core.contacts", "ContactCertificate": "certificates.contact",
    "ContactClass": "certificates.contact_class", "ContactData": "core.contacts",
    "ContactOperator": "contact.operator", "Energy": "core.system", "Event": "core.event",
    "GaussoptError": "core.errors", "GlobalContacts": "core.cone_complementarity", "IllPosed": "core.errors",
    "LCP": "core.programs", "LCPSolutions": "lcp", "LeastSquares": "core.programs", "LinearSystem": "core.programs",
    "MachineFailure": "core.errors", "MatrixClass": "lcp", "MissingBackend": "core.errors",
    "NotAccepted": "core.errors", "Problem": "modelling.problem", "Projection": "integration.stabilisation",
    "QP": "core.programs", "Recommendation": "comparison.recommend", "Results": "comparison.results",
    "Sketch": "modelling.sketch", "Solution": "core.solution",
    "Status": "core.status", "StepData": "core.step_data", "StepSolver": "solving.step_solver",
    "System": "modelling.callables", "Trajectory": "integration.trajectory", "UnknownName": "core.errors",
    "Unverified": "core.errors", "Mobility": "modelling.assembly", "Model": "bodies.model",
    "assemble": "modelling.assembly", "mobility": "modelling.assembly", "animate": "animation.animate",
    "certify": "certificates", "check": "modelling.model_check",
    "certify_cone": "certificates.cone", "certify_contact": "certificates.contact", "certify_lcp": "lcp",
    "certify_qp": "certificates.qp", "classify_matrix": "lcp", "classify_step": "certificates.contact_class",
    "compare": "comparison.compare", "concatenate": "simulation.concatenation",
    "contact_points": "modelling.contact_points", "contacts_from_mujoco": "interchange.mujoco_model",
    "enumerate_lcp": "lcp", "formulate": "solving.defaults",
    "from_mujoco": "interchange.mujoco_model", "from_pinocchio": "interchange.pinocchio_model",
    "judge_acceleration": "solving.solve", "load_dataset": "storage.netcdf", "make_solver": "core.solver",
    "merge_results": "comparison.merging",
    "names": "core.registry",
    "problem": "modelling.problem", "problem_from_mujoco": "interchange.mujoco_motion",
    "rank_report": "linalg.redundancy", "read_problem": "interchange.problem_reader",
    "recommend": "comparison.recommend",
    "register": "core.registry", "save_dataset": "storage.netcdf", "save_figure": "plotting.figures",
    "scan": "atlas.scan", "simulate": "simulation.simulate", "simulate_batch": "simulation.batch",
    "soft_from_mujoco": "interchange.mujoco_model",
    "solve": "solving.solve", "solve_batch": "solving.lcp_batch", "solve_step": "solving.solve",
    "write_fclib": "interchange.fclib",
}  # fmt: skip

_FORMER = (
    "catalogue", "chain", "contact_operator", "criterion", "errors", "family", "formulation", "programs", "registry",
    "sketch", "solver", "sparse", "status", "stepdata", "stepper", "system",
)  # fmt: skip
"""Modules that were documented under these names; each is an alias for one release."""

__all__ = [
    "LCP", "QP", "Answer", "Atlas", "AtlasGrid", "Axis", "BadInput", "BatchSolution", "Baumgarte", "Certificate",
    "ConeCertificate", "ConeComplementarity", "Contact", "ContactCertificate", "ContactClass", "ContactData",
    "ContactOperator", "Energy", "Event", "GaussoptError", "GlobalContacts", "IllPosed", "LCPSolutions",
    "LeastSquares", "LinearSystem", "MachineFailure", "MatrixClass", "MissingBackend", "Mobility", "Model",
    "NotAccepted", "Problem", "Projection", "Recommendation", "Results", "Sketch", "Solution", "Status", "StepData",
    "StepSolver", "System", "Trajectory", "UnknownName", "Unverified", "animate", "assemble", "certify", "certify_cone",
    "certify_contact", "certify_lcp", "certify_qp", "check", "classify_matrix", "classify_step", "compare",
    "concatenate", "contact_points", "contacts_from_mujoco", "enumerate_lcp", "formulate", "from_mujoco",
    "from_pinocchio", "judge_acceleration", "load_dataset", "make_solver", "merge_results", "mobility", "names",
    "problem", "problem_from_mujoco", "rank_report", "read_problem", "recommend", "register", "save_dataset",
    "save_figure", "scan", "simulate", "simulate_batch",
    "soft_from_mujoco", "solve", "solve_batch", "solve_step", "write_fclib",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        module = importlib.import_module(f"gaussopt.{_HOME[name]}")
        value = getattr(module, name)
        globals()[name] = value
        return value
    if name in _FORMER:
        return importlib.import_module(f"gaussopt.{name}")
    raise AttributeError(f"module 'gaussopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__version__"])
