"""Public names, each with the module that it is loaded from when it is first used."""

from .animation.animate import animate as animate
from .atlas.scan import Atlas as Atlas
from .atlas.scan import scan as scan
from .bodies.model import Model as Model
from .certificates import certify as certify
from .certificates.base import Certificate as Certificate
from .certificates.cone import ConeCertificate as ConeCertificate
from .certificates.cone import certify_cone as certify_cone
from .certificates.contact import ContactCertificate as ContactCertificate
from .certificates.contact import certify_contact as certify_contact
from .certificates.contact_class import ContactClass as ContactClass
from .certificates.contact_class import classify_step as classify_step
from .certificates.qp import certify_qp as certify_qp
from .collected_problems.load import CollectionProblem as CollectionProblem
from .collected_problems.load import collection as collection
from .comparison.compare import compare as compare
from .comparison.merging import merge_results as merge_results
from .comparison.recommend import Recommendation as Recommendation
from .comparison.recommend import recommend as recommend
from .comparison.results import Results as Results
from .contact.operator import ContactOperator as ContactOperator
from .core.cone_complementarity import ConeComplementarity as ConeComplementarity
from .core.cone_complementarity import GlobalContacts as GlobalContacts
from .core.contacts import Contact as Contact
from .core.contacts import ContactData as ContactData
from .core.errors import (
    BadInput as BadInput,
)
from .core.errors import (
    GaussoptError as GaussoptError,
)
from .core.errors import (
    IllPosed as IllPosed,
)
from .core.errors import (
    MachineFailure as MachineFailure,
)
from .core.errors import (
    MissingBackend as MissingBackend,
)
from .core.errors import (
    ModelSlip as ModelSlip,
)
from .core.errors import (
    NotAccepted as NotAccepted,
)
from .core.errors import (
    UnknownName as UnknownName,
)
from .core.errors import (
    Unverified as Unverified,
)
from .core.event import Event as Event
from .core.output import Output as Output
from .core.programs import LCP as LCP
from .core.programs import QP as QP
from .core.programs import LeastSquares as LeastSquares
from .core.programs import LinearSystem as LinearSystem
from .core.registry import names as names
from .core.registry import register as register
from .core.solution import Solution as Solution
from .core.solver import make_solver as make_solver
from .core.status import Status as Status
from .core.step_data import StepData as StepData
from .core.system import Energy as Energy
from .falsification.falsify import Falsification as Falsification
from .falsification.falsify import falsify as falsify
from .falsification.threshold import Boundary as Boundary
from .falsification.threshold import threshold as threshold
from .integration.stabilisation import Baumgarte as Baumgarte
from .integration.stabilisation import Projection as Projection
from .integration.trajectory import Trajectory as Trajectory
from .interchange.fclib import write_fclib as write_fclib
from .interchange.mujoco_model import (
    contacts_from_mujoco as contacts_from_mujoco,
)
from .interchange.mujoco_model import (
    from_mujoco as from_mujoco,
)
from .interchange.mujoco_model import (
    soft_from_mujoco as soft_from_mujoco,
)
from .interchange.mujoco_motion import problem_from_mujoco as problem_from_mujoco
from .interchange.pinocchio_model import from_pinocchio as from_pinocchio
from .interchange.problem_reader import read_problem as read_problem
from .lcp import (
    LCPSolutions as LCPSolutions,
)
from .lcp import (
    MatrixClass as MatrixClass,
)
from .lcp import (
    certify_lcp as certify_lcp,
)
from .lcp import (
    classify_matrix as classify_matrix,
)
from .lcp import (
    enumerate_lcp as enumerate_lcp,
)
from .linalg.redundancy import rank_report as rank_report
from .modelling.assembly import Mobility as Mobility
from .modelling.assembly import assemble as assemble
from .modelling.assembly import mobility as mobility
from .modelling.callables import System as System
from .modelling.contact_points import contact_points as contact_points
from .modelling.model_check import check as check
from .modelling.parameter_grid import AtlasGrid as AtlasGrid
from .modelling.parameter_grid import Axis as Axis
from .modelling.problem import Problem as Problem
from .modelling.problem import problem as problem
from .modelling.sketch import Sketch as Sketch
from .plotting.figures import save_figure as save_figure
from .simulation.batch import simulate_batch as simulate_batch
from .simulation.concatenation import concatenate as concatenate
from .simulation.control import Controller as Controller
from .simulation.simulate import simulate as simulate
from .solving.about_a_state import Linearisation as Linearisation
from .solving.about_a_state import inverse_dynamics as inverse_dynamics
from .solving.about_a_state import linearise as linearise
from .solving.answer import Answer as Answer
from .solving.defaults import formulate as formulate
from .solving.lcp_batch import BatchSolution as BatchSolution
from .solving.lcp_batch import solve_batch as solve_batch
from .solving.solve import judge_acceleration as judge_acceleration
from .solving.solve import solve as solve
from .solving.solve import solve_step as solve_step
from .solving.step_solver import StepSolver as StepSolver
from .storage.netcdf import load_dataset as load_dataset
from .storage.netcdf import save_dataset as save_dataset

__version__: str
