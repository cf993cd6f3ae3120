"""Generation of LLVM instructions for operations on numbers, and for calls of the C library."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from gaussopt.core.errors import NotCompiled
from gaussopt.jit.types import FLOATS, INTEGER, REAL, SHORT, TRUTH, Array, Kind, constant, untranslated

INTRINSICS = {"sqrt": "llvm.sqrt", "floor": "llvm.floor", "ceil": "llvm.ceil", "fabs": "llvm.fabs", "abs": "llvm.fabs"}

LIBRARY = {
    name: name for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
        "expm1", "log", "log10", "log1p", "log2", "erf", "erfc", "hypot", "copysign", "pow", "fmod",
    )
} | {"gamma": "tgamma", "lgamma": "lgamma"}  # fmt: skip
"""Functions of Python's math module and the functions of the C library that they call."""

CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045, "inf": float("inf"), "nan": float("nan")}

_REAL_OPERATIONS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul"}
_INTEGER_OPERATIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}


class Unit(ABC):
    """The LLVM module to which functions are added, with the constant tables of the source by name."""

    def __init__(self) -> None:
        self.module = ir.Module("generated")
        self.tables: dict[str, ir.Value] = {}

    @abstractmethod
    def defines(self, name: str) -> bool:
        """Tell whether the source defines a function of this name."""

    @abstractmethod
    def function(self, name: str, kinds: Sequence[Kind]) -> tuple[ir.Function, Sequence[Kind]]:
        """Return a function of the source, translated at first use, and the types of its parameters."""

    def outside(self, name: str, result: ir.Type, parameters: Sequence[ir.Type]) -> ir.Function:
        """Return the declaration of a function of the C library."""
        if name not in self.module.globals:
            ir.Function(self.module, ir.FunctionType(result, parameters), name).attributes.add("nounwind")
        return self.module.globals[name]

    def library(self, name: str, arguments: int) -> ir.Function:
        """Return the declaration of a function of `arguments` floats from LLVM or the C library."""
        reals = [REAL] * arguments
        if name.startswith("llvm."):
            return self.module.declare_intrinsic(name, [REAL], ir.FunctionType(REAL, reals))
        return self.outside(name, REAL, reals)


class Arithmetic:
    """Appends operations to a block; LLVM's `flags` apply to operations on floats."""

    def __init__(self, unit: Unit, function: ir.Function, flags: tuple[str, ...]) -> None:
        self._unit, self._function, self._flags = unit, function, flags
        # The entry block allocates the variables on the stack; LLVM turns these into registers.
        self._entry = ir.IRBuilder(function.append_basic_block("entry"))
        self._b = ir.IRBuilder(function.append_basic_block("body"))

    def _holds(self, sign: str, x: ir.Value, y: ir.Value) -> ir.Value:
        if x.type != REAL:
            return self._b.icmp_signed(sign, x, y)
        return (self._b.fcmp_unordered if sign == "!=" else self._b.fcmp_ordered)(sign, x, y)

    def _binary(self, op: ast.operator, x: ir.Value, y: ir.Value) -> ir.Value:
        b = self._b
        if isinstance(op, ast.BitAnd | ast.BitOr):
            return (b.and_ if isinstance(op, ast.BitAnd) else b.or_)(*self._alike([x, y]))
        if isinstance(op, ast.Div):
            return b.fdiv(self._cast(x, REAL), self._cast(y, REAL), flags=self._flags)
        x, y = self._alike([x, y, constant(0)])[:2]
        if x.type == REAL and isinstance(op, ast.Mod):
            # Python's remainder has the sign of the divisor; that of LLVM has the sign of the dividend.
            rest, zero = b.frem(x, y), constant(0.0)
            other = b.xor(self._holds("<", rest, zero), self._holds("<", y, zero))
            return b.select(b.and_(other, self._holds("!=", rest, zero)), b.fadd(rest, y), rest)
        if x.type == REAL and type(op) in _REAL_OPERATIONS:
            return getattr(b, _REAL_OPERATIONS[type(op)])(x, y, flags=self._flags)
        if x.type != REAL and isinstance(op, ast.Mod | ast.FloorDiv):
            return (b.srem if isinstance(op, ast.Mod) else b.sdiv)(x, y)
        if x.type != REAL and type(op) in _INTEGER_OPERATIONS:
            return getattr(b, _INTEGER_OPERATIONS[type(op)])(x, y, flags=("nsw",))
        raise untranslated(op)

    def _power(self, x: ir.Value, n: int) -> ir.Value:
        """Return an integer power by repeated multiplication."""
        b, found, size = self._b, None, abs(n)
        while size:
            if size % 2:
                found = x if found is None else b.fmul(found, x, flags=self._flags)
            size //= 2
            x = b.fmul(x, x, flags=self._flags) if size else x
        found = constant(1.0) if found is None else found
        return b.fdiv(constant(1.0), found, flags=self._flags) if n < 0 else found

    def _mathematical(self, name: str, reals: Sequence[ir.Value]) -> ir.Value | None:
        """Return a call of a function of Python's math module; None if there is no translation for this name."""
        found = INTRINSICS.get(name) or LIBRARY.get(name)
        return self._b.call(self._unit.library(found, len(reals)), reals) if found else None

    def _is_finite(self, x: ir.Value) -> ir.Value:
        size = self._b.call(self._unit.library("llvm.fabs", 1), [x])
        return self._holds("<", size, constant(CONSTANTS["inf"]))

    def _fraction(self, x: ir.Value) -> ir.Value:
        """Return fraction and exponent, as `math.frexp` does."""
        b, slot = self._b, self._entry.alloca(SHORT)
        fraction = b.call(self._unit.outside("frexp", REAL, [REAL, SHORT.as_pointer()]), [x, slot])
        pair = b.insert_value(ir.Constant(ir.LiteralStructType([REAL, INTEGER]), ir.Undefined), fraction, 0)
        return b.insert_value(pair, b.sext(b.load(slot, typ=SHORT), INTEGER), 1)

    def _truth(self, x: ir.Value) -> ir.Value:
        return x if x.type == TRUTH else self._holds("!=", x, ir.Constant(x.type, 0))

    def _alike(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Convert values to the widest of their types; integer literals take the type of the other values."""
        return [self._cast(x, self._widest(values)) for x in values]

    def _widest(self, values: Sequence[ir.Value]) -> ir.Type:
        kinds = [x.type for x in values]
        return next((k for k in (REAL, SHORT, INTEGER) if k in kinds), TRUTH)

    def _cast(self, x: Any, kind: Kind) -> Any:
        b = self._b
        if x.type == kind:
            return x
        if isinstance(x, Array) and kind == FLOATS and x.type.entry == REAL:
            return x.first
        if isinstance(x, ir.Constant) and x.type in (INTEGER, TRUTH) and kind in (REAL, INTEGER, SHORT):
            return ir.Constant(kind, float(x.constant) if kind == REAL else int(x.constant))
        whole = x.type in (INTEGER, SHORT)
        if kind == TRUTH and (whole or x.type == REAL):
            return self._truth(x)
        if x.type == TRUTH and kind in (REAL, INTEGER):
            return b.uitofp(x, kind) if kind == REAL else b.zext(x, kind)
        if whole and kind == REAL:
            return b.sitofp(x, kind)
        if x.type == REAL and kind in (INTEGER, SHORT):
            return b.fptosi(x, kind)
        raise NotCompiled(f"its generated source takes {x.type} for {kind}")
