#!/usr/bin/python3
"""Builds the documentation as a site: tools/docs.py [--output DIRECTORY]. Called by `./dev docs`.

Sphinx builds it with the settings in docs/sphinx. It reads the pages of docs, and pages that this
program writes: for each header (from its comments, by Doxygen and Breathe), each example, and the
manual page. A warning of any of these programs is an error.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zlib

import csource
import reference
import virtualenv

LINK = re.compile(r"\]\(([^)\s#:]+)[^)\s]*\)")
SENTENCE = re.compile(r"/\* (.*?)[.:;](?: \*/|\n| [A-Z])", re.S)
LANGUAGES = {
    ".c": "c", ".h": "c", ".cpp": "cpp", ".py": "python", ".mjs": "js", ".js": "js",
    ".html": "html", ".yaml": "yaml"}
# The navigation: patterns of pages, in order. Tasks are the pages of docs without another group, in
# the order of docs/README.md.
NAVIGATION = {
    "Start": ["index", "docs/tutorial/README"],
    "Tasks": ["docs/README"],
    "Reference": ["include/c", "include/cpp", "docs/configuration", "docs/limits", "docs/errors",
                  "docs/man/*"],
    "Examples": ["examples/index"],
    "Design": ["docs/architecture", "docs/pitfalls", "docs/performance", "docs/conformance/*",
               "CONTRIBUTING", "SECURITY", "CHANGELOG"],
}
# Pages that the navigation shows below another page.
CHILDREN = {
    "docs/tutorial/README": r"docs/tutorial/\d[^.]*",
    "docs/architecture": r"docs/design/[^.]+",
}
IMAGES = (".png", ".svg", ".jpg", ".webp")
TITLES = {"index": "About uvhttp", "docs/README": "Find a page", "examples/index": "C and C++"}


def toctree(names, *options):
    links = {name: "self" if name == "index" else f"/{name}" for name in names}
    entries = [f"{TITLES[name]} <{link}>" if name in TITLES else link
               for name, link in links.items()]
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])


class Site:
    """The pages for Sphinx: {path without .md: text}."""

    def __init__(self, root):
        self.root = root
        markdown = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
        self.pages = {self.name(path).removesuffix(".md"): path.read_text() for path in markdown}
        self.pages["index"] = self.pages.pop("README")
        self.add_sources()
        self.add_headers()
        self.add_manual_pages()
        self.add_navigation()

    def name(self, path):
        return path.relative_to(self.root).as_posix()

    def add_sources(self):
        """Adds a page for each file of the examples, and for each other linked file."""
        examples = [self.name(path) for path in (self.root / "examples").rglob("*")
                    if path.suffix in LANGUAGES]
        linked = [os.path.normpath(pathlib.PurePath(name).parent / target)
                  for name, text in self.pages.items() for target in LINK.findall(text)]
        for name in {*examples, *linked}:
            path = self.root / name
            if path.is_file() and path.suffix not in (".md", ".h", ".hpp", ".1", *IMAGES):
                language = LANGUAGES.get(path.suffix, "text")
                self.pages[name] = (f"---\norphan: true\n---\n# {path.name}\n\n"
                                    f"````````{language}\n{path.read_text()}````````\n")
        examples.sort(key=lambda name: (name.endswith(".cpp"), name))
        self.pages["examples/index"] = self.index_of_examples(examples)

    def about(self, name):
        """Returns the first sentence of a source, for a table cell."""
        sentence = SENTENCE.match((self.root / name).read_text())
        return re.sub(r"\s+(\* )?", " ", sentence[1]).replace("|", "\\|") if sentence else ""

    def index_of_examples(self, names):
        rows, others = {}, []
        for name in names:
            stem, _, ending = name.removeprefix("examples/").removeprefix("cpp/").partition(".")
            if "/" not in stem and ending in ("c", "cpp"):
                language = "C" if ending == "c" else "C++"
                rows.setdefault(stem, [self.about(name)]).append(f"[{language}](/{name})")
            else:
                others.append(f"- [{name.removeprefix('examples/')}](/{name})")
        table = [f"| **{stem}**<br>{' '.join(links)} | {about} |"
                 for stem, (about, *links) in sorted(rows.items())]
        return "\n".join(["# Examples", "", "| program | description |", "|---|---|", *table, "",
                          "## Other files", "", *others, ""])

    def add_headers(self):
        for page, title, ending in (("c", "The API in C", ".h"), ("cpp", "The API in C++", ".hpp")):
            names = sorted(self.name(path) for path in (self.root / "include").rglob(f"*{ending}"))
            table = [f"| [{name.removeprefix('include/')}](/{name}) | {self.about(name)} |"
                     for name in names]
            self.pages[f"include/{page}"] = "\n".join(
                [f"# {title}", "", "| header | description |", "|---|---|", *table,
                 toctree(names, ":hidden:")])
            for name in names:
                header = pathlib.PurePath(name).name
                # Sphinx rebuilds a page only if its text changes: this comment, with the header.
                checksum = zlib.crc32((self.root / name).read_bytes())
                self.pages[name] = (f"# {header}\n\n% {checksum}\n\n"
                                    f"```{{highlight}} text\n```\n\n"
                                    f"```{{doxygenfile}} {header}\n```\n")

    def add_manual_pages(self):
        for path in (self.root / "docs/man").glob("*.1"):
            text = subprocess.run(["mandoc", "-T", "markdown", path], check=True,
                                  capture_output=True, text=True).stdout
            text = re.sub(r"^#", "##", text.partition("\n")[2], flags=re.M)
            self.pages[self.name(path)] = (
                f"# Manual page of the program: {path.stem}(1)\n{text}")

    def add_navigation(self):
        for parent, pattern in CHILDREN.items():
            names = sorted(name for name in self.pages if re.fullmatch(pattern, name))
            if names:
                self.pages[parent] += toctree(names, ":hidden:")
        groups = {caption: [] for caption in NAVIGATION}
        for caption, patterns in NAVIGATION.items():
            for pattern in patterns:
                found = [name for name in sorted(self.pages)
                         if re.fullmatch(pattern.replace("*", "[^/]+"), name)]
                groups[caption] += [name for name in found if name not in groups[caption]]
        in_order = re.findall(r"\]\(([\w-]+)\.md", self.pages.get("docs/README", ""))
        tasks = dict.fromkeys([*(f"docs/{name}" for name in in_order), *sorted(self.pages)])
        grouped = [name for names in groups.values() for name in names]
        groups["Tasks"] += [name for name in tasks if re.fullmatch(r"docs/[^/]+", name)
                            and name in self.pages and name not in grouped]
        for caption, names in groups.items():
            if names:
                self.pages["index"] += toctree(names, ":hidden:", f":caption: {caption}")

    def write(self, output):
        """Writes changed pages only, so that Sphinx rebuilds only these.

        After a change of the navigation, a setting or a program that makes pages, Sphinx rebuilds
        all pages.
        """
        programs = ("docs/sphinx/conf.py", "tools/apidoc.py", "tools/reference.py")
        state = "\n".join([*sorted(self.pages),
                           *((csource.ROOT / name).read_text() for name in programs)])
        if not (output / "state").exists() or (output / "state").read_text() != state:
            for name in ("source", "doctrees", "html"):
                shutil.rmtree(output / name, ignore_errors=True)
            (output / "state").write_text(state)
        for name, text in self.pages.items():
            path = output / f"source/{name}.md"
            if not path.exists() or path.read_text() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        for path in (self.root / "docs").rglob("*"):
            if path.suffix in IMAGES:
                copy = output / "source" / self.name(path)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)


def install():
    """Installs Sphinx and its extensions in pinned versions. Returns the Python of their venv."""
    pinned = csource.ROOT / "docs/sphinx/requirements.txt"
    directory = csource.ROOT / "build/docs/venv"
    return virtualenv.install("Sphinx", directory, pinned,
                              functools.partial(subprocess.run, check=True))


def build(root, output):
    """Builds output/html. Returns a list of errors, one line each."""
    python = install()
    errors = reference.build(root, output / "reference")
    Site(root).write(output)
    version = re.search(r"project\(uvhttp VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())
    environment = {**os.environ, "UVHTTP_DOCS_ROOT": str(root),
                   "UVHTTP_DOCS_VERSION": version[1] if version else "",
                   "UVHTTP_DOCS_XML": str(output / "reference/xml")}
    command = [python, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-b", "html",
               "-c", csource.ROOT / "docs/sphinx", "-d", output / "doctrees", output / "source",
               output / "html"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        # Sphinx repeats no warnings of unchanged pages, so the next build rebuilds all.
        (output / "state").unlink()
        errors += done.stderr.replace(f"{output}/source/", "").splitlines()
    return errors


def main():
    arguments = csource.root_argument("Builds the documentation as a site.")
    arguments.add_argument("--output", type=pathlib.Path, help="default: build/docs")
    arguments.add_argument("--install", action="store_true",
                           help="only install Sphinx into build/docs/venv")
    options = arguments.parse_args()
    if options.install:
        install()
        return 0
    root = options.root.resolve()
    output = (options.output or root / "build/docs").resolve()
    errors = build(root, output)
    if not errors:
        print(f"The site is in {output / 'html/index.html'}")
    return csource.report(errors)


if __name__ == "__main__":
    sys.exit(main())
