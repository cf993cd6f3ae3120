# tumbling_rod.py: a rod falls and turns; its first impact is at t = 0.45899 s
import sympy as sp

import gaussopt as go

x, y, th, vx, vy, w = sp.symbols("x y th vx vy w")
system = go.System.from_lagrangian(
    [x, y, th],
    [vx, vy, w],
    kinetic=(vx**2 + vy**2 + w**2 / 12) / 2,
    potential=sp.Float(9.81) * y,
    contacts=[
        go.Contact(n, position=(x + s * sp.cos(th) / 2, y + s * sp.sin(th) / 2), mu=0.3, e_N=0.5)
        for n, s in (("A", -1), ("B", 1))
    ],
)
problem = go.Problem.of(system, q0=[0, 1.5, 0], v0=[0, 0, 30], t_end=1.0)
