"""The set-up of `./dev` with a simulated system: the packages it requests, and when it prints
nothing."""

import os
import pathlib
import re
import stat
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVE = """gcc libc6-dev cmake ninja-build pkg-config libuv1-dev libxxhash-dev libssl-dev
libcrypt-dev libmimalloc-dev libbrotli-dev libzstd-dev zlib1g-dev libmd4c-dev
libseccomp-dev libyaml-dev""".split()


class System:
    """A machine with the given packages installed. The arguments of apt-get are written to the file
    `asked`."""
    def __init__(self, directory, installed, user="1000", sudo=False, apt="exit 0"):
        self.directory = directory
        self.requests = directory / "asked"
        self.requests.write_text("")
        words = " ".join(f"'ii ={name} '" for name in installed)
        self.add("dpkg-query", f"printf '%s' {words}; exit 1")
        self.add("id", f"echo {user}")
        self.add("apt-get", f'echo "$@" >>"{self.requests}"; {apt}')
        if sudo:
            self.add("sudo", 'shift; exec "$@"')
        else:
            self.add("sudo", "exit 1")
        self.add("env", 'shift; exec "$@"')

    def add(self, name, body):
        path = self.directory / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def setup(self, command):
        # In its own directory, which gets the log.
        return subprocess.run(["/bin/sh", ROOT / "tools/setup.sh", command], cwd=self.directory,
                              text=True, capture_output=True,
                              env={"PATH": f"{self.directory}:{os.environ['PATH']}"})


def test_complete_system_prints_nothing(tmp_path):
    system = System(tmp_path, SERVE)
    result = system.setup("serve")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert system.requests.read_text() == ""


def test_without_root_the_command_is_printed(tmp_path):
    system = System(tmp_path, [name for name in SERVE if name not in ("cmake", "libuv1-dev")])
    result = system.setup("serve")
    assert result.returncode == 1
    assert "    apt-get install --no-install-recommends cmake libuv1-dev\n" in result.stderr
    assert system.requests.read_text() == ""


@pytest.mark.parametrize("user, sudo", [("0", False), ("1000", True)])
def test_only_missing_packages_are_installed(tmp_path, user, sudo):
    system = System(tmp_path, SERVE[:-1], user, sudo)
    result = system.setup("serve")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "Installing: libyaml-dev\n"
    assert system.requests.read_text(
    ) == "install -y -q --no-remove --no-install-recommends libyaml-dev\n"


def test_documents_need_no_compiler(tmp_path):
    result = System(tmp_path, ["python3"]).setup("docs")
    assert result.returncode == 1
    command = "    apt-get install --no-install-recommends doxygen mandoc python3-venv\n"
    assert command in result.stderr


@pytest.mark.parametrize("peer, packages", [("nginx", "nginx-light"), ("h2o", "h2o"),
                                            ("libmicrohttpd", "libmicrohttpd-dev")])
def test_peer_servers_are_requested_separately(tmp_path, peer, packages):
    system = System(tmp_path, [*SERVE, "python3"])
    result = system.setup(f"peer-{peer}")
    assert result.returncode == 1
    assert f"    apt-get install --no-install-recommends {packages}\n" in result.stderr


def test_npm_of_other_origin_is_accepted(tmp_path):
    system = System(tmp_path, SERVE)
    system.add("npm", "exit 0")
    result = system.setup("test")
    assert result.returncode == 1
    assert " python3-websockets " in result.stderr and " npm" not in result.stderr


def test_conformance_suite_requires_venv(tmp_path):
    result = System(
        tmp_path,
        [*SERVE, "libcmocka-dev", "python3", "python3-websockets", "debian-archive-keyring"
         ]).setup("conformance")
    assert result.returncode == 1
    assert "    apt-get install --no-install-recommends python3-venv\n" in result.stderr


@pytest.mark.parametrize("peer, program", [("go", "go"), ("rust", "cargo")])
def test_language_of_other_origin_is_accepted(tmp_path, peer, program):
    system = System(tmp_path, SERVE)
    system.add(program, "exit 0")
    result = system.setup(f"peer-{peer}")
    assert (result.returncode, result.stderr) == (0, "")


def test_outdated_package_lists_are_updated(tmp_path):
    apt = 'if [ "$1" = update ]; then touch updated; fi; [ -e updated ] || exit 100'
    system = System(tmp_path, SERVE[:-1], "0", apt=apt)
    result = system.setup("serve")
    assert result.returncode == 0, result.stderr
    assert [line.split()[0] for line in system.requests.read_text().splitlines()
            ] == ["install", "update", "install"]


def test_failed_installation_is_reported(tmp_path):
    system = System(tmp_path, SERVE[:-1], "0", apt="echo E: no such package; exit 100")
    result = system.setup("serve")
    assert result.returncode == 1
    assert "E: no such package" in result.stderr and "could not be installed" in result.stderr


def test_dev_lists_its_commands():
    listed = subprocess.run(["./dev"], cwd=ROOT, capture_output=True, text=True)
    assert listed.returncode == 0
    commands = re.findall(r"^(\w+)\)$", (ROOT / "dev").read_text(), re.M)
    assert {"serve", "test", "check", "bench", "fuzz", "fmt"} <= set(commands)
    for command in commands:
        assert re.search(rf"^  {command}\b", listed.stdout, re.M), command


def test_dev_rejects_unknown_command():
    result = subprocess.run(["./dev", "sevre"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 2
    assert "'sevre'" in result.stderr
