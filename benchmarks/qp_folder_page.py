"""The page of `qp_folder.py`."""

from __future__ import annotations

from typing import Any


def line(row: dict[str, Any]) -> str:
    """One verdict."""
    return f"{row['problem']:10}{row['solver']:11}{row['claim']:16}{row['status']:18} three {row.get('three')} bound {row.get('error_bound')} rel {row.get('relative_error')} res {row.get('relative_residual')} judged {row.get('judged')}"


def page(rows: Any, problems: Any, solvers: Any, given: Any) -> str:
    return ""
