"""Sphinx' settings for the site. `./run docs` builds it; without it:

    mkdir -p build/docs-source
    sphinx-build -c docs build/docs-source build/docs

Sphinx reads build/docs-source, which pages.py fills from the pages of the repository. Nothing is downloaded.
"""

import hashlib
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import pages  # noqa: E402
import reference  # noqa: E402
from sphinx.errors import ConfigError  # noqa: E402
from sphinx.util import logging  # noqa: E402

with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
    PROJECT = re.search(r"project\(tessera.*?\)", file.read(), re.S)[0]
# The one place that knows the web address; without HOMEPAGE_URL links to sources are plain text.
ADDRESS = re.search(r"HOMEPAGE_URL \"([^\"]+)\"", PROJECT)

project = "Tessera"
author = "The Tessera developers"
copyright = author
version = release = re.search(r"VERSION ([0-9.]+)", PROJECT)[1]

extensions = ["myst_nb", "sphinx_copybutton"]
root_doc = "index"
source_suffix = {".md": "myst-nb"}
nitpicky = True

# No mathematics: it would be drawn by a script from another site.
myst_enable_extensions = ["html_image", "deflist"]
myst_heading_anchors = 6

# The notebook is executed with the module of a build directory, if one is named; its prose is a page in any case.
python_build = os.environ.get("TESSERA_PYTHON_BUILD")
nb_execution_mode = "force" if python_build else "off"
nb_execution_show_tb = True
nb_execution_timeout = 120
if python_build:
    os.environ["PYTHONPATH"] = os.path.join(python_build, "python")

html_theme = "furo"
html_title = f"Tessera {version}"
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"
# Blocks without a language are output, formulas and file formats.
highlight_language = "none"


def fill(app):
    """Fills Sphinx' source directory from the repository."""
    if os.path.realpath(app.srcdir).startswith(HERE):
        raise ConfigError("the site is not built from docs/ itself; give ./run docs, or see the head of docs/conf.py")
    logger = logging.getLogger(__name__)
    xml = os.path.join(os.path.dirname(os.path.abspath(app.srcdir)), "docs-doxygen")
    for warning in read_headers(xml):
        logger.warning("%s", warning)
    address = ADDRESS[1].rstrip("/") if ADDRESS else None
    site = pages.Site(ROOT, address, reference.Reference(xml))
    site.write(app.srcdir)
    there, wanted = site.headers(), reference.headers(ROOT)
    for name in sorted(set(there) | set(wanted)):
        count, expected = there.count(name), wanted.count(name)
        if count != expected:
            logger.warning("tessera/%s stands %d times on the pages of docs/reference, not %d", name, count, expected)


def read_headers(xml):
    """Has Doxygen read the headers, unless they are what it read last time without a warning. Returns its warnings."""
    state = hashlib.sha256()
    inputs = [os.path.join(HERE, name) for name in ("Doxyfile", "doxygen_filter.py")]
    inputs += [os.path.join(ROOT, reference.HEADERS, name) for name in reference.headers(ROOT)]
    for path in inputs:
        with open(path, "rb") as content:
            state.update(path.encode() + content.read())
    stamp = os.path.join(xml, "inputs.sha256")
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as content:
            if content.read() == state.hexdigest():
                return []
    warnings = reference.run_doxygen(xml)
    if not warnings:
        with open(stamp, "w", encoding="utf-8") as content:
            content.write(state.hexdigest())
    return warnings


def setup(app):
    app.connect("builder-inited", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
