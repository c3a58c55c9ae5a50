"""The settings of Sphinx for the site that `./dev docs` builds.

tools/docs.py prepares the pages and sets the variables of the environment.
"""

import os
import pathlib

from docutils import nodes
from sphinx import addnodes

ROOT = pathlib.Path(os.environ["UVHTTP_DOCS_ROOT"])
# The pages for directories whose page is not DIRECTORY/index.
PAGES = {"README.md": "index", "examples/cpp": "examples/index", "include/uvhttp": "include/c"}

project = "uvhttp"
version = release = os.environ["UVHTTP_DOCS_VERSION"]
language = "en"
extensions = ["myst_parser", "breathe"]
# Blocks without a language are shell commands.
highlight_language = "sh"
# Each C++ header declares the namespace; code in the comments of headers has remarks that are no C.
suppress_warnings = ["duplicate_declaration.cpp", "misc.highlighting_failure"]

# Options begin with two hyphens.
smartquotes = False

# The site is opened as files, which a page may not fetch: no summaries of found pages.
html_show_search_summary = False
html_theme = "furo"
html_title = f"uvhttp {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = html_show_sourcelink = html_show_copyright = False

# The anchors of headings are those that code hosts make.
myst_heading_anchors = 5

breathe_projects = {"uvhttp": os.environ["UVHTTP_DOCS_XML"]}
breathe_default_project = "uvhttp"
breathe_default_members = ("members",)
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_show_include = False


def resolve_links(app, document):
    """Links that lead to no page as they are: to README.md, a header, a source or a directory."""
    for node in list(document.findall(addnodes.pending_xref)):
        if node["reftype"] != "myst" or node["refdomain"] == "doc":
            continue
        target, _, anchor = node["reftarget"].partition("#")
        path = os.path.normpath(pathlib.PurePath(app.env.docname).parent / target)
        pages = [PAGES.get(path, path), f"{path}/index"]
        page = next((page for page in pages if page in app.env.found_docs), None)
        if page:
            node["refdomain"], node["reftarget"], node["reftargetid"] = "doc", page, anchor or None
        elif target and (ROOT / path).exists():
            # What the site does not show is named only.
            node.replace_self(node.children)


def flatten(app, document):
    """Takes what is in the namespace out of it.

    Fields, constants and what has no name are not in the table of contents of the page.
    """
    for node in list(document.findall(addnodes.desc)):
        names = [name.astext() for name in node[0].findall(addnodes.desc_name)]
        if node["objtype"] == "type" and names == ["uvhttp"]:
            ids = [one for part in node[0].findall(nodes.Element) for one in part["ids"]]
            node.replace_self([nodes.target("", "", ids=ids), *node[-1].children])
        for signature in node.findall(addnodes.desc_signature):
            if signature.parent["objtype"] in ("member", "var", "enumerator") or signature.get(
                "_toc_name", ""
            ).startswith("@"):
                signature["_toc_name"] = ""


def setup(app):
    app.connect("doctree-read", resolve_links)
    # Before the contents of pages are collected.
    app.connect("doctree-read", flatten, priority=100)
