"""What the documentation site needs beside Sphinx: formulas as MathML, docstrings, links, animations.

Nothing here is fetched from a network: formulas are converted by the code that writes them in reports.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from docutils.parsers.rst import directives
from myst_nb.core.read import read_myst_markdown_notebook
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

import gaussopt as go
from gaussopt.cli.show import ABOUT
from gaussopt.reporting.document import Formula, Tex
from gaussopt.reporting.html import formulas

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COPIES = DOCS / "_repository"
"""Where pages of the repository that stand outside docs/ are put for the site."""

OUTSIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
           *(f"reports/{name}/index.md"
             for name in ("solvers", "families", "claims", "friction", "collection", "benchmarks")))  # fmt: skip
PAPERS = "reports/papers"
"""The report of the papers, which is a page of its own and no page of Sphinx."""

log = logging.getLogger(__name__)


def math(translator: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula within a line as MathML."""
    latex = node.astext()
    if formulas.malformed(latex):
        log.warning("a formula that is not understood: %s", latex, location=node, type="math")
    translator.body.append(str(formulas.html(Tex(f"${latex}$"))))
    raise nodes.SkipNode


def displayed_math(translator: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula on lines of its own as MathML."""
    latex = node.astext().strip()
    if formulas.malformed(latex):
        log.warning("a formula that is not understood: %s", latex, location=node, type="math")
    translator.body.append(f'<div class="formula">{formulas.display(Formula(latex, latex))}</div>\n')
    raise nodes.SkipNode


ENTRY = re.compile(r"([\w, *]+) : (.*)")
TYPE = re.compile(r"[\w.]+(\[.*\])?( (\||or) [\w.]+(\[.*\])?)*")
CODE = re.compile(r"`([^`]+)`")


ENTRIES = ("formulation", "solver", "stepper", "family")
"""Kinds of registered objects that have a page each: the docstring of their file, and what `gaussopt show` says."""
BOX = textwrap.TextWrapper(92, initial_indent="    ", subsequent_indent=" " * 8, break_on_hyphens=False)
LABEL = re.compile(r"(Assumptions|Weaknesses|References?): ")


def described(module: Any, text: list[str]) -> list[str]:
    """The docstring of a module, with formulas on lines of their own, and what its entry takes and refuses."""
    found: list[str] = []
    for before, line in zip(["", *text], text, strict=False):
        if line.startswith("    ") and not before:
            found += [".. code-block:: text", ""]
        elif LABEL.match(line) and before:
            found.append("")
        found.append(line if line.startswith("    ") else marked(line))
    for kind in ENTRIES:
        entry = getattr(module, kind, None)
        if entry is not None:
            head = f"The {kind} ``{entry.name}``, as ``gaussopt show`` describes it:"
            found += ["", head, "", ".. code-block:: text", ""]
            said = (f"{entry.title}.", f"Source: {entry.source}", *ABOUT[kind](entry).lines)
            found += [part for line in said for part in BOX.wrap(line)]
    return found


def docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn a plain docstring into reStructuredText.

    Its `code` stands between single marks, its formulas hold stars and bars, and what an entry is stands behind its
    colon, where numpydoc expects a type.
    """
    if what == "module":
        lines[:] = described(obj, lines)
        return
    found: list[str] = []
    doctest = False
    if what in ("attribute", "property"):
        lines[:1] = [lines[0].replace(": ", " – ")]  # of an attribute napoleon takes what stands before a colon as type
    for i, line in enumerate(lines):
        doctest = line.lstrip().startswith(">>>") or (doctest and bool(line.strip()))
        entry = ENTRY.fullmatch(line)
        if doctest:
            found.append(line)
        elif entry and not TYPE.fullmatch(entry[2]):
            more = i + 1 < len(lines) and lines[i + 1].startswith("    ")
            stop = "." if more and lines[i + 1].strip()[:1].isupper() and not entry[2].endswith((".", ";", ",")) else ""
            found += [entry[1], f"    {marked(entry[2])}{stop}"]
        else:
            found.append(line if entry else marked(line))
    lines[:] = found


def marked(text: str) -> str:
    """A line with its code marked as such, its public names as links, and nothing else that marks."""
    parts = CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2:
            public = part in go.__all__ and part[0].isupper()
            parts[i] = f":py:obj:`~gaussopt.{part}`" if public else f"``{part}``"
        else:
            parts[i] = re.sub(r"([*|\\]|_(?!\w))", r"\\\1", part)
    return "".join(parts)


LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")


def links_from(source: Path, place: Path) -> Callable[[str], str]:
    """What turns the links of a page of the repository into those of its copy at `place`."""

    def one(match: re.Match[str]) -> str:
        begin, target, end = match.groups()
        if "://" in target:
            return match[0]
        path = Path(os.path.normpath(source.parent / target))
        local = path.relative_to(ROOT).as_posix()
        if not path.exists():
            raise ExtensionError(f"{source}: the link {target} leads nowhere.")
        if local.startswith(PAPERS) and path.suffix == ".md":
            # A page that Sphinx did not write is linked by its address on the site.
            here = Path(os.path.relpath(DOCS / PAPERS / "index.html", place.parent)).as_posix()
            return f"{begin}site:{here}{end}"
        if local == "README.md":
            path = DOCS / "index.md"
        elif not path.is_relative_to(DOCS):
            copy = COPIES / local
            if path.is_file() and not (local in OUTSIDE or copy.exists()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
            path = copy
        return begin + Path(os.path.relpath(path, place.parent)).as_posix() + end

    return lambda text: LINK.sub(one, text)


def copy_pages(app: Sphinx) -> None:
    """Copy the pages that stand outside docs/ into it."""
    shutil.rmtree(COPIES, ignore_errors=True)
    for name in OUTSIDE:
        copy = COPIES / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(links_from(ROOT / name, copy)((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")


def notebook(text: str) -> nbformat.NotebookNode:
    """A tutorial in Markdown as a notebook without outputs; links to pages, which it is taken away from, are text.

    Cells that the page hides, which check it, are left out, and so is what other tutorials show as printed.
    """
    if "{code-cell}" not in text:
        text = re.sub(r"^```text\n.*?^```\n", "", text, flags=re.M | re.S).replace(
            "```python\n", "```{code-cell} python\n"
        )
    text = re.sub(r"(?<!!)\[([^]]*)\]\((?!\w+:)[^)]*\)", r"\1", text)
    found = read_myst_markdown_notebook(text)
    found.cells = [cell for cell in found.cells if "remove-cell" not in cell.metadata.get("tags", ())]
    for number, cell in enumerate(found.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", nbformat.NotebookNode()
    found.metadata = nbformat.from_dict({"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    return found


def take_away(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write a tutorial as a notebook beside its page, and link it below the heading."""
    if not docname.startswith(("tutorials/", "tutorial-")):
        return
    file = Path(app.outdir) / f"{docname}.ipynb"
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook((DOCS / f"{docname}.md").read_text(encoding="utf-8")), file)
    source[0] = re.sub(
        r"^# .*\n", rf"\g<0>\n[This page as a notebook](site:{file.name})\n", source[0], count=1, flags=re.M
    )


def relink(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let a page's links lead to the copies; the first page begins with the README."""
    page = DOCS / f"{docname}.md"
    if not page.is_relative_to(COPIES) and page.exists():
        source[0] = links_from(page, page)(source[0])
    if docname == "index":
        readme = links_from(ROOT / "README.md", page)((ROOT / "README.md").read_text(encoding="utf-8"))
        source[0] = re.sub(r"^```math\n(.*?)^```", r"$$\n\1$$", readme, flags=re.M | re.S) + source[0]


def accessible(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Mend lists that a screen reader cannot count: references whose entries are no items, and lists outside items."""
    body = context.get("body", "").replace('<div role="list" class="citation-list">', '<div class="citation-list">')
    if pagename == "_modules/index":
        inner, last, rest = body.replace("</li>\n<ul>", "\n<ul>").rpartition("</ul>")
        body = inner.replace("</ul>", "</ul></li>") + last + rest
    context["body"] = body


def copy_papers(app: Sphinx, failure: Exception | None) -> None:
    """Put the report of the papers onto the site."""
    if failure is None and app.builder.format == "html":
        shutil.copytree(ROOT / PAPERS, Path(app.outdir) / PAPERS, dirs_exist_ok=True)


def excerpts(app: Sphinx, failure: Exception | None) -> None:
    """Write the texts of all pages as a script: a page that is a local file cannot fetch others to quote them."""
    if failure is not None or app.builder.format != "html":
        return
    texts = {}
    for name in sorted(app.env.found_docs):
        page = Path(app.builder.get_outfilename(name)).read_text(encoding="utf-8")
        article = "".join(re.findall(r'<article role="main".*?</article>', page, re.S))
        # Sections stay, with their anchors, by which the search finds what it quotes.
        plain = re.sub(r"<(script|style|svg|annotation)\b.*?</\1>|<(?!/?section\b)[^>]*>|¶", "", article, flags=re.S)
        texts[f"{name}.html"] = f'<div role="main">{" ".join(plain.split())}</div>'
    file = Path(app.outdir) / "_static" / "excerpts.js"
    file.write_text(f"window.excerpts = {json.dumps(texts, ensure_ascii=False)};\n", encoding="utf-8")


class Animation(SphinxDirective):
    """A motion of a problem, simulated and drawn while the site is built."""

    required_arguments = 1
    has_content = True
    option_spec = {"set": directives.unchanged, "run": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The picture that moves, a link to the page that can be stopped and stepped, and the code that wrote it."""
        name = self.arguments[0]
        problem = go.problem(name, **pairs(self.options.get("set", "")))
        chosen = f"go.problem({self.written('set')})" if "set" in self.options else f'"{name}"'
        code = f'motion = go.simulate({self.written("run", chosen)})\ngo.animate(motion, "{name}.html")\n'
        folder = Path(self.env.app.outdir) / "_animations"
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.chdir(folder):
            exec(code, names := {"go": go})
            if not problem.in_space:
                go.animate(names["motion"], f"{name}.svg")
        file = f"{'../' * self.env.docname.count('/')}_animations/{name}"
        alt = f"Animation: {nodes.make_id(name).replace('-', ' ')}"
        picture, more = f'<img src="{file}.svg" alt="{alt}">', "with a slider over the time"
        if problem.in_space:
            picture = f'<iframe src="{file}.html" title="{alt}" sandbox="allow-scripts" loading="lazy"></iframe>'
            more = "a page of its own"
        link = f'<a href="{file}.html">{problem.title}, {more}</a>'
        text = f"<figure>{picture}<figcaption>{link}</figcaption></figure>"
        shown = nodes.literal_block(code, code, language="python")
        return [nodes.raw("", text, format="html"), shown, *self.parse_content_to_nodes()]

    def written(self, option: str, first: str = "") -> str:
        """The arguments of a call: the first one, by default the name of the problem, and those of an option."""
        given = pairs(self.options.get(option, ""))
        return ", ".join([first or f'"{self.arguments[0]}"', *(f"{k}={json.dumps(v)}" for k, v in given.items())])


def pairs(text: str) -> dict[str, Any]:
    """Settings written as NAME=VALUE, numbers as numbers."""
    found: dict[str, Any] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        found[name] = float(value) if re.fullmatch(r"[-+.\de]+", value) else value
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what is here with Sphinx."""
    app.add_html_math_renderer("mathml", (math, None), (displayed_math, None))
    app.connect("autodoc-process-docstring", docstring, priority=400)  # before napoleon
    app.connect("builder-inited", copy_pages, priority=100)
    app.connect("source-read", relink, priority=100)
    app.connect("source-read", take_away, priority=200)  # before the page is read as a notebook and executed
    app.connect("html-page-context", accessible)
    app.connect("build-finished", copy_papers)
    app.connect("build-finished", excerpts)
    app.add_directive("animation", Animation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
