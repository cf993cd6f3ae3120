"""Mechanisms from bodies, joints, forces and contacts; see `gaussopt.bodies.model.Model`."""

from gaussopt.bodies.forces.applied import AppliedForce as AppliedForce
from gaussopt.bodies.forces.applied import AppliedTorque as AppliedTorque
from gaussopt.bodies.forces.ball_touch import BallTouch as BallTouch
from gaussopt.bodies.forces.bushing import Bushing as Bushing
from gaussopt.bodies.forces.spring_damper import SpringDamper as SpringDamper
from gaussopt.bodies.forces.torsion import Torsion as Torsion
from gaussopt.bodies.forces.touch import Touch as Touch
from gaussopt.bodies.joints.distance import Distance as Distance
from gaussopt.bodies.joints.drive import Drive as Drive
from gaussopt.bodies.joints.gear import Gear as Gear
from gaussopt.bodies.joints.rigid import Cylindrical as Cylindrical
from gaussopt.bodies.joints.rigid import Prismatic as Prismatic
from gaussopt.bodies.joints.rigid import Revolute as Revolute
from gaussopt.bodies.joints.rigid import Slot as Slot
from gaussopt.bodies.joints.rigid import Spherical as Spherical
from gaussopt.bodies.joints.rigid import Universal as Universal
from gaussopt.bodies.joints.rigid import Weld as Weld
from gaussopt.bodies.joints.rolling import Rolling as Rolling
from gaussopt.bodies.joints.row import Row as Row
from gaussopt.bodies.model import Model as Model
from gaussopt.bodies.pile import Pile as Pile
from gaussopt.modelling.solids import Ball as Ball
from gaussopt.modelling.solids import Box as Box
from gaussopt.modelling.solids import Capsule as Capsule
from gaussopt.modelling.solids import Cylinder as Cylinder
