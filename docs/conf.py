"""The site: Sphinx reads the pages of this folder as GitHub does, strictly; `make docs` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))  # where our own part of it is

project = "alphasynth"
extensions = ["myst_parser", "site_pages"]
root_doc = "index"
exclude_patterns = ["_site"]
# Headings are linked to by the names that GitHub gives them.
myst_heading_anchors = 6
suppress_warnings = ["myst.header"]  # a page may begin at any level, as on GitHub

smartquotes = False  # two hyphens before an option are two hyphens

html_theme = "furo"
html_title = "alphasynth"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # it asks for other pages, which a browser refuses where there is no server
