"""HTML pages of animations from templates of this package, and frames that show them in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any


def page_of(template: str, **values: Any) -> str:
    """Fill a page template with the given values, and return the HTML page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gaussopt.animation"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(template).render(**values)


def framed(alt: str, page: str, height: str) -> str:
    """Return a page in an iframe, which isolates its script and style from those of the notebook."""
    title, source = (escape(text, quote=True) for text in (alt, page))
    style = f"width:100%;border:0;height:{height}"
    frame = f'<iframe title="{title}" sandbox="allow-scripts" style="{style}" srcdoc="{source}"></iframe>'
    return f'<div style="container-type:inline-size;max-width:46rem">{frame}</div>'
