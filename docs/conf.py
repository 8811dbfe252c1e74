"""conf.py: how Sphinx makes the site: `python -m sphinx -W -b html docs docs/_build`.

The pages of the reference are written before Sphinx reads the others (reference_pages.py). The notebooks are committed
without output; they run while the site is built.
"""

import re
import sys
from pathlib import Path

from sphinx.util import logging

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

# Both imports need the path above.
import reference_pages  # noqa: E402

import gatherscatter  # noqa: E402

project = "gatherscatter"
release = version = gatherscatter.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton"]
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]  # the second one is MyST-NB's
highlight_language = "text"
nitpicky = False

# A docstring writes `name` for a parameter, and Sphinx would set it as a title.
default_role = "code"
autodoc_typehints = "none"  # numpydoc's sections say the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
python_maximum_signature_line_length = 100
add_module_names = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # the anchors that a forge makes, so that one link serves both

nb_execution_mode = "force"
nb_execution_timeout = 120  # seconds for a cell, as in the tests; a notebook takes some seconds on an idle machine
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # nothing is loaded from other sites

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_theme = "pydata_sphinx_theme"
html_title = f"gatherscatter {release}"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "gatherscatter"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": [],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "tutorial": [], "recipes": [], "performance": []}


def name_outside(app, docname, source):
    """Replace links that leave docs/ by the path of the file, because the site has the pages of docs/ alone."""
    folder = (HERE / docname).parent

    def replaced(link):
        target = (folder / link[2]).resolve()
        if target.is_relative_to(HERE):
            return link[0]
        path = str(target.relative_to(HERE.parent))
        return f"`{path}`" if link[1] in (path, target.stem, f"{target.parent.name}/") else f"{link[1]} (`{path}`)"

    source[0] = re.sub(r"\[([^\]]*)\]\((\.\./[^)#]+)(?:#[^)]*)?\)", replaced, source[0])


def without_file(app, what, name, obj, options, lines):
    """Leave the name of the file out of the description of a module."""
    if what == "module" and lines:
        lines[:] = reference_pages.without_file(lines)


def check_times(app, env):
    """Warn of notebooks that ran for a minute or longer."""
    for name, facts in getattr(env, "nb_metadata", {}).items():
        seconds = (facts.get("exec_data") or {}).get("runtime") or 0
        if seconds >= 60:
            logging.getLogger(__name__).warning("%s: the notebook ran for %.0f s, expected less than 60", name, seconds)


def setup(app):
    """Write the pages of the reference; Sphinx looks for pages after this."""
    reference_pages.write(HERE / "reference")
    app.connect("autodoc-process-docstring", without_file, priority=100)  # before numpydoc
    app.connect("source-read", name_outside)
    app.connect("env-updated", check_times)
