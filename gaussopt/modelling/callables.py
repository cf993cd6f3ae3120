"""Mechanical systems given by plain callables, from whose values at a state (t, q, v) step data are assembled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core.arrays import Vector, all_finite, as_state, check_mass_matrix, is_sparse, with_axis
from gaussopt.core.contacts import (
    Coefficients,
    Kinematics,
    as_contact_data,
    check_coefficients,
    check_normals,
)
from gaussopt.core.display import counted, listed
from gaussopt.core.errors import BadInput, one_line
from gaussopt.core.foreign import WRITES, Changed, call_with_copies
from gaussopt.core.machine import pass_on
from gaussopt.core.row_rounding import without_rounding
from gaussopt.core.sparse_arrays import as_sparse, check_sparse_mass
from gaussopt.core.step_data import StepData, as_array, sparse_step
from gaussopt.core.system import AbstractSystem, Energy, Outline, state_in_words
from gaussopt.modelling.consistency import check_rows
from gaussopt.modelling.contact_points import ContactPoints
from gaussopt.modelling.energies import from_lagrangian
from gaussopt.modelling.lagrangian import LagrangianSystem

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

    MatrixLike = ArrayLike | sparray | spmatrix
    Rows = tuple[MatrixLike, ArrayLike] | tuple[MatrixLike, ArrayLike, ArrayLike]

StateFunction = Callable[[float, Vector, Vector], ArrayLike]
PositionFunction = Callable[[float, Vector], ArrayLike]


class System(AbstractSystem):
    """A mechanical system given by plain callables.

    M(t, q, v) a + h = Q + J^T lam + J_N^T lam_N + J_T^T lam_T,  J a = gamma,  J_N a + zeta_N >= 0.

    Parameters
    ----------
    mass : (n, n) array or callable (t, q, v) -> (n, n)
        Mass matrix M, symmetric positive semidefinite. For systems of many bodies it may be a block-diagonal SciPy
        sparse matrix. If M or J is sparse, the other is converted to a sparse matrix.
    force : (n,) array or callable (t, q, v) -> (n,), generalised applied force Q
    equality : callable (t, q, v) -> (J, gamma) or (J, gamma, J_terms), optional
        Equality constraints on the acceleration, J (m, n) and gamma (m,). Rows of holonomic
        constraints come first, in the order of `position`. If entries of J are differences of larger numbers, they may
        be pure rounding error: give in J_terms (m, n) the sum of the absolute values of these numbers for each entry.
        Without J_terms, the rounding error of an entry of J is assumed to be proportional to the entry.
    inertia : callable (t, q, v) -> (n,), optional
        Velocity-dependent inertia terms h on the left-hand side; 0 if absent.
    position : callable (t, q) -> (m_h,), optional
        Holonomic constraint functions, zero on the constraints; needed for drift and projection. At the start
        of a simulation, the rows of `equality` are checked against them.
    velocity : callable (t, q, v) -> (m,), optional
        Constraint residuals at velocity level; J v by default, which is correct for constraints that do not
        depend explicitly on time.
    energy : callable (t, q, v) -> (kinetic, potential) or (kinetic, potential, power), optional
        Energies in J. The power, in W, is that of the forces without potential; NaN (unknown) if not given.
    contacts : callable (t, q, v) -> ContactData or a mapping with the names of its fields, optional
        Gaps and directions of k unilateral contacts, where k never changes; `contact_points` makes such a callable
        from the positions of the contact points.
    contact_names : k names, optional
    two_sided : k bools, optional; True for guides without clearance, see `Contact.two_sided`
    coordinates : names of the coordinates, optional
    name : str

    Raises
    ------
    BadInput
        At evaluation; the message names the callable, the time and the state.

    Notes
    -----
    The Gauss function of the step is 1/2 (a - a0)^T M (a - a0) with M a0 = Q - h.
    """

    _equality: Callable[[float, Vector, Vector], Rows] | None = None
    _rows_of_motion: int | None = None
    _push: Vector | float = 0.0  # the generalised forces of a control

    def __init__(
        self,
        mass: MatrixLike | Callable[[float, Vector, Vector], MatrixLike],
        force: ArrayLike | StateFunction,
        equality: Callable[[float, Vector, Vector], Rows] | None = None,
        *,
        inertia: ArrayLike | StateFunction | None = None,
        position: PositionFunction | None = None,
        velocity: StateFunction | None = None,
        energy: Callable[[float, Vector, Vector], tuple[float, ...]] | None = None,
        contacts: Callable[[float, Vector, Vector], Any] | None = None,
        contact_names: Sequence[str] | None = None,
        two_sided: Sequence[bool] | None = None,
        coordinates: Sequence[str] | None = None,
        name: str = "system",
    ) -> None:
        self.name = name = str(name)
        self._mass = mass
        self._force = force
        self._inertia = inertia
        self._equality = equality
        self._position = position
        self._velocity = velocity
        self._energy = energy
        self._coordinates = None if coordinates is None else tuple(coordinates)
        self._contacts = contacts
        self._checked_mass: tuple[Any, Any] | None = None
        self.depends_on_time = any(callable(part) for part in (mass, force, inertia, equality, contacts))
        for label, part in (
            ("equality", equality), ("position", position), ("velocity", velocity), ("energy", energy),
            ("contacts", contacts),
        ):  # fmt: skip
            if part is not None and not callable(part):
                raise BadInput(f"{label} of {name!r} must be a callable, not {type(part).__name__}.")
        names = getattr(contacts, "names", None) if contact_names is None else contact_names
        sides = getattr(contacts, "two_sided", None) if two_sided is None else two_sided
        self._contact_names: tuple[str, ...] | None = None if names is None else tuple(map(str, names))
        self._two_sided: tuple[bool, ...] | None = None if sides is None else tuple(map(bool, sides))

    from_lagrangian = staticmethod(from_lagrangian)

    # -- the interface of every system ---------------------------------------------------------

    def coordinates(self, n: int) -> tuple[str, ...]:
        if self._coordinates is not None and len(self._coordinates) == n:
            return self._coordinates
        return super().coordinates(n)

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Return the step data of the state q, v, (n,) each.

        Raises BadInput if a callable fails or returns NaN or the wrong shape, or if M is not a valid mass matrix.
        """
        t, q, v = as_state(t, q, v)
        if not (all_finite(q) and all_finite(v)):
            raise BadInput(f"state of {self.name!r} is not finite, at {state_in_words(t, q, v)}.")
        n = len(q)
        mass = self._call("mass", self._mass, t, q, v) if callable(self._mass) else self._mass
        if is_sparse(mass):
            return self._evaluate_sparse(mass, t, q, v)
        M = self._checked("mass", mass, (n, n), t, q, v)
        try:
            M = check_mass_matrix(M, f"mass of {self.name!r}")
        except BadInput as error:
            raise BadInput(f"{str(error)[:-1]}, at {state_in_words(t, q, v)}.") from None
        Q = self._array("force", self._force, (n,), t, q, v) + self._push
        h = np.zeros(n) if self._inertia is None else self._array("inertia", self._inertia, (n,), t, q, v)
        terms = None
        if self._equality is None:
            J, gamma = np.zeros((0, n)), np.zeros(0)
        else:
            pair = self._rows(t, q, v)
            if is_sparse(pair[0]):
                return self._evaluate_sparse(mass, t, q, v, pair)
            J = self._checked("equality (J)", pair[0], (None, n), t, q, v)
            gamma = self._checked("equality (gamma)", pair[1], (len(J),), t, q, v)
            if len(pair) == 3:
                terms = self._checked("equality (J_terms)", pair[2], J.shape, t, q, v)
                J = without_rounding(J, terms)
            if self._rows_of_motion not in (None, len(J)):
                raise BadInput(
                    f"equality of {self.name!r} returned {len(J)} rows, and {self._rows_of_motion} before; their "
                    f"number never changes in a motion, at {state_in_words(t, q, v)}."
                )
        if self._contacts is None:
            return StepData.smooth(M, h, Q, J, gamma, t, q, v, J_terms=terms)
        c, coefficients = self._contact_arrays(t, q, v)
        return StepData(
            M, h, Q, J, gamma, c.J_N, c.zeta_N, c.J_T, c.zeta_T, c.v_T, coefficients.mu, t, q, v, g_N=c.g_N,
            gdot_N=c.gdot_N, e_N=coefficients.e_N, e_T=coefficients.e_T, J_terms=terms,
        )  # fmt: skip

    @property
    def size(self) -> int | None:
        if isinstance(self._mass, np.ndarray) and self._mass.ndim:
            return len(self._mass)
        return None if self._coordinates is None else len(self._coordinates)

    def _extent(self) -> str:
        return f"coordinates {listed(self._coordinates)}; " if self._coordinates else ""

    def outline(self, q: Vector) -> Outline | None:
        """Return the points of `contact_points`, joined in order by rods; None if contacts are not given by points."""
        if not isinstance(self._contacts, ContactPoints):
            return None
        places = np.asarray(self._call("position", self._contacts.position, 0.0, q), dtype=float)
        names = self._contact_names or tuple(f"contact {i + 1}" for i in range(len(places)))
        if places.ndim != 2 or places.shape != (len(names), 2):
            return None
        ends = [(x, y) for x, y in places.tolist()]
        return Outline([], list(pairwise(ends)), [], dict(zip(names, ends, strict=True)))

    def of_motion(self, rows: int) -> System:
        """Return a copy for one motion; its `evaluate` raises BadInput if the number of equality rows is not `rows`."""
        if self._equality is None:
            return self
        system = copy(self)
        system._rows_of_motion = rows
        return system

    def set_inputs(self, given: Any, n: int) -> dict[str, float]:
        """Set generalised forces, (n,), which are added to Q; raises BadInput."""
        self._push = push = as_array("the generalised forces", given, (n,))
        return dict(zip(self.coordinates(n), push.tolist(), strict=True))

    def _rows(self, t: float, q: Vector, v: Vector) -> Any:
        """Return J and gamma, and J_terms if given, as the callable returned them."""
        assert self._equality is not None
        pair = self._call("equality", self._equality, t, q, v)
        if not isinstance(pair, tuple | list) or len(pair) not in (2, 3):
            raise BadInput(f"equality of {self.name!r} must return the pair (J, gamma), or J_terms with it.")
        return pair

    def _evaluate_sparse(self, mass: Any, t: float, q: Vector, v: Vector, pair: Any = None) -> StepData:
        """Evaluate with a sparse mass matrix or J; `pair` holds J and gamma if they are already known."""
        if self._contacts is not None:
            raise BadInput(f"{self.name!r} has contacts and sparse matrices; contacts need a dense M and a dense J.")
        n = len(q)
        where = f", at {state_in_words(t, q, v)}."
        try:
            if self._checked_mass is None or self._checked_mass[0] is not mass or callable(self._mass):
                M = check_sparse_mass(as_sparse(f"mass of {self.name!r}", mass, (n, n)), f"mass of {self.name!r}")
                self._checked_mass = mass, M
            M = self._checked_mass[1]
            if M.shape[0] != n:
                raise BadInput(f"mass of {self.name!r} has shape {M.shape}, expected ({n}, {n})")
            if pair is None:
                pair = (np.zeros((0, n)), np.zeros(0)) if self._equality is None else self._rows(t, q, v)
            J = as_sparse(f"equality (J) of {self.name!r}", pair[0], (None, n))
        except BadInput as error:
            raise BadInput(f"{str(error).rstrip('.')}{where}" if where not in str(error) else str(error)) from None
        gamma = self._checked("equality (gamma)", pair[1], (J.shape[0],), t, q, v)
        Q = self._array("force", self._force, (n,), t, q, v) + self._push
        h = np.zeros(n) if self._inertia is None else self._array("inertia", self._inertia, (n,), t, q, v)
        return sparse_step(M, h, Q, J, gamma, t, q, v)

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts, in the order of the step data; empty if there are none.

        Contacts without given names are called contact 1, contact 2 ...; the first evaluation determines how many.
        """
        return self._contact_names or ()

    @property
    def two_sided(self) -> tuple[bool, ...]:
        return self._two_sided or (False,) * len(self.contact_names)

    def gaps(self, t: float, q: Vector) -> Vector:
        return self._contact_arrays(t, q, np.zeros(len(q)))[0].g_N if self._contacts is not None else np.zeros(0)

    def gap_rates(self, t: float, q: Vector, v: Vector) -> Vector:
        return self._contact_arrays(t, q, v)[0].gdot_N if self._contacts is not None else np.zeros(0)

    def position_residual(self, t: float, q: Vector) -> Vector | None:
        if self._position is None:
            return None
        return self._checked("position", self._call("position", self._position, t, q), (None,), t, q, None)

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector | None:
        if self._velocity is not None:
            return self._checked("velocity", self._call("velocity", self._velocity, t, q, v), (None,), t, q, v)
        if self._equality is None:
            return np.zeros(0)
        return super().velocity_residual(t, q, v)

    def check_rows(self, t: float, q: Vector, v: Vector) -> None:
        """Raise BadInput if rows contradict `position` or the gaps; see `gaussopt.modelling.consistency`."""
        check_rows(self, t, q, v, gaps=not isinstance(self._contacts, ContactPoints))

    def energy(self, t: float, q: Vector, v: Vector) -> Energy | None:
        if self._energy is None:
            return None
        found = self._call("energy", self._energy, t, q, v)
        values = self._checked("energy", found, (None,), t, q, v)
        if len(values) != 3:  # the callable returned no power
            values = self._checked("energy", values, (2,), t, q, v)
        return Energy(*values.tolist())

    # -- calling a user's functions ----------------------------------------------------------

    def _contact_arrays(self, t: float, q: Vector, v: Vector) -> tuple[Kinematics, Coefficients]:
        """Call the contacts callable and return its arrays after checks."""
        assert self._contacts is not None
        raw = self._call("contacts", self._contacts, t, q, v)
        try:
            data = as_contact_data(raw)
        except BadInput as error:
            raise BadInput(f"contacts of {self.name!r} {error}, at {state_in_words(t, q, v)}.") from None
        n = len(q)

        def read(label: str, value: Any, shape: tuple[int | None, ...]) -> Any:
            return self._checked(f"contacts ({label})", value, shape, t, q, v)

        g_N = read("g_N", data.g_N, (None,))
        k = len(g_N)
        self._count_contacts(k)
        J_N, zeta_N = read("J_N", data.J_N, (k, n)), read("zeta_N", data.zeta_N, (k,))
        gdot_N = J_N @ v if data.gdot_N is None else read("gdot_N", data.gdot_N, (k,))
        if data.J_T is None:
            J_T, zeta_T, v_T = np.zeros((k, 1, n)), np.zeros((k, 1)), np.zeros((k, 1))
        else:
            J_T = read("J_T", with_axis(data.J_T, 2), (k, None, n))
            d = J_T.shape[1]
            zeta_T = read("zeta_T", with_axis(data.zeta_T, 1), (k, d))
            v_T = J_T @ v if data.v_T is None else read("v_T", with_axis(data.v_T, 1), (k, d))

        def each(label: str, value: Any) -> Vector:
            if value is None:
                return np.zeros(k)
            same = np.full(k, value) if np.ndim(value) == 0 else value
            return np.array(read(label, same, (k,)))

        coefficients = check_coefficients(
            self.name, self.contact_names, each("mu", data.mu), each("e_N", data.e_N), each("e_T", data.e_T)
        )
        if data.J_T is None and (coefficients.mu > 0).any():
            raise BadInput(
                f"contacts of {self.name!r} returned a positive 'mu' without 'J_T', at {state_in_words(t, q, v)}."
            )
        check_normals(self, J_N, J_T, t, q, v)
        return Kinematics(g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T), coefficients

    def _count_contacts(self, k: int) -> None:
        """Store the number of contacts at the first call; raise BadInput if it differs in a later call."""
        if self._contact_names is None:
            self._contact_names = tuple(f"contact {i + 1}" for i in range(k))
        for label, known in (("name", self._contact_names), ("two_sided flag", self._two_sided)):
            if known is not None and len(known) != k:
                raise BadInput(
                    f"contacts of {self.name!r} returned {k} contacts and there are {len(known)} of them by {label}; "
                    "their number never changes."
                )

    def _array(
        self, label: str, part: Any, shape: tuple[int | None, ...], t: float, q: Vector, v: Vector
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        value = self._call(label, part, t, q, v) if callable(part) else part
        return self._checked(label, value, shape, t, q, v)

    def _call(self, label: str, function: Callable[..., Any], t: float, q: Vector, v: Vector | None = None) -> Any:
        """Return the result of a user's function, which is called with copies of the state.

        Raises BadInput if the function raises, or changes the copies: its result could then belong to another state.
        """
        try:
            value = call_with_copies(function, t, q, v)
        except BadInput:
            raise
        except Changed:
            raise BadInput(f"{label} of {self.name!r} {WRITES}, at {state_in_words(t, q, v)}.") from None
        except BaseException as error:
            pass_on(f"{label} of {self.name!r} was not computed", error)
            raise BadInput(
                f"{label} of {self.name!r} raised {type(error).__name__}: {one_line(error)}, at "
                f"{state_in_words(t, q, v)}."
            ) from error
        return value

    def _checked(
        self, label: str, value: Any, shape: tuple[int | None, ...], t: float, q: Vector, v: Vector | None
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        try:
            return as_array(f"{label} of {self.name!r}", value, shape)
        except BadInput as error:
            wanted = f" for the {counted(len(q), 'entry', 'entries')} of q" if "expected" in str(error) else ""
            raise BadInput(f"{str(error)[:-1]}{wanted}, at {state_in_words(t, q, v)}.") from None


System.register(LagrangianSystem)
