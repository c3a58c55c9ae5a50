"""docs/coming-from.md: its commands start, its keys are accepted, and its site works."""

import re
import shlex
import shutil
import subprocess

import pytest
import yaml

import pages
import tls
from program import run
from test_config_file import get, start, write  # noqa: F401 (fixtures)
from wire_server import built

PAGE = pages.ROOT / "docs/coming-from.md"
# The level of keys that the page does not show within a map
OF_SITE = {"access_log", "hosts", "rewrites"}
OF_TOP = {"listen", "trusted_proxies", "tls", "metrics", "user", "include", "proxy_protocol"}
OF_TLS = {"redirect_http", "profile"}
OF_SERVER = {"workers", "http2", "http2_max_streams"}


def rows(title):
    """The cells of the first table of a section, without its head."""
    section = PAGE.read_text().split(f"\n## {title}\n")[1].split("\n\n")
    table = next(part for part in section if part.strip().startswith("|")).strip()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in table.splitlines()[2:]]


def snippets(cell):
    return re.findall(r"`([^`]+)`", cell)


COMMANDS = [command for *_, ours in rows("A directory, with options")
            for command in snippets(ours) if command.startswith("uvhttp ")]


@pytest.fixture
def site(tmp_path, write):
    directory = tmp_path / "site"
    certificate = tls.certificate()
    shutil.copy(certificate.with_name("certificate.pem"), tmp_path / "site.pem")
    shutil.copy(certificate.with_name("key.pem"), tmp_path / "site.key")
    for name in ("404.html", "index.htm"):
        (directory / name).write_text(name)
    done = subprocess.run([built("uvhttp"), "hash-password", "--bcrypt", "ann"], input="secret\n",
                          text=True, capture_output=True, check=True, timeout=60)
    (tmp_path / "staff").write_text(done.stdout)
    (tmp_path / "site.yaml").write_text("sites: [{routes: [{path: /, static: site}]}]\n")
    return tmp_path


@pytest.mark.parametrize("command", [one for one in COMMANDS if "hash-password" not in one])
def test_command_of_page_is_accepted(site, command):
    words = shlex.split(command)[1:]
    if words[0] not in ("check", "run"):
        words += ["--print-config"]
    elif words[0] == "run" and "--print-config" not in words:
        words += ["--test"]
    done = run("uvhttp", *words, cwd=site)
    assert done.returncode == 0, done.stderr


def test_page_has_commands():
    assert len(COMMANDS) >= 20 and "uvhttp hash-password" in COMMANDS


def place(keys):
    """The configuration in which keys of the table have an effect."""
    route = {"path": "/", "static": "site"}
    site = {"routes": [route]}
    top = {"sites": [site]}
    for key, value in keys.items():
        if key in OF_TOP:
            top[key] = value
        elif key in OF_TLS:
            top["tls"] = {"self_signed": True, key: value}
        elif key in OF_SITE:
            site[key] = value
        elif key in OF_SERVER:
            top["server"] = {key: value}
        elif key in ("redirect", "respond"):
            route.pop("static")
            route[key] = value
        else:
            route[key] = value
    if "upload_max_size" in keys:
        route["uploads"] = True
    if "redirect" in keys:
        route["path"] = "/old"
    return top


@pytest.mark.parametrize("cells", rows("A configuration"), ids=lambda cells: cells[0])
def test_key_of_page_is_accepted(site, cells):
    keys = {}
    for snippet in snippets(cells[-1]):
        if ": " in snippet:
            keys.update(yaml.load(snippet, yaml.BaseLoader))  # "off" stays a text
    assert keys, cells
    for name in ("a.pem", "a.key"):
        shutil.copy(site / name.replace("a.", "site."), site / name)
    text = yaml.dump(place(keys)).replace("/srv/site", "site").replace("/srv/img", "site")
    text = text.replace("/var/log/a.log", "a.log").replace("user: www", "user: root")
    path = site / "key.yaml"
    path.write_text(text)
    done = run("uvhttp", "run", "--print-config", path)
    assert done.returncode == 0, text + done.stderr
    assert all(re.search(rf"^[- ]*{key}:", done.stdout, re.M) for key in keys
               if key != "include"), done.stdout


def test_site_of_page_works(site, start, write):
    text, = pages.code(PAGE, "yaml")
    program = start(write(text.replace("[80, unix:site.sock]", "[127.0.0.1:0, unix:site.sock]")))
    www = lambda target: get(program, target, host="www.example.test")  # noqa: E731
    assert www("/").status_code == 200 and www("/none").text == "404.html"
    moved = www("/old/a?b")
    assert (moved.status_code, moved.headers["location"]) == (301, "/new/a?b")
    assert www("/health").text == "ok\n"
    assert "immutable" in www("/assets/style.css").headers["cache-control"]
    moved = get(program, "/a?b", host="example.test")
    assert (moved.status_code, moved.headers["location"]) == (
        308, "http://www.example.test/a?b")
    assert program.stop() == 0
    log = (site / "access.log").read_text()
    assert log.count("GET /old") == 1 and "/health" not in log


def test_placeholders_of_page_are_suggested(write):
    table = PAGE.read_text().split("| placeholder |\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(table) == 8
    for line in table:
        foreign, _, ours = [snippets(cell) for cell in line.split("|")[1:-1]]
        path = write(f"sites: [{{routes: [{{path: /*, respond: {{body: '{foreign[0]}'}}}}]}}]\n")
        done = run("uvhttp", "check", path)
        assert f"the placeholder is {ours[0]}" in done.stderr, done.stderr
