"""Options of `uvhttp serve` beyond its directory: more roots, aliases, fields, downloads and a
password."""

import json
import os
import subprocess

import pytest
import yaml

from program import Program, run
from static_server import root, serve, write  # noqa: F401 (fixtures)
from test_passwords import CHEAP, credentials
from test_program import terminal_output


@pytest.fixture
def other(root):
    """A directory next to the served one."""
    directory = os.path.join(os.path.dirname(root), "other")
    os.mkdir(directory)
    return directory


@pytest.fixture
def passwords(tmp_path):
    path = tmp_path / "staff"
    path.write_text(f"ann:{CHEAP}\n")
    return path


# More roots


def test_root_option_adds_roots(root, other, serve, tmp_path):
    third = tmp_path / "third"
    for directory, names in ((root, "a"), (other, "ab"), (third, "abc")):
        for name in names:
            write(directory, name, os.path.basename(directory).encode())
    server = serve("--more-root", other, f"--more-root={third}")
    assert [server.request(f"/{name}").body for name in "abc"] == [b"root", b"other", b"third"]
    assert server.request("/d").status == 404
    assert serve().request("/b").status == 404


def test_root_by_variable_and_relative_path(root, other):
    write(other, "b", b"other")
    program = Program("uvhttp", "serve", "root", "-l", "127.0.0.1:0",
                      environment={"UVHTTP_MORE_ROOT": "other"}, cwd=os.path.dirname(root))
    try:
        assert program.request("/b").body == b"other"
    finally:
        assert program.stop() == 0


# Fields and downloads


def test_header_option_by_pattern(root, serve):
    for name in ("a.html", "docs/b.html", "c.txt"):
        write(root, name, b"x")
    server = serve("--header", "*.html=X-Robots-Tag: none", "--header", "/docs/**=X-Robots-Tag:all",
                   "--header=*=X-Equal: a=b: c", "--header", "c.txt=Content-Type: text/x-one",
                   "--cache-control", "*=no-cache", "--header", "*.txt=cache-control: max-age=5")
    tags = [
        server.request(path).get("X-Robots-Tag") for path in ("/a.html", "/docs/b.html", "/c.txt")
    ]
    assert tags == ["none", "all", None]
    response = server.request("/c.txt")
    assert [response.get(name) for name in ("X-Equal", "Content-Type", "Cache-Control")
            ] == ["a=b: c", "text/x-one", "max-age=5"]
    assert server.request("/a.html").get("Cache-Control") == "no-cache"


def test_download_option(root, serve):
    for name in ("a.pdf", "b.pdf", "bin/ä", "c.txt"):
        write(root, name, b"x")
    server = serve("--download", "*.pdf", "--download=/bin/**", "--header",
                   "b.pdf=Content-Disposition: inline")
    given = [
        server.request(path).get("Content-Disposition")
        for path in ("/a.pdf", "/b.pdf", "/bin/%C3%A4", "/c.txt")
    ]
    assert given[0].startswith("attachment") and "a.pdf" in given[0]
    assert given[1].startswith("inline") and given[3] is None
    assert given[2].startswith("attachment") and "filename*=UTF-8''%C3%A4" in given[2]


# Aliases


def test_alias_without_slash_is_redirected(root, other, serve):
    write(root, "img", b"hidden by the alias")
    write(other, "b", b"a file")
    server = serve("--alias", f"/img/={other}", "--alias", f"/two/={other}", "--alias",
                   f"/two={other}/b")
    response = server.request("/img?a=b")
    assert (response.status, response.get("Location")) == (301, "/img/?a=b")
    assert server.request("/img", method="HEAD").status == 301
    assert server.request("/two").body == b"a file"


def test_aliases_are_in_the_listing_of_the_root(root, other, serve):
    """Instead of a file of that name, without size and date, which belong to another directory."""
    write(root, "img/a", b"hidden by the alias")
    write(root, "z", b"")
    write(other, "b", b"a file")
    server = serve("--listing", "--alias", f"/img/={other}", "--alias", f"/icon.png={other}/b",
                   "--alias", f"/deep/er/={other}")
    assert server.request("/?format=text").body == b"img/\nicon.png\nz\n"
    assert server.request("/?format=text&filter=ICON").body == b"icon.png\n"
    entries = json.loads(server.request("/?format=json").body)
    assert entries[:2] == [{"name": "img", "href": "./img/", "type": "directory"},
                           {"name": "icon.png", "href": "./icon.png", "type": "file"}]
    assert b'<a href="./icon.png"><bdi>icon.png</bdi></a></td><td></td><td></td>' in (
        server.request("/").body)
    assert server.request("/img/?format=text").body == b"b\n"


def test_alias_option(root, other, serve):
    write(root, "img/a", b"hidden by the alias")
    write(root, "c", b"root")
    write(root, "index.html", b"index")
    for name in ("a", "sub/index.html", "icon.png"):
        write(other, name, name.encode())
    server = serve("--alias", f"/img/={other}", "--alias", f"/favicon.ico={other}/icon.png",
                   "--spa", "--uploads", "--upload-max-size", "5M", "--upload-overwrite",
                   "--cache-control", "*=no-cache")
    assert server.request("/img/a").body == b"a" and server.request(
        "/img/sub/").body == b"sub/index.html"
    assert server.request("/img/a").get("Cache-Control") == "no-cache"
    icon = server.request("/favicon.ico")
    assert (icon.body, icon.get("Content-Type")) == (b"icon.png", "image/png")
    assert server.request("/c").body == b"root" and server.request("/img/c").status == 404
    assert server.request("/img/..%2fsecret.txt").status == 404
    assert server.request("/img/new", "Content-Length: 1", method="PUT", body=b"x").status == 201
    assert os.listdir(other).count("new") == 1


# A password


def test_password_option_protects_everything(root, other, serve, passwords):
    write(root, "a", b"x")
    write(other, "b", b"x")
    server = serve("--auth", passwords, "--alias", f"/other/={other}", "--uploads", "-v")
    for target in ("/a", "/other/b", "//a", "/none", "/"):
        rejected = server.request(target)
        assert rejected.status == 401 and rejected.get("WWW-Authenticate").startswith(
            "Basic realm="), target
    assert server.request("/new", "Content-Length: 1", method="PUT", body=b"x").status == 401
    assert not os.path.exists(os.path.join(root, "new"))
    login = credentials("ann", "secret")
    assert [server.request(target, login).status
            for target in ("/a", "/other/b", "/none")] == [200, 200, 404]
    assert server.request("/a", credentials("ann", "Secret")).status == 401
    assert server.request("/new", login, "Content-Length: 1", method="PUT", body=b"x").status == 201
    assert subprocess.run(["curl", "-sS", "-u", "ann:secret", f"{server.url}a"],
                          capture_output=True, timeout=60, check=True).stdout == b"x"
    assert "GET /a" in server.log() and "secret" not in server.log()


# The same as a configuration file


def test_printed_configuration_serves_the_same(root, other, passwords, tmp_path):
    write(root, "a.pdf", b"pdf")
    write(other, "b", b"b")
    flags = [
        "--more-root", "other", "--alias", "/x/=other", "--listing", "--alias=/y=other/b",
        "--auth", passwords, "--download", "*.pdf", "--header", "*.pdf=X-A: b: c", "--header",
        "b=content-type: text/x-b", "--fallback", "a.pdf", "--prewarm", "a.pdf"
    ]
    done = run("uvhttp", "serve", "root", "-l", "127.0.0.1:0", *flags, "--print-config",
               cwd=os.path.dirname(root))
    path = tmp_path / "site.yaml"
    path.write_text(done.stdout)
    assert run("uvhttp", "run", path, "--print-config").stdout == done.stdout
    site = yaml.safe_load(done.stdout)["sites"][0]
    first, directory, file = site["routes"]
    assert site["basic_auth"] == {"file": str(passwords)}
    assert (first["static"], first["more_roots"], first["prewarm"]) == (root, [other], ["a.pdf"])
    assert (directory["path"], directory["static"]) == ("/x/", other)
    assert (file["path"], file["static"], file["file"]) == ("/y", other, "b")
    assert first["fallback"] == "a.pdf" and "fallback" not in file
    assert not {"more_roots", "prewarm", "fallback"} & set(directory)
    program = Program("uvhttp", "run", path)
    try:
        login = credentials("ann", "secret")
        responses = [program.request(target, login) for target in ("/a.pdf", "/b", "/x/b", "/y")]
        assert [response.body for response in responses
                ] == [b"pdf", b"b", b"b", b"b"] and program.request("/y").status == 401
        assert responses[0].get("X-A") == "b: c" and responses[0].get(
            "Content-Disposition").startswith("attachment")
        assert responses[3].get("Content-Type") == "text/x-b"
        assert program.request("/x", login).get("Location") == "/x/"
        listing = program.request("/?format=text", login).body
        assert listing == b"x/\na.pdf\ny\n"
    finally:
        assert program.stop() == 0


# Invalid options


@pytest.mark.parametrize("flags, message", [
    (["--header", "x"],
     "--header: 'x' is not a rule; the format is NAME: VALUE or PATTERN=NAME: VALUE"),
    (["--header", "x=y"], "--header: 'x=y' is not a rule; the format is NAME: VALUE or"),
    (["--header", "x=y: "], '--header: value is ""; must be a non-empty text'),
    (["--header", "x=ETag: y"], '--header: field is "ETag"; must be the name of a field'),
    (["--header", "[=a: b"], '--header: pattern is "["; must be a pattern such as'),
    (["--download", "["], '--download: pattern is "["; must be a pattern such as'),
    (["--download", ""], "--download: the value is empty; allowed is PATTERN, or omit"),
    (["--header", "a=b: c"] * 65, "--header: too many values; at most 64 are allowed"),
    (["--alias", "x/=."], "--alias: 'x/=.' is invalid; allowed are /PATH/=DIRECTORY and "
     "/PATH=FILE"),
    (["--alias", "/x/"], "--alias: '/x/' is invalid; allowed are /PATH/=DIRECTORY and /PATH=FILE"),
    (["--alias", "/x=."], "--alias: '.' is a directory, so the path must end with a slash: '/x/'"),
])
def test_invalid_flags(root, flags, message):
    done = run("uvhttp", "serve", root, *flags)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("uvhttp: " + message) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("path", ["/", "/*/"])
def test_alias_with_invalid_path(root, path):
    done = run("uvhttp", "serve", root, "-l", "127.0.0.1:0", "--alias", f"{path}=.", cwd=root)
    assert done.returncode == 2
    assert f"uvhttp: --alias: '{path}' is not a valid path for '{root}'" in done.stderr


@pytest.mark.parametrize(
    "flags, message",
    [(["--more-root", "nowhere"], "uvhttp: --more-root: the directory 'nowhere' does not exist\n"),
     (["--more-root", "file"], "uvhttp: --more-root: '{root}/file' is not a directory\n"),
     (["--alias", "/x/=nowhere"
       ], "uvhttp: --alias: 'nowhere' cannot be served: no such file or directory\n"),
     (["--auth", "nowhere"
       ], "uvhttp: --auth: 'nowhere' cannot be opened: no such file or directory\n"),
     (["--auth", "file"], "uvhttp: --auth: '{root}/file', line 1, is \"(not shown)\"; must be "
      "NAME:HASH"), ])
def test_start_errors(root, flags, message):
    write(root, "file", b"ann\n")
    done = run("uvhttp", "serve", root, "-l", "127.0.0.1:0", *flags, cwd=root)
    assert done.returncode == 1 and done.stdout == ""
    assert message.format(root=root) in done.stderr


# The start output

EVERYTHING = [
    "--hidden", "--index", "a.html b.html", "--rate-limit", "3M", "--error-pages", "404=/404.html",
    "--symlinks", "owner", "--cache-control", "*.css=max-age=60", "--type", "x=a/b", "--type",
    "y=a/b", "--fallback", "f.html", "--more-root", ".", "--header", "*=X-A: b", "--download",
    "*.pdf", "--prewarm", "f.html", "--compress", "--gzip-level", "9", "--watch", "--metrics",
    "--cors", "*"
]
ENABLED = [
    "index a.html b.html", "compress", "gzip-level 9", "watch", "prewarm f.html", "type (2)",
    "cache-control *.css=max-age=60", "download *.pdf", "header *=X-A: b", "rate-limit 3M",
    "fallback f.html", "error-pages 404=/404.html", "symlinks owner", "more-root .", "hidden",
    "metrics /metrics", "cors *"
]


def start_output(root, *flags, listen="127.0.0.1:0"):
    program = Program("uvhttp", "serve", root, "-l", listen, *flags, cwd=root)
    assert program.stop() == 0, program.log()
    lines = program.output.splitlines()
    assert lines[0] == program.line and len(lines) <= 2
    assert len(lines) == 1 or lines[1].startswith("uvhttp: enabled: ")
    return sorted(lines[1][len("uvhttp: enabled: "):].split(", ")) if len(lines) == 2 else []


def test_start_output_lists_enabled_options(root):
    for name in ("f.html", "404.html"):
        write(root, name, b"x")
    assert start_output(root, *EVERYTHING) == sorted(ENABLED)
    assert start_output(root) == start_output(root, "--no-listing", "--max-connections", "5") == []
    assert start_output(root, "--try-files", "{path}" + "x" * 50, "--index",
                        "") == ['index ""', "try-files"]
    assert start_output(root, "--default-type", "a/b", "--header",
                        "x\x1b*=A: b") == ["default-type a/b", "header x?*=A: b"]


OWN_NAME = f"unix:@uvhttp-told-{os.getpid()}"


@pytest.mark.parametrize("listen, permitted",
                         [(["127.0.0.1:0"], "this machine only"),
                          (["127.0.0.1:0", OWN_NAME], "this machine only"),
                          (["0.0.0.0:0"], "any client"),
                          (["0.0.0.0:0", OWN_NAME], "any client")])
def test_start_output_names_upload_permission(root, passwords, listen, permitted):
    flags = ["--uploads", *(f"-l{one}" for one in listen[1:])]
    assert start_output(root, *flags, listen=listen[0]) == [f"uploads from {permitted}"]
    assert "uploads with a password" in start_output(root, *flags, "--auth", passwords,
                                                     listen=listen[0])


def test_start_output_on_terminal(root):
    output = terminal_output(
        root, {
            "TERM": "dumb", "UVHTTP_UPLOADS": "on", "UVHTTP_HIDDEN": "on", "UVHTTP_INDEX": "a.html",
            "UVHTTP_RATE_LIMIT": "1500", "UVHTTP_SYMLINKS": "none"
        })
    assert ("Index: a.html. Directory listings: on. Hidden files: on.\n  Enabled: rate-limit "
            "1500, uploads "
            "from this machine only, symlinks none.\n") in output
