"""`falsify`: the smallest example on which two formulations differ, or a record of the search that found no example."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaussopt.core.arrays import check_progress
from gaussopt.core.display import About, picture, shown
from gaussopt.core.errors import BadInput
from gaussopt.core.files import write_text
from gaussopt.falsification import SECONDS, SEED
from gaussopt.falsification.answers import Given, name_of
from gaussopt.falsification.example import Example
from gaussopt.falsification.latex import latex_of
from gaussopt.falsification.pairs import EQUIVALENT, ComparedPair, space_of
from gaussopt.falsification.search import DIFFERENT, Proof, Search
from gaussopt.falsification.spaces import ASSUMPTIONS
from gaussopt.modelling.family import Family
from gaussopt.modelling.problem import Problem
from gaussopt.plotting.svg import data_uri


@shown
@dataclass(frozen=True, eq=False)
class Falsification:
    """The result of `falsify`.

    Attributes
    ----------
    a, b : names of the formulations
    found : whether an example was found on which they differ
    example : Example or None
    proof : the proof that they differ on it, in three lines with their numbers; None without an example
    searched : for each method and size, the numbers of examples tried and compared, and the largest difference
    assumed : the assumptions that all examples satisfy, in words
    equivalence : a known proof that both are equivalent; "" if none is known
    pictures : name of the formulation -> SVG of the mechanism with its contact forces; empty if there is none
    ended : the limit that ended the search, in words; "" if none did
    seed, seconds : seed and duration of the search
    """

    a: str
    b: str
    found: bool
    example: Example | None
    proof: Proof | None
    searched: tuple[Mapping[str, Any], ...]
    assumed: tuple[str, ...]
    equivalence: str
    pictures: Mapping[str, str]
    ended: str
    seed: int
    seconds: float

    @property
    def tries(self) -> int:
        """Number of examples that the search tried."""
        return sum(row["tried"] for row in self.searched)

    @property
    def message(self) -> str:
        """The result as a sentence."""
        if self.proof is not None:
            how = "proves it in exact arithmetic" if self.proof.exact else "shows it by the numbers that they return"
            return f"{self.a} and {self.b} differ: an example of {self._size()} {how}."
        compared, alone = (sum(row[name] for row in self.searched) for name in ("compared", "one has no answer"))
        known = f" They are equivalent: {self.equivalence}" if self.equivalence else ""
        return (
            f"No difference between {self.a} and {self.b} was proved in {self.tries} tries, of which both answered "
            f"{compared} and only one {alone}; largest relative difference "
            f"{max((row['largest'] for row in self.searched), default=0.0):.2g}. The search was ended by "
            f"{self.ended or 'a round without a valid example'}, and claims nothing beyond these tries.{known}"
        )

    def _size(self) -> str:
        assert self.example is not None
        words = (("k", "contact"), ("n", "coordinate"), ("m", "row"))
        counts = ((self.example.size(axis), word) for axis, word in words)
        return ", ".join(f"{count} {word}{'s' * (count > 1)}" for count, word in counts if count)

    def _about(self) -> About:
        lines = self.proof.lines if self.proof else tuple(f"assumed: {words}" for words in self.assumed)
        arrays = [] if self.example is None else list(self.example.to_mapping()["exact"].items())
        return About(self.message, lines, [(name, str(value).replace("'", "")) for name, value in arrays])

    def _picture(self) -> str:
        return "".join(picture(data_uri(svg), f"Contact forces of {name}") for name, svg in self.pictures.items())

    def to_mapping(self) -> dict[str, Any]:
        """Return the contents for JSON: found, the example, its proof, and what was searched."""
        proof = None if self.proof is None else self.proof.to_mapping()
        return {
            "a": self.a, "b": self.b, "found": self.found,
            "example": None if self.example is None else self.example.to_mapping(), "proof": proof,
            "searched": [dict(row) for row in self.searched], "tries": self.tries, "assumed": list(self.assumed),
            "looked at from": DIFFERENT, "equivalence": self.equivalence, "ended": self.ended, "seed": self.seed,
            "seconds": self.seconds,
        }  # fmt: skip

    def latex(self) -> str:
        """Return the example and its proof as LaTeX, or the message if there is no example."""
        if self.example is None or self.proof is None:
            return self.message
        return latex_of(self.example, self.proof, self.a, self.b)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write `falsify.json`; if an example was found, also its proofs, pictures and input for `gaussopt solve`.

        `check_proof.py` beside them checks the proof with fractions, without gaussopt. Returns the paths; raises
        BadInput if the folder cannot be written.
        """
        out = Path(folder)
        texts = {"falsify.json": json.dumps(self.to_mapping(), default=str) + "\n"}
        if self.example is not None and self.proof is not None:
            texts[f"example.{self.example.kind}.json"] = json.dumps(self.example.to_mapping()) + "\n"
            texts["proof.txt"] = "\n".join(self.proof.lines) + "\n"
            texts["proof.tex"] = self.latex()
            texts |= {f"{name.replace(':', '-')}.svg": svg for name, svg in self.pictures.items()}
            if self.proof.exact:
                texts["check_proof.py"] = Path(__file__).with_name("check_proof.py").read_text(encoding="utf-8")
        for name, text in texts.items():
            write_text(out / name, text)
        return [out / name for name in texts]


def falsify(
    a: Given, b: Given, given: str | Problem | Family | Sequence[str | Problem | Family] = (), *,
    seconds: float | None = None, tries: int | None = None, seed: int = SEED,
    progress: Callable[[float], None] | None = None,
) -> Falsification:  # fmt: skip
    """Search for the smallest example on which two formulations that are claimed to be equivalent differ.

    Examples are drawn at random, the difference is maximised by differential evolution, and small integers are
    enumerated, from small sizes to larger ones. An example on which the answers differ is shrunk to few contacts and
    small integers, and counts only if the difference is proved in exact arithmetic.

    Parameters
    ----------
    a, b : str or callable
        Names of formulations (of steps, of contacts in space) or impact laws, or functions that return forces or None.
        Compared with a formulation of sliding contacts, a function takes M and q of an LCP M z + q; with another
        formulation of steps, a step; otherwise W, q, mu of contacts in space (M, q if `given` names a class of A).
    given : an assumption, or a problem or family whose steps are searched, or a sequence of these
        "positive-definite" (taken for sliding contacts if no class is given), "symmetric" and "p-matrix" of the contact
        operator, "one-contact", "sticking".
    seconds : time limit; 120 s if neither limit is given
    tries : largest number of examples that are tried; without `seconds` the search then has no time limit, and examples
        that do not satisfy the assumptions are not counted
    seed : seed of all draws; equal seeds give equal results unless the time limit ends the search
    progress : function that is called with the fraction of the limits that is used up

    Raises
    ------
    UnknownName
    BadInput
        For two formulations that have no examples in common, or a limit that is not positive.

    Examples
    --------
    >>> import gaussopt as go
    >>> found = go.falsify("normal-force-qp", "lcp")
    >>> found.found, found.example.size("k")
    (True, 2)
    """
    check_progress(progress)
    for name, limit in (("seconds", seconds), ("tries", tries)):
        if limit is not None and not limit > 0:
            raise BadInput(f"{name} is {limit}; the search needs a positive limit.")
    longest = seconds or (SECONDS if tries is None else math.inf)
    chosen = [given] if isinstance(given, str | Problem | Family) else list(given)
    space = space_of(a, b, chosen)
    pair = ComparedPair(a, b, space)
    search = Search(space, pair.answers, pair.prove, longest, tries or math.inf, seed, progress)
    example, proof = search.run() or (None, None)
    words = (*space.always, *(ASSUMPTIONS[name] for name in space.given))
    pictures = {}
    if example is not None and proof is not None:
        pictures = space.pictures(example, {name: proof.numbers[name].get("z") for name in pair.names})
    known = EQUIVALENT.get(frozenset((name_of(a), name_of(b))), "")
    return Falsification(
        *pair.names, example is not None, example, proof, tuple(search.account.values()), words, known,
        pictures, search.limit, seed, search.spent,
    )  # fmt: skip
