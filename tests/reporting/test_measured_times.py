"""What a report says is measured time."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from gaussopt.reporting.document import Data, Document, Figure, Gallery, Section, Table, Timed
from gaussopt.reporting.document_checks import timed_parts
from gaussopt.reporting.html.page import write

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'


def figure(name: str, timed: bool) -> Figure:
    return Figure(name, "Caption.", "Words.", SVG, pd.DataFrame({"x": [1.0]}), timed)


def test_figures_columns_and_cells_are_listed(tmp_path: Path) -> None:
    tables = (
        Table("plain", "Caption.", ("a", "b"), ((1, 2.0),)),
        Table("columns", "Caption.", ("a", "seconds"), ((1, 2.0),), timed=("seconds",)),
        Data("long", "Caption.", pd.DataFrame({"a": [1], "seconds": [2.0]}), timed=("seconds",)),
        Table("cells", "Caption.", ("a", "says"), ((1, "nothing"), (2, Timed("took 3 s")))),
    )
    part = Section("part", "Part", (Gallery((figure("drawn", False), figure("clock", True))),))
    document = Document("Title", "Lead.", (), (Section("all", "All", tables, (part,)),))
    expected = {
        "figures": ["clock"],
        "tables": {
            "cells": {"columns": [], "cells": [(1, 1)]},
            "columns": {"columns": ["seconds"], "cells": []},
            "long": {"columns": ["seconds"], "cells": []},
        },
    }
    assert timed_parts(document) == expected
    write(document, tmp_path)
    assert json.loads((tmp_path / "data" / "timed.json").read_text()) == json.loads(json.dumps(expected))
