"""Machine code of generated functions: compiled by LLVM, kept on disk, called through ctypes.

LLVM comes with llvmlite, which comes with numba. Calls release the interpreter's lock, so that threads share the work.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from gaussopt import codegen

_FLOATS = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
_TYPES: dict[str, Any] = {"float": ctypes.c_double, "int": ctypes.c_int64, "list": _FLOATS, "Array": _FLOATS}

VERSION = "1"
"""Raised whenever the translation changes."""

_DIGEST = 32


@cache
def target() -> tuple[str, str]:
    """Name and features of the processor.

    Vectors of 512 bits where there are any: LLVM keeps to 256 bits on many of these processors.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = ""
    with suppress(RuntimeError):  # not known on every processor
        found = llvm.get_host_cpu_features()
        features = found.flatten() + (",-prefer-256-bit" if found.get("avx512f") else "")
    return llvm.get_host_cpu_name(), features


def functions(module: ModuleType, names: Sequence[str], contract: bool) -> dict[str, Callable[..., Any]]:
    """Functions of a generated module as machine code, for numbers and contiguous arrays of floats.

    Parameters
    ----------
    module : a module with a file
    names : functions whose parameters and result are annotated
    contract : whether a product and a sum may become one operation with one rounding

    Raises
    ------
    NotCompiled
        If the source holds what has no translation.
    """
    assert module.__file__ is not None
    source = Path(module.__file__)
    text = source.read_text(encoding="utf-8")
    known = {name: x for name, x in vars(module).items() if isinstance(x, int | float)}
    about = [text, repr(known), *names, str(contract), VERSION, llvmlite.__version__, llvm.get_process_triple()]
    file = codegen.cache_folder() / f"{source.stem}_{codegen.key_of(*about, *target())}.o"
    code = _kept(file)
    if code is None:
        code = _translated(text, names, contract, known)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            codegen.write_aside(file, hashlib.sha256(code).digest() + code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return {name: _callable(getattr(module, name), engine.get_function_address(name)) for name in names}


_engines: list[Any] = []
"""They own the machine code."""


def _kept(file: Path) -> bytes | None:
    """Machine code from the disk; None if it is not there or damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    code = content[_DIGEST:]
    return code if hashlib.sha256(code).digest() == content[:_DIGEST] else None


def _machine() -> Any:
    name, features = target()
    return llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features, opt=3, jit=True)


def _translated(text: str, names: Sequence[str], contract: bool, known: Mapping[str, float]) -> bytes:
    from gaussopt.compiled.translation import Translation

    module = llvm.parse_assembly(str(Translation(text, names, contract, known)))
    module.verify()
    machine = _machine()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def _callable(function: FunctionType, address: int) -> Callable[..., Any]:
    """What calls machine code as the function of the module is called."""
    annotated = {name: getattr(kind, "__name__", str(kind)) for name, kind in function.__annotations__.items()}
    result = _TYPES.get(annotated.pop("return", "None"))
    kinds = list(annotated.values())
    types = [_TYPES[part] for kind in kinds for part in (("list", "int") if kind == "Table" else (kind,))]
    call: Callable[..., Any] = ctypes.CFUNCTYPE(result, *types)(address)
    if "Table" not in kinds:
        return call

    def taken_apart(*arguments: Any) -> Any:
        """Matrices as their entries and the length of their rows."""
        given = zip(arguments, kinds, strict=True)
        return call(*(part for x, kind in given for part in ((x, x.shape[1]) if kind == "Table" else (x,))))

    return taken_apart
