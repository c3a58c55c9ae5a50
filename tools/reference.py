#!/usr/bin/python3
"""Builds the reference by Doxygen: the public headers and the pages of docs, as one HTML site: tools/reference.py [--output FOLDER].

Called by `./dev docs`, and by tools/check_reference.py. Headers go through tools/apidoc.py, since their comments are plain ones; pages get links that
Doxygen understands. What Doxygen finds wrong is an error: an undocumented function or type, a name or page that a link does not lead to.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

import apidoc
import csource

SETTINGS = """
PROJECT_NAME = uvhttp
PROJECT_NUMBER = {version}
PROJECT_BRIEF = "An HTTP/1.1 server to embed"
OUTPUT_DIRECTORY = "{output}"
INPUT = {input}
RECURSIVE = YES
USE_MDFILE_AS_MAINPAGE = "{start}"
STRIP_FROM_PATH = "{copy}" "{copy}/include"
STRIP_FROM_INC_PATH = "{copy}/include"
FULL_PATH_NAMES = YES
GENERATE_HTML = YES
GENERATE_LATEX = NO
GENERATE_TAGFILE = "{output}/uvhttp.tag"
WARN_LOGFILE = "{output}/warnings"
WARN_IF_UNDOCUMENTED = YES
QUIET = YES
JAVADOC_AUTOBRIEF = YES
OPTIMIZE_OUTPUT_FOR_C = YES
TYPEDEF_HIDES_STRUCT = YES
SORT_MEMBER_DOCS = NO
ALWAYS_DETAILED_SEC = YES
MAX_INITIALIZER_LINES = 0
MARKDOWN_SUPPORT = YES
TOC_INCLUDE_HEADINGS = 3
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = UVHTTP_EXPORT= __attribute__(x)= __cplusplus=202002L
EXCLUDE_SYMBOLS = *_MAP detail
VERBATIM_HEADERS = NO
SOURCE_BROWSER = NO
HAVE_DOT = NO
GENERATE_TREEVIEW = YES
SEARCHENGINE = YES
HTML_TIMESTAMP = NO
"""
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#:]*)(#[^)\s]*)?\)")
HEADING = re.compile(r"^(#+) (.*)$", re.M)
# What Doxygen takes for the name of something in C++, in code too, unless a backslash stands before it.
SCOPE = re.compile(r"(^ {4}.*)|`([^`\n]*::[^`\n]*)`|(`[^`\n]*`)|::", re.M)
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
# Fields of structs and constants say by their names what they are, if they have no comment; parameters are told in sentences.
NO_MATTER = re.compile(r"Member \w+ *(\[[^\]]*\])? *\((variable|enumvalue|macro definition|enumeration)\)|"
                       r"parameters? of member|Member \w+\)\(|return type of member|the following parameters?|\.hpp:|^ +parameter ")


def pages(root):
    """The pages of the root folder and of docs, relative to root."""
    return sorted(path.relative_to(root) for path in [*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def slug(heading):
    """A heading's name in links, as code hosts make it."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def label(path, anchor=""):
    """The name of a page, or of a heading of it, for Doxygen."""
    return "page_" + re.sub(r"\W", "_", path.as_posix()) + (f"-{anchor}" if anchor else "")


def without_scope(match):
    block, named, code = match.groups()
    if named:
        return "<code>" + re.sub(r"[\\@<>#%&*]|::", lambda mark: "\\" + mark.group(), named) + "</code>"
    return block or code or "\\::"


def page_for_doxygen(root, path, text, known):
    """A page whose links to other pages and to headers are references; others become text. Headings get the names that links use."""
    seen = collections.Counter()

    def name(match):
        marks, heading = match.groups()
        # The first one is the page's; of several that are called the same the later ones are counted, as code hosts do.
        anchor = slug(heading) if seen else ""
        count = seen[anchor]
        seen[anchor] += 1
        return f"{marks} {heading} {{#{label(path, f'{anchor}-{count}' if count else anchor)}}}"

    def rewrite(match):
        text, target, anchor = match.groups()
        anchor = (anchor or "").removeprefix("#")
        if not target:
            return f"[{text}](@ref {label(path, anchor)})"
        leads_to = pathlib.Path(os.path.normpath(path.parent / target))
        if leads_to in known:
            return f"[{text}](@ref {label(leads_to, anchor)})"
        if leads_to.suffix in (".h", ".hpp"):
            return f"[{text}](@ref {leads_to.name})"
        return text if text.strip("`") in (target, leads_to.as_posix()) else f"{text} ({leads_to})"

    parts, at = [], 0
    for fence in [*FENCE.finditer(text), None]:
        prose = text[at:fence.start() if fence else len(text)]
        parts.append(SCOPE.sub(without_scope, LINK.sub(rewrite, HEADING.sub(name, prose))))
        if fence:
            parts.append(fence.group())
            at = fence.end()
    return "".join(parts)


def copy_sources(root, copy):
    """What Doxygen reads, made ready for it."""
    # A link to what has no comment would lead nowhere.
    names = {name for name, (declaration, _) in apidoc.declared(root).items() if declaration.documented}
    for path in (root / "include").rglob("*.h*"):
        target = copy / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(apidoc.Header(path.read_text(), names).text)
    known = pages(root)
    for path in known:
        target = copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page_for_doxygen(root, path, (root / path).read_text(), known))


def build(root, output):
    """Builds the reference into a folder. What is wrong, one line each; an empty list when nothing is."""
    copy = output / "source"
    subprocess.run(["rm", "-rf", output], check=True)
    copy.mkdir(parents=True)
    copy_sources(root, copy)
    version = re.search(r"project\(uvhttp VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())
    start = copy / "docs/README.md"
    settings = SETTINGS.format(version=version[1] if version else "", output=output, copy=copy,
                               input=" ".join(f'"{path}"' for path in copy.iterdir()),
                               start=start if start.exists() else copy / "README.md")
    done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True)
    warnings = (output / "warnings").read_text() if (output / "warnings").exists() else done.stderr
    lines = dict.fromkeys(line.replace(f"{copy}/", "") for line in warnings.splitlines())
    wrong = [line for line in lines if line.strip() and not NO_MATTER.search(line)]
    return wrong + ([f"doxygen ended with {done.returncode}: {done.stderr}"] if done.returncode else [])


def main():
    arguments = csource.root_argument("Builds the reference.")
    arguments.add_argument("--output", type=pathlib.Path, help="default: build/docs")
    options = arguments.parse_args()
    root = options.root.resolve()
    output = (options.output or root / "build/docs").resolve()
    wrong = build(root, output)
    if not wrong:
        print(f"The reference is in {output / 'html/index.html'}")
    return csource.report(wrong)


if __name__ == "__main__":
    sys.exit(main())
