"""Machine code of generated functions and kernels: compiled by LLVM, kept on disk, called through ctypes.

LLVM comes with llvmlite. Calls release the interpreter's lock, so that threads share the work.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from types import FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from gaussopt.core import cache, generated_modules

_NUMBERS = {"float": "d", "int": "q", "bool": "q"}
_ADDRESS = "N"
_FLOAT = np.dtype(np.float64)
_ARRAYS: dict[str, tuple[Any, int]] = {
    "Vector": (np.float64, 1), "Array": (np.float64, 1), "Matrix": (np.float64, 2), "Table": (np.float64, 2),
    "Index": (np.int64, 1), "Active": (np.int64, 1), "Indices": (np.int64, 2),
}  # fmt: skip

VERSION = "4"
"""Raised whenever the translation changes."""

ENTRANCE = "_entrance"
"""Behind the name of a function, where it is called from outside."""


class Places:
    """Where objects hold what machine code reads of them itself, which through Python would take a microsecond each.

    Of every object its type, of a float its number, of a tuple the places of its items; of numpy's arrays
    (`PyArrayObject_fields` of its C interface) the place of the entries, the number of axes, the places of the shape
    and of the kind of numbers, and the flags.
    """

    _HEAD = object.__basicsize__
    TYPE, VALUE, ITEMS = _HEAD - 8, _HEAD, tuple.__basicsize__
    DATA, AXES, SHAPE, KIND, FLAGS = _HEAD, _HEAD + 8, _HEAD + 16, _HEAD + 40, _HEAD + 48


WRITEABLE = 0x400
USUAL = 0x1 | 0x100 | WRITEABLE
"""Numpy's flags of an array that is contiguous, aligned and may be written."""


@functools.cache
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


def _peek(x: Any, offset: int, kind: type[Any] = ctypes.c_size_t) -> Any:
    return kind.from_address(id(x) + offset).value


def _layout_is_known() -> bool:
    """Whether objects are laid out as machine code expects them."""
    table, pair = np.zeros((2, 3)), (2.5, None)
    number = pair[0]
    found = [
        _peek(table, Places.TYPE), _peek(table, Places.KIND), _peek(table, Places.DATA),
        _peek(table, Places.AXES, ctypes.c_int), _peek(table, Places.FLAGS, ctypes.c_int),
        ctypes.c_int64.from_address(_peek(table, Places.SHAPE) + 8).value,
        _peek(pair, Places.ITEMS), _peek(pair, Places.ITEMS + 8), _peek(number, Places.TYPE),
        _peek(number, Places.VALUE, ctypes.c_double),
    ]  # fmt: skip
    expected = [id(np.ndarray), id(_FLOAT), table.ctypes.data, 2, table.flags.num, 3, id(number), id(None), id(float)]
    return found == [*expected, number]


if not _layout_is_known():
    raise ImportError("Machine code cannot read the objects of this Python or numpy; set GAUSSOPT_COMPILE=0.")


def functions(
    module: ModuleType, names: Sequence[str], contract: bool, vectors: bool = True
) -> dict[str, Callable[..., Any]]:
    """Functions of a module as machine code, for numbers, contiguous arrays, and named tuples of them.

    Parameters
    ----------
    module : a module with a file
    names : functions whose parameters and result are annotated
    contract : whether a product and a sum may become one operation with one rounding
    vectors : whether loops are given a form that runs in vector registers, which few entries gain nothing from

    Raises
    ------
    NotCompiled
        If the source holds what has no translation.
    """
    address = _compiled(module, names, contract, vectors)
    return {name: _callable(module, name, address) for name in names}


def exact(module: ModuleType, names: Sequence[str]) -> dict[str, Callable[..., bool]]:
    """Straight lines of a module as machine code that stands for CPython, called in a twentieth of a microsecond.

    Each function takes what it takes in the module, floats and arrays of floats. It returns True where all that it has
    written is, to the last digit, what CPython would have written, and it returned nothing or True. Else it returns
    False, and the function of the module is to be called: CPython would have raised something, a number would not be
    finite (or nearly not), or an argument is of another kind, or an array too short.

    Raises
    ------
    NotCompiled
        If the source holds anything but straight lines of arithmetic and functions of the C library.
    """
    address = _compiled(module, names, False, False, exactly=True)
    return {name: _method(name, address(name + ENTRANCE)) for name in names}


def _compiled(
    module: ModuleType, names: Sequence[str], contract: bool, vectors: bool, exactly: bool = False
) -> Callable[[str], int]:
    """Machine code from the disk or compiled now: what finds the address of a function."""
    sources = _sources(module, names)
    parts = [part for text, known in sources for part in (text, repr(known))]
    about = [
        *parts,
        *names,
        str(contract),
        str(vectors),
        str(exactly),
        VERSION,
        llvmlite.__version__,
        llvm.get_process_triple(),
        repr([x for name, x in vars(Places).items() if name.isupper()]),
    ]
    assert module.__file__ is not None
    file = f"{Path(module.__file__).stem}_{cache.key_of(*about, *target())}.o"
    code = cache.read(file)
    if code is None:
        code = _translated(sources, names, contract, vectors, exactly)
        cache.write(file, code)
    llvm.add_symbol("PyBool_FromLong", _place_of(ctypes.pythonapi.PyBool_FromLong))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address  # type: ignore[no-any-return]


def _sources(module: ModuleType, names: Sequence[str]) -> list[tuple[str, dict[str, float]]]:
    """Texts of a module, and of those that its functions call functions of, each with its numbers by name."""
    met, waiting = [module], [plain(getattr(module, name)) for name in names]
    seen: set[FunctionType] = set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        home = sys.modules[function.__module__]
        if home not in met:
            met.append(home)
        found = (plain(function.__globals__.get(name)) for name in function.__code__.co_names)
        waiting += [x for x in found if isinstance(x, FunctionType)]
        kinds = [(function.__globals__, kind) for kind in function.__annotations__.values()]
        while kinds:  # records, and the records that they hold
            names_there, kind = kinds.pop()
            record = names_there.get(_name(kind))
            if isinstance(record, type):
                home = sys.modules[record.__module__]
                if home not in met:
                    met.append(home)
                kinds += [(vars(home), held) for held in record.__annotations__.values()]
    ordered = [module, *sorted(met[1:], key=lambda x: x.__name__)]
    texts = [generated_modules.text_of(x) for x in ordered]
    numbers = [{name: y for name, y in vars(x).items() if isinstance(y, int | float)} for x in ordered]
    return list(zip(texts, numbers, strict=True))


def plain(function: Any) -> Any:
    """A function as it is written, of what stands in its place."""
    return getattr(function, "__wrapped__", function)


def _name(annotation: Any) -> str:
    """An annotation as it is written."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    return str(text or getattr(annotation, "__name__", annotation))


_engines: list[Any] = []
"""They own the machine code."""


def _machine() -> Any:
    name, features = target()
    return llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features, opt=3, jit=True)


def _translated(
    sources: Sequence[tuple[str, Mapping[str, float]]], names: Sequence[str], contract: bool, vectors: bool,
    exactly: bool,
) -> bytes:  # fmt: skip
    from gaussopt.jit.translation import Source, Translation

    (text, known), *others = sources
    translation = Translation(text, names, contract, known, [Source(*other) for other in others], exactly)
    module = llvm.parse_assembly(str(translation))
    module.verify()
    machine = _machine()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = vectors, False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


@dataclass(frozen=True)
class _Parameter:
    """What becomes of an argument: the number that is handed over, a list of them for a record, with their format."""

    format: str
    value: Callable[[Any], Any]


class _Remembered:
    """The numbers of the record that came last: most calls come with the one of the call before."""

    def __init__(self, fields: Sequence[_Parameter]) -> None:
        self._fields = fields
        self._latest: tuple[Any, list[int]] = None, []

    def __call__(self, record: Any) -> list[int]:
        known, values = self._latest
        if known is not record:
            values = _flat(self._fields, record)
            self._latest = record, values
        return values


def _flat(parameters: Sequence[_Parameter], arguments: Sequence[Any]) -> list[Any]:
    values = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        value = parameter.value(argument)
        values += value if isinstance(value, list) else [value]
    return values


def _parameter(annotation: Any, scope: Mapping[str, Any]) -> _Parameter:
    name = _name(annotation)
    if name in _NUMBERS:
        return _Parameter(_NUMBERS[name], lambda x: x)
    if name == "list":
        return _Parameter(_ADDRESS, _array(_FLOAT, None))
    if name in _ARRAYS:
        return _Parameter(_ADDRESS, _array(np.dtype(_ARRAYS[name][0]), _ARRAYS[name][1]))
    record = scope[name]
    if isinstance(record, type):
        inside = vars(sys.modules[record.__module__])
        fields = [_parameter(x, inside) for x in record.__annotations__.values()]
        return _Parameter("".join(field.format for field in fields), _Remembered(fields))
    return _Parameter(_ADDRESS, lambda x: x.address)


def _array(kind: np.dtype[Any], dimensions: int | None) -> Callable[[Any], int]:
    """What checks that an array is of the right kind, of any number of axes where None is given, and hands it over."""
    array = np.ndarray

    def checked(x: Any) -> int:
        # Nearly always numpy's one object for this kind; others that are equal take longer.
        right = isinstance(x, array) and (x.dtype is kind or x.dtype == kind) and x.flags.c_contiguous
        if right and (x.ndim == dimensions or dimensions is None):
            return id(x)
        shape = "" if dimensions is None else f" with {dimensions} axes"
        raise TypeError(f"Machine code takes a contiguous array of {kind.name}{shape} here, not {x!r:.60}.")

    return checked


class MachineCode:
    """Machine code that is called as the function of the module is called.

    Attributes
    ----------
    address : where the function begins that other machine code calls
    """

    def __init__(self, entrance: int, address: int, parameters: Sequence[_Parameter], results: str) -> None:
        self.address = address
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entrance)
        self._values = [x.value for x in parameters]
        self._records = [i for i, x in enumerate(parameters) if isinstance(x.value, _Remembered)][::-1]
        # Places of eight bytes, also for the results.
        self._arguments = Struct("@" + "".join(x.format for x in parameters))
        self._results = Struct("@" + results)
        self._places = ctypes.c_char * max(self._arguments.size, self._results.size, 1)

    def __call__(self, *arguments: Any) -> Any:
        """The result of the function.

        Raises
        ------
        TypeError
            If an array is of another kind.
        """
        parts = [value(x) for value, x in zip(self._values, arguments, strict=True)]
        for i in self._records:
            parts[i : i + 1] = parts[i]
        places = self._places()
        self._arguments.pack_into(places, 0, *parts)
        self._call(places)
        results = self._results.unpack_from(places)
        return results if len(results) > 1 else results[0] if results else None


def _callable(module: ModuleType, name: str, address: Callable[[str], int]) -> MachineCode:
    """What calls machine code as the function of the module is called."""
    function = plain(getattr(module, name))
    annotated = dict(function.__annotations__)
    result = _name(annotated.pop("return", "None"))
    parameters = [_parameter(kind, function.__globals__) for kind in annotated.values()]
    return MachineCode(address(name + ENTRANCE), address(name), parameters, _results(result))


def _results(annotation: str) -> str:
    """Format of what a function returns: nothing, a number, or two."""
    if annotation == "tuple":
        return _NUMBERS["float"] * 2
    parts = annotation.removeprefix("tuple").strip("[]").split(", ")
    return "".join(_NUMBERS.get(part, "") for part in parts)


class _Definition(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FAST = 0x80
"""CPython's METH_FASTCALL: arguments come as an array of objects and their number."""

_new_method = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)

_TEMPLATES = 0.0, np.zeros(1)
"""Objects of the kinds that exact functions take."""

_definitions: list[_Definition] = []
"""They must live as long as what is called by them."""


def _method(name: str, entrance: int) -> Callable[..., bool]:
    """What CPython calls as one of its own functions, without ctypes between, which takes ten times as long."""
    _definitions.append(_Definition(name.encode(), entrance, _FAST, None))
    return _new_method(ctypes.addressof(_definitions[-1]), _TEMPLATES, None)  # type: ignore[no-any-return]


def _place_of(function: Any) -> int:
    """The address of a function of CPython."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
