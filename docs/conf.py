"""Sphinx configuration of the documentation (`make docs`)."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import semibandit

project = "semibandit"
author = "The semibandit developers"
copyright = author
version = release = semibandit.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "site_pages",
]
exclude_patterns = ["_ext", "tutorials", "pictures", "reading/index.rst"]

smartquotes_action = "D"  # only dashes
suppress_warnings = ["ref.python"]  # several classes have a member of this name

# Markdown
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Docstrings
default_role = "py:name"
add_module_names = False
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autosummary_generate = False
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
toc_object_entries_show_parents = "hide"

# Names of other projects have no page here; only links within the site are checked.
nitpick_ignore_regex = [("py:.*", r".*")]

# The tutorials run when the site is built, and a failure is an error.
sphinx_gallery_conf = {
    "examples_dirs": ["tutorials", "pictures"],
    "gallery_dirs": ["gallery", "reading"],
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "run_stale_examples": True,  # tutorials depend on the package, too
    "download_all_examples": False,
    "min_reported_time": 1e9,  # reported times would make builds differ
    "write_computation_times": False,
    "capture_repr": (),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
}

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = "semibandit"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db4f0", "color-brand-content": "#7db4f0"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
