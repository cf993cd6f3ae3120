"""Compilation of generated functions and kernels to machine code by LLVM, with a cache on disk.

The package llvmlite contains LLVM.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from gaussopt.core import cache, generated_modules
from gaussopt.jit.entry import ENTRANCE, MachineCode, annotation_name
from gaussopt.jit.translation import Source, Translation

VERSION = "7"
"""Version of the translation, raised whenever the translation changes."""


@functools.cache
def target() -> tuple[str, str]:
    """Return the name and the features of the processor.

    Vectors of 512 bits are used if the processor has them; by default LLVM uses 256 bits on many such processors.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = ""
    with suppress(RuntimeError):  # features are not known for every processor
        found = llvm.get_host_cpu_features()
        features = found.flatten() + (",-prefer-256-bit" if found.get("avx512f") else "")
    return llvm.get_host_cpu_name(), features


def functions(
    module: ModuleType, names: Sequence[str], contract: bool, vectors: bool = True, given: Sequence[ModuleType] = ()
) -> dict[str, MachineCode]:
    """Return annotated functions of a module as machine code; parameters are numbers, arrays, or named tuples of these.

    Arrays must be contiguous. If `contract`, a product and a sum may become one operation with one rounding. If
    `vectors`, loops are vectorised, which does not pay for few entries. Functions and numbers that the module only
    declares come from the modules `given`. Raises NotCompiled if a part of the source has no translation.
    """
    address = _compiled(module, names, contract, vectors, False, given)
    return {name: MachineCode(plain(getattr(module, name)), address(name + ENTRANCE), address(name)) for name in names}


def checked_functions(module: ModuleType, names: Sequence[str]) -> dict[str, int]:
    """Compile straight-line functions that return whether all their values are defined; return their addresses by name.

    `gaussopt.jit.entry.Workspace` calls them; see `gaussopt.jit.statements.CheckedBody`. Raises NotCompiled if the
    source is not straight-line code.
    """
    address = _compiled(module, names, False, False, True)
    return {name: address(name + ENTRANCE) for name in names}


def _compiled(
    module: ModuleType, names: Sequence[str], contract: bool, vectors: bool, checked: bool,
    given: Sequence[ModuleType] = (),
) -> Callable[[str], int]:  # fmt: skip
    """Load machine code from the cache, or compile it; return a function that maps names to addresses."""
    sources = _sources(module, names, given)
    parts = [part for text, known in sources for part in (text, repr(known))]
    settings = [str(contract), str(vectors), str(checked), VERSION, llvmlite.__version__, llvm.get_process_triple()]
    assert module.__file__ is not None
    stem = Path(str((*given, module)[0].__file__)).stem
    file = f"{stem}_{cache.key_of(*parts, *names, *settings, *target())}.o"
    code = cache.read(file)
    if code is None:
        code = _translated(sources, names, contract, vectors, checked)
        cache.write(file, code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address  # type: ignore[no-any-return]


def _sources(module: ModuleType, names: Sequence[str], given: Sequence[ModuleType]) -> list[Source]:
    """Return the sources of a module and of the modules that it uses, each with the numeric constants it may use."""
    met, waiting = {module, *given}, [plain(getattr(module, name)) for name in names]
    own = [(home, x) for home in given for x in vars(home).values() if isinstance(x, FunctionType)]
    waiting += [x for home, x in own if x.__module__ == home.__name__]
    seen: set[FunctionType] = set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        met.add(sys.modules[function.__module__])
        found = (plain(function.__globals__.get(name)) for name in function.__code__.co_names)
        waiting += [x for x in found if isinstance(x, FunctionType)]
        kinds = [(function.__globals__, kind) for kind in function.__annotations__.values()]
        while kinds:  # find named tuples, also as fields of named tuples
            names_there, kind = kinds.pop()
            record = names_there.get(annotation_name(kind))
            if isinstance(record, type):
                home = sys.modules[record.__module__]
                met.add(home)
                kinds += [(vars(home), held) for held in record.__annotations__.values()]
    ordered = [module, *sorted(met - {module}, key=lambda x: x.__name__)]
    numbers = [
        {name: y for home in (*given, x) for name, y in vars(home).items() if isinstance(y, int | float)}
        for x in ordered
    ]
    return [Source(generated_modules.text_of(x), known) for x, known in zip(ordered, numbers, strict=True)]


def plain(function: Any) -> Any:
    """Return the original function of a decorated function."""
    return getattr(function, "__wrapped__", function)


_engines: list[Any] = []
"""Engines, kept because they own the machine code."""


def _machine() -> Any:
    name, features = target()
    return llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features, opt=3, jit=True)


def _translated(sources: Sequence[Source], names: Sequence[str], contract: bool, vectors: bool, checked: bool) -> bytes:
    (text, known), *others = sources
    translation = Translation(text, names, contract, known, others, checked)
    module = llvm.parse_assembly(str(translation))
    module.verify()
    machine = _machine()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = vectors, False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))
