"""Write an example and its proof as LaTeX."""

from __future__ import annotations

import re

from gaussopt.falsification.example import Example
from gaussopt.falsification.search import Proof
from gaussopt.linalg.rational import Exact

GREEK = {"lam": r"\lambda", "mu": r"\mu", "gamma": r"\gamma", "zeta": r"\zeta", "eta": r"\eta", "ell": r"\ell"}


def latex_of(example: Example, proof: Proof, a: str, b: str) -> str:
    """Return a paragraph with the arrays of the example as matrices, and the lines of the proof."""
    data = {**example.arrays, **proof.numbers.get("data", {})}
    arrays = ",\\quad ".join(f"{_symbol(name)} = {_matrix(array)}" for name, array in data.items())
    lines = "\n".join(rf"  \item {_escaped(line)}" for line in proof.lines)
    return (
        f"\\paragraph{{{_escaped(a)} and {_escaped(b)} differ}} on\n\\[\n{arrays}\n\\]\n"
        f"\\begin{{enumerate}}\n{lines}\n\\end{{enumerate}}\n"
    )


def _symbol(name: str) -> str:
    stem, _, index = name.partition("_")
    return GREEK.get(stem, stem) + (f"_{{{index}}}" if index else "")


def _matrix(array: Exact) -> str:
    rows = array.tolist() if array.ndim == 2 else [[entry] for entry in array.tolist()]
    told = [" & ".join(_number(str(entry)) for entry in row) for row in rows]
    return "\\begin{pmatrix}" + " \\\\ ".join(told) + "\\end{pmatrix}"


def _number(text: str) -> str:
    top, slash, bottom = text.partition("/")
    if not slash:
        return text
    return f"-\\tfrac{{{top[1:]}}}{{{bottom}}}" if top.startswith("-") else f"\\tfrac{{{top}}}{{{bottom}}}"


def _escaped(line: str) -> str:
    """Escape plain text for LaTeX; relations and powers become formulas."""
    text = re.sub(r"([_&%#])", r"\\\1", line)
    text = re.sub(r"\^(-?\w+)", r"\\textsuperscript{\1}", text).replace("^+", r"\textsuperscript{+}")
    for plain, formula in ((">=", r"$\ge$"), ("<=", r"$\le$"), ("|", r"$|$"), (">", "$>$"), ("<", "$<$")):
        text = text.replace(plain, formula)
    return text
