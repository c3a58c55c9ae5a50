"""Options of `uvhttp serve` beyond its directory: more roots, aliases, fields, downloads and a
password."""

import os
import subprocess

import pytest
import yaml

from program import Program, run
from static_server import place, serve, write  # noqa: F401 (fixtures)
from test_passwords import CHEAP, credentials
from test_program import terminal_output


@pytest.fixture
def other(place):
    """A directory next to the served one."""
    folder = os.path.join(os.path.dirname(place), "other")
    os.mkdir(folder)
    return folder


@pytest.fixture
def passwords(tmp_path):
    path = tmp_path / "staff"
    path.write_text(f"ann:{CHEAP}\n")
    return path


# More roots


def test_root_option_adds_roots(place, other, serve, tmp_path):
    third = tmp_path / "third"
    for folder, names in ((place, "a"), (other, "ab"), (third, "abc")):
        for name in names:
            write(folder, name, os.path.basename(folder).encode())
    server = serve("--more-root", other, f"--more-root={third}")
    assert [server.ask(f"/{name}").body for name in "abc"] == [b"root", b"other", b"third"]
    assert server.ask("/d").status == 404
    assert serve().ask("/b").status == 404


def test_root_by_variable_and_relative_path(place, other):
    write(other, "b", b"other")
    program = Program("uvhttp", "serve", "root", "-l", "127.0.0.1:0",
                      environment={"UVHTTP_MORE_ROOT": "other"}, cwd=os.path.dirname(place))
    try:
        assert program.ask("/b").body == b"other"
    finally:
        assert program.stop() == 0


# Fields and downloads


def test_header_option_by_pattern(place, serve):
    for name in ("a.html", "docs/b.html", "c.txt"):
        write(place, name, b"x")
    server = serve("--header", "*.html=X-Robots-Tag: none", "--header", "/docs/**=X-Robots-Tag:all",
                   "--header=*=X-Equal: a=b: c", "--header", "c.txt=Content-Type: text/x-one",
                   "--cache-control", "*=no-cache", "--header", "*.txt=cache-control: max-age=5")
    tags = [server.ask(path).get("X-Robots-Tag") for path in ("/a.html", "/docs/b.html", "/c.txt")]
    assert tags == ["none", "all", None]
    answer = server.ask("/c.txt")
    assert [answer.get(name) for name in ("X-Equal", "Content-Type", "Cache-Control")
            ] == ["a=b: c", "text/x-one", "max-age=5"]
    assert server.ask("/a.html").get("Cache-Control") == "no-cache"


def test_download_option(place, serve):
    for name in ("a.pdf", "b.pdf", "bin/ä", "c.txt"):
        write(place, name, b"x")
    server = serve("--download", "*.pdf", "--download=/bin/**", "--header",
                   "b.pdf=Content-Disposition: inline")
    given = [
        server.ask(path).get("Content-Disposition")
        for path in ("/a.pdf", "/b.pdf", "/bin/%C3%A4", "/c.txt")
    ]
    assert given[0].startswith("attachment") and "a.pdf" in given[0]
    assert given[1].startswith("inline") and given[3] is None
    assert given[2].startswith("attachment") and "filename*=UTF-8''%C3%A4" in given[2]


# Aliases


def test_alias_option(place, other, serve):
    write(place, "img/a", b"hidden by the alias")
    write(place, "c", b"root")
    for name in ("a", "sub/index.html", "icon.png"):
        write(other, name, name.encode())
    server = serve("--alias", f"/img/={other}", "--alias", f"/favicon.ico={other}/icon.png",
                   "--spa", "--uploads", "--upload-max-size", "5M", "--upload-overwrite",
                   "--cache-control", "*=no-cache")
    assert server.ask("/img/a").body == b"a" and server.ask("/img/sub/").body == b"sub/index.html"
    assert server.ask("/img/a").get("Cache-Control") == "no-cache"
    icon = server.ask("/favicon.ico")
    assert (icon.body, icon.get("Content-Type")) == (b"icon.png", "image/png")
    assert server.ask("/c").body == b"root" and server.ask("/img/c").status == 404
    assert server.ask("/img/..%2fsecret.txt").status == 404
    assert server.ask("/img/new", "Content-Length: 1", method="PUT", body=b"x").status == 201
    assert os.listdir(other).count("new") == 1


# A password


def test_password_option_protects_everything(place, other, serve, passwords):
    write(place, "a", b"x")
    write(other, "b", b"x")
    server = serve("--auth", passwords, "--alias", f"/other/={other}", "--uploads", "-v")
    for target in ("/a", "/other/b", "//a", "/none", "/"):
        refused = server.ask(target)
        assert refused.status == 401 and refused.get("WWW-Authenticate").startswith(
            "Basic realm="), target
    assert server.ask("/new", "Content-Length: 1", method="PUT", body=b"x").status == 401
    assert not os.path.exists(os.path.join(place, "new"))
    who = credentials("ann", "secret")
    assert [server.ask(target, who).status
            for target in ("/a", "/other/b", "/none")] == [200, 200, 404]
    assert server.ask("/a", credentials("ann", "Secret")).status == 401
    assert server.ask("/new", who, "Content-Length: 1", method="PUT", body=b"x").status == 201
    assert subprocess.run(["curl", "-sS", "-u", "ann:secret", f"{server.url}a"],
                          capture_output=True, timeout=60, check=True).stdout == b"x"
    assert "GET /a" in server.log() and "secret" not in server.log()


# The same as a configuration file


def test_printed_configuration_serves_the_same(place, other, passwords, tmp_path):
    write(place, "a.pdf", b"pdf")
    write(other, "b", b"b")
    flags = [
        "--more-root", "other", "--alias", "/x/=other", "--alias=/y=other/b", "--auth", passwords,
        "--download", "*.pdf", "--header", "*.pdf=X-A: b: c", "--header",
        "b=content-type: text/x-b", "--spa", "--prewarm", "a.pdf"
    ]
    done = run("uvhttp", "serve", "root", "-l", "127.0.0.1:0", *flags, "--print-config",
               cwd=os.path.dirname(place))
    path = tmp_path / "site.yaml"
    path.write_text(done.stdout)
    assert run("uvhttp", "run", path, "--print-config").stdout == done.stdout
    site = yaml.safe_load(done.stdout)["sites"][0]
    first, folder, file = site["routes"]
    assert site["basic_auth"] == {"file": str(passwords)}
    assert (first["static"], first["more_roots"], first["prewarm"]) == (place, [other], ["a.pdf"])
    assert (folder["path"], folder["static"], folder["spa"]) == ("/x/", other, True)
    assert (file["path"], file["static"], file["file"], file["spa"]) == ("/y", other, "b", False)
    assert "more_roots" not in folder and "prewarm" not in folder
    program = Program("uvhttp", "run", path)
    try:
        who = credentials("ann", "secret")
        answers = [program.ask(target, who) for target in ("/a.pdf", "/b", "/x/b", "/y")]
        assert [answer.body for answer in answers] == [b"pdf", b"b", b"b", b"b"
                                                       ] and program.ask("/y").status == 401
        assert answers[0].get("X-A") == "b: c" and answers[0].get("Content-Disposition").startswith(
            "attachment")
        assert answers[3].get("Content-Type") == "text/x-b"
    finally:
        assert program.stop() == 0


# Invalid options


@pytest.mark.parametrize("flags, message", [
    (["--header", "x"], "--header: 'x' is not a rule; the format is PATTERN=NAME: VALUE"),
    (["--header", "x=y"], "--header: 'x=y' is not a rule; the format is PATTERN=NAME: VALUE"),
    (["--header", "x=y: "], '--header: value is ""; must be a non-empty text'),
    (["--header", "x=ETag: y"], '--header: field is "ETag"; must be the name of a field'),
    (["--header", "[=a: b"], '--header: pattern is "["; must be a pattern such as'),
    (["--download", "["], '--download: pattern is "["; must be a pattern such as'),
    (["--download", ""], '--download: pattern is ""; must be a pattern such as'),
    (["--header", "a=b: c"] * 65, "--header: too many values; at most 64 are allowed"),
    (["--alias", "x/=."], "--alias: 'x/=.' is invalid; allowed are /PATH/=DIRECTORY and "
     "/PATH=FILE"),
    (["--alias", "/x/"], "--alias: '/x/' is invalid; allowed are /PATH/=DIRECTORY and /PATH=FILE"),
    (["--alias", "/x=."], "--alias: '.' is a directory, so the path must end with a slash: '/x/'"),
])
def test_invalid_flags(place, flags, message):
    done = run("uvhttp", "serve", place, *flags)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("uvhttp: " + message) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("path", ["/", "/*/"])
def test_alias_with_invalid_path(place, path):
    done = run("uvhttp", "serve", place, "-l", "127.0.0.1:0", "--alias", f"{path}=.", cwd=place)
    assert done.returncode == 2
    assert f"uvhttp: --alias: '{path}' is not a valid path for '{place}'" in done.stderr


@pytest.mark.parametrize("flags, message", [
    (["--more-root", "nowhere"], "uvhttp: --more-root: the directory 'nowhere' does not exist\n"),
    (["--more-root", "file"
      ], "uvhttp: --more-root: '{place}/file' is not a directory\n"),
    (["--alias", "/x/=nowhere"
      ], "uvhttp: --alias: 'nowhere' cannot be served: no such file or directory\n"),
    (["--auth", "nowhere"
      ], "uvhttp: --auth: 'nowhere' cannot be opened: no such file or directory\n"),
    (["--auth", "file"], 'uvhttp: --auth: file, line 1, is "(not shown)"; must be NAME:HASH'),
])
def test_start_errors(place, flags, message):
    write(place, "file", b"ann\n")
    done = run("uvhttp", "serve", place, "-l", "127.0.0.1:0", *flags, cwd=place)
    assert done.returncode == 1 and done.stdout == ""
    assert message.format(place=place) in done.stderr


# The start output

EVERYTHING = [
    "--hidden", "--index", "a.html b.html", "--rate-limit", "3M", "--error-pages", "404=/404.html",
    "--symlinks", "owner", "--cache-control", "*.css=max-age=60", "--type", "x=a/b", "--type",
    "y=a/b", "--fallback", "f.html", "--more-root", ".", "--header", "*=X-A: b", "--download",
    "*.pdf", "--prewarm", "f.html", "--compress", "--gzip-level", "9", "--watch"
]
TOLD = [
    "index a.html b.html", "compress", "gzip-level 9", "watch", "prewarm f.html", "type (2)",
    "cache-control *.css=max-age=60", "download *.pdf", "header *=X-A: b", "rate-limit 3M",
    "fallback f.html", "error-pages 404=/404.html", "symlinks owner", "more-root .", "hidden"
]


def start_output(place, *flags, listen="127.0.0.1:0"):
    program = Program("uvhttp", "serve", place, "-l", listen, *flags, cwd=place)
    assert program.stop() == 0, program.log()
    lines = program.output.splitlines()
    assert lines[0] == program.line and len(lines) <= 2
    assert len(lines) == 1 or lines[1].startswith("uvhttp: enabled: ")
    return sorted(lines[1][len("uvhttp: enabled: "):].split(", ")) if len(lines) == 2 else []


def test_start_output_lists_enabled_options(place):
    for name in ("f.html", "404.html"):
        write(place, name, b"x")
    assert start_output(place, *EVERYTHING) == sorted(TOLD)
    assert start_output(place) == start_output(place, "--no-listing", "--max-connections", "5") == []
    assert start_output(place, "--try-files", "{path} " + "x" * 50, "--index",
                "") == ['index ""', "try-files"]
    assert start_output(place, "--default-type", "a/b", "--header",
                "x\x1b*=A: b") == ["default-type a/b", "header x?*=A: b"]


@pytest.mark.parametrize("listen, who",
                         [(["127.0.0.1:0"], "this machine only"),
                          (["127.0.0.1:0", "unix:@uvhttp-told"], "this machine only"),
                          (["0.0.0.0:0"], "any client"),
                          (["0.0.0.0:0", "unix:@uvhttp-told"], "any client")])
def test_start_output_names_upload_permission(place, passwords, listen, who):
    flags = ["--uploads", *(f"-l{one}" for one in listen[1:])]
    assert start_output(place, *flags, listen=listen[0]) == [f"uploads from {who}"]
    assert "uploads with a password" in start_output(place, *flags, "--auth", passwords,
                                                        listen=listen[0])


def test_start_output_on_terminal(place):
    output = terminal_output(
        place, {
            "TERM": "dumb", "UVHTTP_UPLOADS": "on", "UVHTTP_HIDDEN": "on", "UVHTTP_INDEX": "a.html",
            "UVHTTP_RATE_LIMIT": "1500", "UVHTTP_SYMLINKS": "none"
        })
    assert ("Index: a.html. Directory listings: on. Hidden files: on.\n  Enabled: rate-limit "
            "1500, uploads "
            "from this machine only, symlinks none.\n") in output
