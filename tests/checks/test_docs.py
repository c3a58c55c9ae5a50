"""The site that `./dev docs` builds: of a small project with deliberate errors, and of this
project, whose pages are opened in a browser."""

import html.parser
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools"), str(ROOT / "tests/wire")]

import browser  # noqa: E402  (from tests/wire)
import docs  # noqa: E402  (from tools)

HEADER = """/* Things: what they are. See uvhttp_thing_free. */
#ifndef UVHTTP_THING_H
#define UVHTTP_THING_H

/* A thing. */
typedef struct uvhttp_thing uvhttp_thing_t;

/* Frees a thing.
 *
 *     uvhttp_thing_free(thing);
 */
void uvhttp_thing_free(uvhttp_thing_t *thing);

#endif
"""
FILES = {
    "CMakeLists.txt": "project(uvhttp VERSION 1.2.3)\n",
    "README.md": "# A project\n\nSee [docs](docs/README.md), [part](docs/task.md#a-part), "
    "[examples](examples), [in C++](examples/cpp), [headers](include/uvhttp), "
    "[licence](LICENSE).\n",
    "LICENSE": "Free.\n",
    "docs/README.md": "# Pages\n\n[Home](../README.md), [a task](task.md), "
    "[header](../include/uvhttp/thing.h), [design](design/one.md).\n",
    "docs/task.md": "# A task\n\n## A part\n\nSee [the program](../examples/use.c), "
    "[tools](../tools), [here](#a-part).\n",
    "docs/errors.md": "# Errors\n\nNone.\n",
    "docs/architecture.md": "# Architecture\n\n![A drawing](images/one.svg)\n",
    "docs/design/one.md": "# One decision\n\nText.\n",
    "docs/images/one.svg": '<svg xmlns="http://www.w3.org/2000/svg"></svg>\n',
    "docs/man/uvhttp.1": ".Dd $Mdocdate$\n.Dt UVHTTP 1\n.Os\n.Sh NAME\n.Nm uvhttp\n"
    ".Nd serve files\n.Sh OPTIONS\n.Fl -help\n",
    "examples/use.c": "/* Uses a thing. And more. */\nint used;\n",
    "examples/cpp/use.cpp": "/* Uses a thing. */\nint used;\n",
    "include/uvhttp/thing.h": HEADER,
    "tools/tool.py": "",
}
# Pages of every kind, and those with long names, wide tables and long lines.
SAMPLE = [
    "index",
    "docs/README",
    "docs/tutorial/README",
    "docs/tutorial/1-hello",
    "docs/static-files",
    "docs/configuration",
    "docs/limits",
    "docs/errors",
    "docs/performance",
    "docs/conformance/tls",
    "docs/man/uvhttp.1",
    "include/c",
    "include/cpp",
    "include/uvhttp/server.h",
    "include/uvhttp/tls.h",
    "include/uvhttp/websocket.h",
    "include/uvhttp/router.hpp",
    "include/uvhttp/middleware.hpp",
    "examples/index",
    "examples/hello.c",
    "examples/cpp/json_api.cpp",
    "CONTRIBUTING",
    "search",
]


WIDE_TABLES = """[...document.querySelectorAll("article table")]
    .filter(table => table.scrollWidth > table.parentElement.clientWidth + 4)
    .map(table => table.textContent.trim().slice(0, 40))"""


def write(project, name, text):
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)


@pytest.fixture(scope="module", autouse=True)
def sphinx():
    try:
        docs.install()
    except subprocess.CalledProcessError:
        pytest.skip("Sphinx cannot be installed from PyPI")


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        write(tmp_path, name, text)
    return tmp_path


@pytest.fixture(scope="module")
def site():
    """The site of this project, which `./dev docs` may have built already."""
    assert docs.build(ROOT, ROOT / "build/docs") == []
    return ROOT / "build/docs/html"


class Links(html.parser.HTMLParser):
    """The links of a page, the resources it loads, and its ids."""

    def __init__(self, page):
        super().__init__()
        self.links, self.loads, self.ids = [], [], set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(
            value for name, value in attributes.items() if name in ("id", "name") and value
        )
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif tag == "link" and attributes.get("rel") in (
            "stylesheet",
            "preload",
            "icon",
            "shortcut icon",
        ):
            self.loads.append(attributes["href"])
        elif attributes.get("src"):
            self.loads.append(attributes["src"])


def broken_links(directory):
    """One line for each broken link, and for each file that a page loads from another host."""
    pages = {path: Links(path) for path in directory.rglob("*.html")}
    for page, found in pages.items():
        for link in found.links + found.loads:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in found.loads:
                    yield f"{page}: loads {link}"
                continue
            target = (
                pathlib.Path(os.path.normpath(page.parent / urllib.parse.unquote(parts.path)))
                if parts.path
                else page
            )
            if not target.is_file():
                yield f"{page}: {link} leads to no file"
            elif (
                parts.fragment
                and target in pages
                and urllib.parse.unquote(parts.fragment) not in pages[target].ids
            ):
                yield f"{page}: {link} leads to no place of that page"


def captions(page):
    return re.findall(r'<span class="caption-text">([^<]*)<', page.read_text())


def test_small_project_site(project):
    done = subprocess.run(
        ["/usr/bin/python3", "-B", ROOT / "tools/docs.py", "--root", project],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (
        0,
        f"The site is in {project}/build/docs/html/index.html\n",
    ), (done.stdout + done.stderr)
    directory = project / "build/docs/html"
    assert list(broken_links(directory)) == []
    index, task = (directory / "index.html").read_text(), (directory / "docs/task.html").read_text()
    assert (
        "uvhttp 1.2.3" in index
        and "docs/task.html#a-part" in index
        and "examples/index.html" in index
        and "LICENSE.html" in index
        and 'examples/index.html"><span class="std std-doc">in C++' in index
        and 'include/c.html"><span class="std std-doc">headers' in index
    )
    assert (
        'href="../examples/use.c.html"' in task and '<span class="xref myst">tools</span>' in task
    )
    assert captions(directory /
                    "index.html") == ["Start", "Tasks", "Reference", "Examples", "Design"]
    for name in ("docs/design/one", "docs/man/uvhttp.1", "docs/errors", "include/c"):
        assert f"{name}.html" in index, name
    assert 'href="cpp/use.cpp.html"' in (directory / "examples/index.html").read_text()
    assert "Uses a thing" in (directory / "examples/index.html").read_text()
    assert (directory / "_images/one.svg").is_file()
    assert "--help" in (directory / "docs/man/uvhttp.1.html").read_text()
    header = (directory / "include/uvhttp/thing.h.html").read_text()
    assert "Frees a thing." in header and 'id="c.uvhttp_thing_free"' in header
    # A new page is in the navigation of the other pages.
    write(project, "docs/other.md", "# Another task\n\nText.\n")
    assert docs.build(project, project / "build/docs") == []
    assert "other.html" in (directory / "docs/task.html").read_text()
    # A changed comment changes the page of its header.
    write(project, "include/uvhttp/thing.h", HEADER.replace("Frees a thing.", "Destroys it."))
    assert docs.build(project, project / "build/docs") == []
    assert "Destroys it." in (directory / "include/uvhttp/thing.h.html").read_text()


@pytest.mark.parametrize(
    "name, before, after, said",
    [
        ("docs/task.md", "#a-part", "#another-part", "docs/task.md"),
        ("README.md", "task.md#a-part", "task.md#another-part", "index.md"),
        ("docs/README.md", "(task.md)", "(tasks.md)", "docs/README.md"),
        ("docs/README.md", "thing.h)", "things.h)", "docs/README.md"),
        (
            "include/uvhttp/thing.h",
            "/* A thing. */\n",
            "",
            "uvhttp_thing_t (typedef) of file thing.h is not documented",
        ),
    ],
)
def test_warnings_are_errors(project, name, before, after, said):
    text = (project / name).read_text()
    assert before in text
    write(project, name, text.replace(before, after))
    # The second run fails, too, although nothing has changed.
    for _ in range(2):
        wrong = docs.build(project, project / "build/docs")
        assert any(said in line for line in wrong), wrong


def test_links_work_and_no_external_files_are_loaded(site):
    assert list(broken_links(site)) == []


def test_site_has_all_pages(site):
    assert captions(site / "index.html") == ["Start", "Tasks", "Reference", "Examples", "Design"]
    sources = [
        path for directory in ("docs", "include", "examples")
        for path in (ROOT / directory).rglob("*.*")
        if path.suffix in (".md", ".h", ".hpp", ".c", ".cpp")
    ]
    names = [str(path.relative_to(ROOT)).removesuffix(".md") for path in sources]
    assert [name for name in names if not (site / f"{name}.html").exists()] == [] and len(
        names
    ) > 150


@pytest.fixture(scope="module")
def chromium():
    one = browser.Browser()
    yield one
    one.close()


def troubles(one):
    return [said for said in one.troubles() if not said.startswith(("loads file:", "loads data:"))]


@pytest.mark.parametrize("name", SAMPLE)
def test_pages_fit_phone_and_desktop(site, chromium, name):
    for width, dark in ((390, False), (1280, True)):
        chromium.open(site / f"{name}.html", width, dark)
        assert troubles(chromium) == []
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        if width > 1000:
            assert chromium.evaluate(WIDE_TABLES) == []
        background = chromium.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == dark, background


def test_navigation_shows_current_page(site, chromium):
    chromium.open(site / "include/uvhttp/websocket.h.html", 1440, False)
    top = chromium.evaluate(
        "document.querySelector('.sidebar-scroll li.current-page').getBoundingClientRect().top"
    )
    assert 0 < top < chromium.evaluate("innerHeight")


def test_search_finds_function(site, chromium):
    chromium.open(f"{(site / 'search.html').as_uri()}?q=uvhttp_server_new", 390, False)
    found = chromium.evaluate("""new Promise(done => {
        const links = () => [...document.querySelectorAll("#search-results li a")];
        const look = () => links().length ? done(links().map(a => a.href))
            : requestAnimationFrame(look);
        look();
    })""")
    assert any(
        link.split("#")[0].endswith("/include/uvhttp/server.h.html") for link in found
    ), found
    assert troubles(chromium) == []
