"""The results of a comparison as one file, to be reported on again without computing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from gaussopt.comparison.compare import Results
from gaussopt.errors import BadInput
from gaussopt.files import write_bytes
from gaussopt.store import HEAD

FILE = "results.json.gz"
FORMAT = 1


def write_results(results: Results, folder: Path) -> None:
    """Write every record, with NaN and Infinity as Python's json writes them.

    Raises
    ------
    BadInput
        If the folder cannot be written.
    """
    text = json.dumps({"format": FORMAT, **results.to_mapping()})
    write_bytes(folder / FILE, gzip.compress(text.encode(), mtime=0))


def read_results(folder: Path) -> Results:
    """What `write_results` wrote.

    Raises
    ------
    BadInput
        If there is nothing of the kind, or it is damaged or of another format.
    """
    path = folder / FILE
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is not a folder; give one that `gaussopt compare --out` wrote.")
    try:
        data = json.loads(gzip.decompress(path.read_bytes()))
    except FileNotFoundError:
        if (folder / HEAD).is_file():
            kept = sum(1 for _ in (folder / "cases").glob("*.json"))
            raise BadInput(
                f"The comparison in {folder} has not come to its end; start the same `gaussopt compare` again: "
                f"{kept} finished cases are kept."
            ) from None
        raise BadInput(
            f"{folder} holds no {FILE}; give a folder in which `gaussopt compare --out` came to its end."
        ) from None
    except (OSError, EOFError, ValueError) as error:
        raise BadInput(f"{path} is damaged ({error}); run the comparison again, finished cases are kept.") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadInput(f"{path} is not of format {FORMAT}; run the comparison again with this version.")
    try:
        return Results.from_mapping(data, folder)
    except (KeyError, TypeError) as error:
        raise BadInput(f"{path} is damaged ({error}); run the comparison again, finished cases are kept.") from None
