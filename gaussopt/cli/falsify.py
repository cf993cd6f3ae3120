"""The command `gaussopt falsify`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from gaussopt.cli import common
from gaussopt.core.errors import BadInput
from gaussopt.falsification import SECONDS, SEED

First = Annotated[
    str, common.argument("A", "A formulation, an impact law (newton, poisson), or FILE.py:FUNCTION.", "formulation")
]
Second = Annotated[str, common.argument("B", "The other one.", "formulation")]
Assumed = Annotated[
    list[str] | None,
    common.option("--given", "What is assumed: positive-definite, symmetric, p-matrix, one-contact, sticking, or a "
                  "problem or family whose steps are searched; repeatable.", "problem", "family"),
]  # fmt: skip
Seconds = Annotated[
    float | None, common.option("--seconds", f"Time limit in s; {SECONDS:g} if neither limit is given.")
]
Tries = Annotated[
    int | None, common.option("--tries", "Number of examples after which the search ends, however long it takes.")
]
Seed = Annotated[int, common.option("--seed", "Seed of all draws.")]
Out = Annotated[Path | None, common.option("--out", "Folder of the example, its proof, and falsify.json.")]


def falsify_command(
    context: typer.Context, a: First, b: Second, given: Assumed = None, set_: common.Set = None,
    seconds: Seconds = None, tries: Tries = None, seed: Seed = SEED, out: Out = None, json_: common.Json = False,
) -> None:  # fmt: skip
    """Search for the smallest example on which two formulations differ; prove the difference in exact arithmetic."""
    from gaussopt.core import registry
    from gaussopt.core.files import prepare_folder
    from gaussopt.falsification.falsify import falsify
    from gaussopt.falsification.spaces import ASSUMPTIONS
    from gaussopt.modelling.problem import problem as find

    settings, chosen = common.settings_of(set_), list[Any]()
    for name in given or ():
        if name in ASSUMPTIONS:
            chosen.append(name)
        elif name in registry.names("family"):
            chosen.append(registry.load("family", name))
        else:
            chosen.append(find(name, **settings))
    if settings and not any(hasattr(of, "parameters") for of in chosen):
        raise BadInput("--set belongs to a problem; name one by --given.")
    if out is not None:
        prepare_folder(out)
    with common.progress_bar("falsify", json_, lines=True) as progress:
        found = falsify(_given(a), _given(b), chosen, seconds=seconds, tries=tries, seed=seed, progress=progress)
    files = [] if out is None else [str(path) for path in found.write(out)]
    data = {"status": "solved", "message": found.message, **found.to_mapping(), "files": files}
    lines = [found.message]
    if found.example is not None and found.proof is not None:
        exact = found.example.to_mapping()["exact"]
        lines += [f"{name} = {value}".replace("'", "") for name, value in exact.items()]
        lines += [f"{number}. {line}" for number, line in enumerate(found.proof.lines, 1)]
    lines += [
        f"{row['way']}, {row['size']}: {row['tried']} tried, {row['compared']} compared, largest relative difference "
        f"{row['largest']:.2g}"
        for row in found.searched
    ]
    lines.append(f"Searched for {found.seconds:.3g} s, {found.tries / found.seconds:.0f} tries in a second.")
    common.show(context.obj, json_, data, *lines, *(f"Written: {path}" for path in files))


def _given(word: str) -> str | Callable[..., Any]:
    """Load the function named by FILE.py:FUNCTION; return any other word, the name of a formulation, unchanged."""
    file, _, name = word.rpartition(":")
    if not file.endswith(".py"):
        return word
    from gaussopt.core.source_loader import imported

    try:
        module = imported(f"falsified_{Path(file).stem}", Path(file).read_bytes(), file)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.") from None
    except Exception as error:
        raise BadInput(f"{file} could not be run: {type(error).__name__}: {error}.") from None
    found: Callable[..., Any] | None = getattr(module, name, None)
    if found is None or not callable(found):
        raise BadInput(f"{file} defines no function {name!r}; name one of its functions after the colon.")
    return found
