"""Configuration of the documentation site: `python -m sphinx -W -b html docs docs/_build/html`."""

import sys
from pathlib import Path

from gaussopt._version import __version__ as release
from gaussopt.plotting import colours

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "gaussopt"
author = copyright = "the gaussopt developers"
version = release
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon",
              "sphinx.ext.viewcode", "sphinxcontrib.bibtex", "site_parts"]  # fmt: skip
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "unsrt"

# Pages stay readable in the repository: dollars for formulas, anchors of headings as code hosts make them.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_url_schemes = {"http": None, "https": None, "site": "{{path}}"}
html_math_renderer = "mathml"

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = -1  # none: a slow machine is no defect
nb_execution_show_tb = True
nb_merge_streams = True

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # docstrings state shapes and units; the types of `Problem` alone were fifty lines
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_attr_annotations = False
napoleon_use_param = napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style"), ("Class attributes", "params_style")]

html_theme = "furo"
html_title = f"gaussopt {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": colours.BLUE, "color-brand-content": colours.BLUE},
    "dark_css_variables": {"color-brand-primary": colours.SKY, "color-brand-content": colours.SKY},
}
