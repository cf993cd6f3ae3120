"""The results of a comparison as one file, to be reported on again without computing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from gaussopt.comparison.compare import Results
from gaussopt.errors import BadInput
from gaussopt.files import write_bytes

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
    try:
        data = json.loads(gzip.decompress(path.read_bytes()))
    except FileNotFoundError:
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
