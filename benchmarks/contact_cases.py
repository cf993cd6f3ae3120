"""Write the certified contact problems of the tests as files, one for each, for `gaussopt compare --contact`.

    python benchmarks/contact_cases.py runs/contact-cases

They have one to some dozen contacts with friction cones: closed forms, bodies at rest and sliding, problems without a
solution, with several, and with many impulses for one velocity.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

CASES = Path(__file__).parents[1] / "tests" / "data" / "contact_cases.json.gz"


def main() -> None:
    """Write them into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cases = json.loads(gzip.decompress(CASES.read_bytes()))["cases"]
    for case in cases:
        problem = {"kind": "contact", **{key: case[key] for key in ("W", "q", "mu")}}
        (folder / f"{case['name']}.json").write_text(json.dumps(problem), encoding="utf-8")
    print(f"{len(cases)} problems in {folder}")


if __name__ == "__main__":
    main()
