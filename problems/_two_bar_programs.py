"""Evidence on the programs of Yao, Liu & Yang 2020: where the printed quadratic programs contradict mechanics."""

from __future__ import annotations

import numpy as np

from gaussopt.core.step_data import StepData
from gaussopt.modelling.erratum import Evidence
from gaussopt.problems._evidence import first_step, miss


def on_the_floor(degrees: float, **settings: object) -> StepData:
    """Return the step of the two bars with both ends on the floor, sliding to the left, without rotation."""
    theta = float(np.radians(degrees))
    turned = {"theta1_0": theta, "theta2_0": np.pi / 2 - theta, "omega1_0": 0.0, "omega2_0": 0.0}
    return first_step("two-bar", **turned, **settings)


def link(pull: float, load: float = -10.0) -> StepData:
    """Return a step of two unit masses joined by a horizontal link, the first on a rough floor, the second pulled."""
    return StepData.from_mapping({
        "M": np.eye(3), "Q": [0.0, load, pull], "J": [[1.0, 0.0, -1.0]], "gamma": [0.0], "J_N": [[0.0, 1.0, 0.0]],
        "zeta_N": [0.0], "J_T": [[[1.0, 0.0, 0.0]]], "zeta_T": [[0.0]], "v_T": [[1.0]], "mu": [0.5],
    })  # fmt: skip


def printed_program() -> Evidence:
    """Compare the paper's program (29) with the LCP in states where A is positive definite."""
    from gaussopt.contact.operator import ContactOperator
    from gaussopt.contact.qp_equivalence import criterion
    from gaussopt.solving.solve import solve_step

    numbers: dict[str, float] = {}
    holds = True
    for name, step in (("60 deg, 20 N up at C", on_the_floor(60.0, F_C=20.0)), ("85 deg", on_the_floor(85.0))):
        exact = solve_step(step, "lcp", "lemke")
        printed = solve_step(step, "normal-force-qp", "daqp", tolerance=np.inf)
        op = ContactOperator.of(step)
        eta = criterion(op.lcp, exact.lam_N).eta
        numbers |= {
            f"{name}: smallest eigenvalue of sym A, 1/kg": float(
                np.linalg.eigvalsh(0.5 * (op.delassus + op.delassus.T))[0]
            ),
            f"{name}: N_A, mechanics, N": exact.lam_N[0], f"{name}: N_C, mechanics, N": exact.lam_N[1],
            f"{name}: N_A, printed program, N": printed.lam_N[0], f"{name}: N_C, printed program, N": printed.lam_N[1],
            f"{name}: eta_C, to be 0 for equality": float(eta[1]),
        }  # fmt: skip
        holds &= bool(np.allclose(exact.lam_N, printed.lam_N, rtol=1e-6, atol=1e-9))
    text = (
        "For positive definite A the printed program returns a tensile force on a contact that in truth separates; eta "
        "of the criterion is not zero there."
    )
    return Evidence(numbers, text, holds)


def primal_program() -> Evidence:
    """Compare the paper's program (36), min 1/2 lam^T A lam + B^T lam over lam >= 0, with the LCP."""
    from gaussopt.contact.operator import ContactOperator
    from gaussopt.core.programs import QP
    from gaussopt.solving.solve import solve, solve_step

    numbers: dict[str, float] = {}
    errors = []
    for name, step in (
        ("two contacts, 70 deg", on_the_floor(70.0)),
        ("one contact, rod at 60 deg", first_step("sliding-rod", theta0=np.radians(60.0))),
    ):
        lcp = ContactOperator.of(step).lcp
        k = lcp.n
        program = QP(0.5 * (lcp.M + lcp.M.T), lcp.q, np.eye(k), np.zeros(k), np.full(k, np.inf))
        x = np.asarray(solve(program, "daqp").x)
        exact = solve_step(step, "lcp", "lemke").lam_N
        errors.append(miss(x, exact))
        numbers[f"{name}: relative difference of (36) and the LCP"] = errors[-1]
        numbers[f"{name}: smallest w at the solution of (36), m/s^2"] = float((lcp.M @ x + lcp.q).min())
    text = "For a scalar (36) is the LCP; for two contacts with non-symmetric A its solution penetrates the floor."
    return Evidence(numbers, text, errors[0] < 1e-6)


def strict_convexity() -> Evidence:
    """Show what a positive definite A does and does not imply for the program (29), without and with weights."""
    from gaussopt.contact.operator import ContactOperator
    from gaussopt.contact.qp_equivalence import weights
    from gaussopt.solving.solve import solve_lcp, solve_step

    step = on_the_floor(85.0)
    exact = solve_step(step, "lcp", "lemke").lam_N
    printed = solve_step(step, "normal-force-qp", "daqp", tolerance=np.inf).lam_N
    weighted = solve_step(step, "weighted-normal-force-qp", "daqp").lam_N

    op = ContactOperator.of(on_the_floor(70.0)).lcp
    # With this bias one of the ends lifts off.
    lifted = type(op)(op.M, np.array([-1.0, 0.3]))
    z, q = (solve_lcp(lifted, f, s, tolerance=np.inf)[0].x for f, s in (("lcp", "lemke"), ("normal-force-qp", "daqp")))
    numbers = {
        "85 deg: relative error of the printed program": miss(printed, exact),
        "85 deg: relative error with weights": miss(weighted, exact),
        "70 deg: weights exist": float(weights(op.M) is not None),
        "70 deg: smallest eigenvalue of sym A, 1/kg": float(np.linalg.eigvalsh(0.5 * (op.M + op.M.T))[0]),
        "70 deg, one end lifted: relative error of the printed program": miss(q, z),
    }  # fmt: skip
    text = (
        "A positive definite gives a strictly convex program, but not one whose solution is the mechanics'. Weights "
        "repair it where they exist; at 70 degrees they do not, and the printed program is wrong there as well."
    )
    return Evidence(numbers, text, miss(printed, exact) < 1e-6)


def all_ideal_forces() -> Evidence:
    """Test eq. (24), a program in all ideal forces, on the smallest example with a joint, which has one contact."""
    from gaussopt.solving.solve import solve_step

    numbers: dict[str, float] = {}
    differ = []
    for pull in (-120.0, -60.0):
        step = link(pull)
        exact, reduced = solve_step(step, "lcp", "lemke"), solve_step(step, "normal-force-qp", "daqp")
        joint = solve_step(step, "joint-force-qp", "daqp", tolerance=np.inf)
        numbers |= {
            f"pull {pull:g} N: mechanics, N": exact.lam_N[0],
            f"pull {pull:g} N: (29), joint eliminated, N": reduced.lam_N[0],
            f"pull {pull:g} N: (24), N": joint.lam_N[0], f"pull {pull:g} N: ell, m/s^2": float(joint.details["ell"][0]),
        }  # fmt: skip
        differ.append(abs(float(joint.lam_N[0] - exact.lam_N[0])))
    text = "With a joint (24) is not (29): one contact, A = 1, and the force is wrong where the joint's pull is large."
    return Evidence(numbers, text, max(differ) < 1e-6)


def without_directions() -> Evidence:
    """Show that the friction forces f(F) in (21), (22) must be multiplied by their directions H before M^-1."""
    step = first_step("two-bar")
    H, normal = step.J_T[:, 0].T, np.array([13.0, 11.0])
    f = step.sigma[:, 0] * step.mu * normal
    by_friction = step.J_N @ np.linalg.solve(step.M, H @ f)
    # Compute the normal gap accelerations in (11) with and without friction, for the same normal forces.
    whole, ideal = (step.J_N @ np.linalg.solve(step.M, D @ normal) for D in (step.friction_map, step.J_N.T))
    numbers = {
        "entries of f(F), two contacts": float(len(f)),
        "columns of M^-1": float(step.n),
        "entries of H f(F)": float(len(H @ f)),
        "A_1 M^-1 H f(F) against (11) with and without friction, m/s^2": float(
            np.abs(whole - ideal - by_friction).max()
        ),
        "what it moves the gaps by, largest, m/s^2": float(np.abs(by_friction).max()),
    }  # fmt: skip
    text = (
        "f(F) has an entry for each contact and M^-1 a column for each coordinate: the printed product does not exist. "
        "With the directions H it is the part that friction has in (11); (20) besides takes f as linear in F."
    )
    return Evidence(numbers, text, len(f) == step.n)


def sizes() -> Evidence:
    """Compare the printed sizes of the right-hand sides and the order of the product (17), on the bars with a hinge.

    In the corrected sizes h + l and s + g, h and l are the numbers of holonomic and of other equality rows, s and g the
    numbers of holonomic and of other inequality rows.
    """
    step = first_step("two-bar", variant="maximal")
    h, l, s, g = step.m, 0, step.k, 0
    G, force = step.J_N.T, np.ones(step.k)
    numbers = {
        "rows of the hinge": float(step.J.shape[0]), "size of b_1, printed h + s": float(h + s),
        "size of b_1, correct h + l": float(h + l), "contact rows": float(step.J_N.shape[0]),
        "size of b_2, printed g": float(g), "size of b_2, correct s + g": float(s + g),
        "rows of G": float(G.shape[0]), "columns of G": float(G.shape[1]), "entries of F": float(len(force)),
        "entries of G F": float(len(G @ force)),
    }  # fmt: skip
    text = (
        "Two bars with two holonomic hinge rows (h = 2, l = 0) and two holonomic contacts (s = 2, g = 0): the printed "
        "sizes are not those of the rows. F stands behind G, which has a column for each of its entries."
    )
    return Evidence(numbers, text, h + s == step.J.shape[0] and g == step.J_N.shape[0])
