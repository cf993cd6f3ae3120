"""Outcomes of a solve, each with a sentence for the user."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Outcome of a step or a program.

    The value is the name in JSON; a status compares equal to this name. `sentence` says what happened and what to do.
    """

    sentence: str

    def __new__(cls, value: str, sentence: str = "") -> Status:
        """Store the sentence with the value."""
        member = object.__new__(cls)
        member._value_ = value
        member.sentence = sentence
        return member

    SOLVED = "solved", "Solved, and the certificate confirms it."
    INACCURATE = (
        "inaccurate",
        "The answer's certificate exceeds the tolerance; tighten the solver's options, choose an exact solver "
        "(kkt, sparse-kkt, daqp or lemke, whichever takes the program), or set a larger tolerance to study the answer.",
    )
    NOT_PROVED = (
        "not_proved",
        "Primal residual, dual residual and duality gap are at most 1e-9, but the certificate does not prove the "
        "answer to the tolerance: nothing is held against the solver, and nothing is confirmed. Where the numbers of "
        "the program are far below 1, residuals that small mean little.",
    )
    INFEASIBLE = "infeasible", "The constraints contradict each other; remove or correct the contradicting rows."
    UNBOUNDED = (
        "unbounded",
        "The objective has no minimum: a force acts on a direction that has neither mass nor constraint; "
        "add mass or a constraint there.",
    )
    ACCELERATION_NOT_UNIQUE = (
        "acceleration_not_unique",
        "Several accelerations satisfy the mechanics because rank [M; J] < n; add mass or a constraint in "
        "the free directions.",
    )
    NO_SOLUTION = "no_solution", "No contact force satisfies the contact and friction laws (Painleve)."
    MULTIPLE_SOLUTIONS = "multiple_solutions", "Several accelerations satisfy the contact and friction laws (Painleve)."
    ACCUMULATION = "accumulation", "Impacts accumulate at a finite time; the motion cannot be stepped past it."
    ITERATION_LIMIT = "iteration_limit", "The solver stopped at its iteration limit; raise it or rescale the problem."
    TIME_LIMIT = "time_limit", "The solver stopped at its time limit; raise it or choose another solver."
    INTERRUPTED = "interrupted", "The run was interrupted; what was computed before is kept."
    UNSUPPORTED = (
        "unsupported",
        "The motion reached a state that none of its formulations can step; it is known up to there.",
    )
    BAD_INPUT = "bad_input", "The input does not describe a problem; the message says what and where."
    SOLVER_ERROR = "solver_error", "The solver reported an error of its own; try another solver."
    CRASHED = "crashed", "The solver raised an exception or ended its process; try another solver and report the case."

    def __str__(self) -> str:
        return str(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == other if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self.value)
