"""Exudyn: planar rigid bodies in absolute coordinates with revolute joints, its implicit integrators.

Its explicit Runge-Kutta methods eliminate coordinate constraints only, not joints; so the integrators are the
trapezoidal rule at index 2 (second order, joints at velocity level) and generalised alpha at index 3.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from mechanisms import GROUND, Mechanism, Pair
from numpy.typing import NDArray

from rivals.interface import Rival, Run, per_mark

DOES_MORE = "flexible bodies, beams, bodies in space, contacts; implicit, for stiff systems"
PACKAGES = ("exudyn",)


def prepare(mechanism: Mechanism, dt: float, steps: int, marks: int, solver: str) -> Run:
    """One call of `SolveDynamic` for the whole motion; the angle is kept by a sensor."""
    import exudyn as exu
    from exudyn.itemInterface import (
        LoadForceVector,
        LoadTorqueVector,
        MarkerBodyPosition,
        MarkerBodyRigid,
        MarkerNodeCoordinate,
        Node1D,
        NodePointGround,
        NodeRigidBody2D,
        ObjectConnectorCoordinateSpringDamper,
        ObjectGround,
        ObjectJointRevolute2D,
        ObjectMass1D,
        ObjectRigidBody2D,
        SensorNode,
    )

    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(ObjectGround())
    nodes, objects = [], []
    for b in mechanism.bodies:
        if b.guided:
            node = system.AddNode(Node1D(referenceCoordinates=[b.place[0]]))
            body = system.AddObject(ObjectMass1D(mass=b.mass, nodeNumber=node))
        else:
            node = system.AddNode(NodeRigidBody2D(referenceCoordinates=[*b.place, b.angle]))
            body = system.AddObject(ObjectRigidBody2D(mass=b.mass, inertia=b.inertia, nodeNumber=node))
            mark = system.AddMarker(MarkerBodyPosition(bodyNumber=body))
            system.AddLoad(LoadForceVector(markerNumber=mark, loadVector=[0.0, -b.mass * mechanism.gravity, 0.0]))
        nodes.append(node)
        objects.append(body)

    def marker(body: int, at: Pair) -> int:
        number = ground if body == GROUND else objects[body]
        return int(system.AddMarker(MarkerBodyPosition(bodyNumber=number, localPosition=[*at, 0.0])))

    for pin in mechanism.pins:
        ends = [marker(pin.first, pin.at_first), marker(pin.second, pin.at_second)]
        system.AddObject(ObjectJointRevolute2D(markerNumbers=ends))
    for torque in mechanism.torques:
        turn = system.AddMarker(MarkerBodyRigid(bodyNumber=objects[torque.body]))
        system.AddLoad(LoadTorqueVector(markerNumber=turn, loadVector=[0.0, 0.0, torque.value]))
    for s in mechanism.springs:
        fixed = system.AddNode(NodePointGround())
        between = [
            system.AddMarker(MarkerNodeCoordinate(nodeNumber=fixed, coordinate=0)),
            system.AddMarker(MarkerNodeCoordinate(nodeNumber=nodes[s.body], coordinate=0)),
        ]
        rest = s.rest - mechanism.bodies[s.body].place[0]  # coordinates count from the start
        system.AddObject(ObjectConnectorCoordinateSpringDamper(
            markerNumbers=between, stiffness=s.stiffness, damping=s.damping, offset=rest))  # fmt: skip
    sensor = system.AddSensor(SensorNode(
        nodeNumber=nodes[mechanism.watch], outputVariableType=exu.OutputVariableType.Coordinates,
        storeInternal=True, writeToFile=False))  # fmt: skip
    system.Assemble()

    each = per_mark(steps, marks)
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = steps * dt
    settings.timeIntegration.automaticStepSize = False
    settings.timeIntegration.adaptiveStep = False
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = each * dt
    settings.show.globalTimers = False
    method = getattr(exu.DynamicSolverType, solver)
    turned = mechanism.bodies[mechanism.watch].angle

    def run() -> NDArray[np.float64]:
        if not system.SolveDynamic(settings, solverType=method):
            raise RuntimeError(f"Exudyn could not solve a step of {mechanism.name}.")
        rows = np.asarray(system.GetSensorStoredData(sensor))
        angles: NDArray[np.float64] = rows[-marks:, 3] + turned
        return angles

    return run


def _rival(name: str, solver: str) -> Rival:
    return Rival(f"Exudyn, {name}", DOES_MORE, "C++", "exudyn", PACKAGES, prepare=partial(prepare, solver=solver))


TRAPEZOIDAL = _rival("trapezoidal rule, index 2", "TrapezoidalIndex2")
GENERALISED_ALPHA = _rival("generalised alpha", "GeneralizedAlpha")
RIVALS = (TRAPEZOIDAL, GENERALISED_ALPHA)
