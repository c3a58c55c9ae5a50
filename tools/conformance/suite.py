"""Autobahn|Testsuite, from public registries into build/conformance: where it comes from, and how
its two halves are run.

The suite is written in Python 2, all of its releases are, and Debian 12 has none. So PyPy for
Python 2.7 comes from Debian 11, whose packages are fetched and checked by apt and unpacked into the
folder, not installed; the suite and what it needs come from PyPI. Nothing of it is changed. Its
module for TLS has a stand-in, since OpenSSL for Python 2 would have to be compiled and only ws://
is asked for.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/conformance"
PINNED = pathlib.Path(__file__).with_name("requirements.txt")
# Debian 11 moves to the archive one day.
MIRRORS = ("http://deb.debian.org/debian", "http://archive.debian.org/debian")
PACKAGES = ("pypy", "pypy-lib", "pypy-dev", "libffi7", "libssl1.1")
# The last pip for Python 2.
PIP = "pip==20.3.4"

LAUNCHER = """import site, sys, types
site.addsitedir({site!r})
tls = types.ModuleType("ssl")
tls.ClientContextFactory = object
import twisted.internet
sys.modules["twisted.internet.ssl"] = twisted.internet.ssl = tls
from autobahntestsuite import wstest
wstest.run()
"""


class Missing(Exception):
    """The suite could not be installed; the text says what failed."""


def run(command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise Missing(
            f"{' '.join(str(word) for word in command[:6])} ... failed:\n{done.stdout[-2000:]}")
    return done.stdout


def apt(folder, mirror, *command):
    """apt with lists and state of its own, so that the system's stay as they are."""
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    (folder / "sources").write_text(
        f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} bullseye main\n")
    options = {
        "Dir::Etc::sourcelist": folder / "sources", "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": folder, "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none", "Acquire::Check-Valid-Until": "false",
        "APT::Sandbox::User": "root"
    }
    run(["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items()), *command],
        cwd=folder)


def fetch_python(folder):
    """PyPy below `folder`/root."""
    reasons = []
    for mirror in MIRRORS:
        try:
            apt(folder, mirror, "update", "-oAPT::Update::Error-Mode=any")
            apt(folder, mirror, "download", *PACKAGES)
            break
        except Missing as reason:
            reasons.append(str(reason))
    else:
        raise Missing("\n".join(reasons))
    for package in sorted(folder.glob("*.deb")):
        run(["dpkg", "-x", package, folder / "root"])


class Suite:
    """The installed suite. UVHTTP_PYTHON2 may name a Python 2.7 that is there already."""
    def __init__(self, folder=FOLDER):
        self.folder = folder
        self.site = folder / "site"
        self.environment = {**os.environ, "PYTHONNOUSERSITE": "1"}
        self.environment.pop("PYTHONPATH", None)
        self.python = os.environ.get("UVHTTP_PYTHON2")
        if not self.python:
            place = folder / "debian11"
            self.python = place / "root/usr/bin/pypy"
            libraries = [str(path) for path in place.glob("root/usr/lib/*-linux-gnu*")]
            if not libraries:
                place.mkdir(parents=True, exist_ok=True)
                print("fetching PyPy for Python 2.7 from Debian 11", file=sys.stderr, flush=True)
                fetch_python(place)
                libraries = [str(path) for path in place.glob("root/usr/lib/*-linux-gnu*")]
            self.environment["LD_LIBRARY_PATH"] = ":".join(libraries)
        self.install()
        self.versions = self.read_versions()

    def install(self):
        done = self.folder / "installed"
        wanted = f"{self.python}\n{PINNED.read_text()}"
        if done.exists() and done.read_text() == wanted:
            return
        print("installing Autobahn|Testsuite from PyPI", file=sys.stderr, flush=True)
        shutil.rmtree(self.site, ignore_errors=True)
        newer = self.folder / "pip3"
        run([sys.executable, "-m", "venv", newer])
        # Debian's pip fetches the old one, which fetches the rest.
        run([
            newer / "bin/python", "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:",
            "--python-version", "2.7", "-d", self.folder, PIP
        ])
        pip = next(self.folder.glob("pip-20*.whl"))
        environment = {**self.environment, "PYTHONPATH": f"{self.site}:{pip}"}
        stages = PINNED.read_text().split("\n\n")
        for number, stage in enumerate(stages):
            listed = self.folder / f"stage{number}.txt"
            listed.write_text(stage)
            run([
                self.python, "-m", "pip", "install", "-q", "--no-python-version-warning",
                "--no-compile", "--no-deps", "--no-build-isolation", "--upgrade", "--target",
                self.site, "-r", listed
            ], env=environment)
        (self.folder / "wstest.py").write_text(LAUNCHER.format(site=str(self.site)))
        done.write_text(wanted)

    def command(self, *arguments):
        return [str(self.python), str(self.folder / "wstest.py"), *map(str, arguments)]

    def start(self, *arguments, log):
        """wstest as a process; what it says goes to `log`."""
        with open(log, "w") as output:
            return subprocess.Popen(self.command(*arguments), stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=subprocess.STDOUT, env=self.environment,
                                    cwd=pathlib.Path(log).parent)

    def read_versions(self):
        told = run(self.command("--autobahnversion"), env=self.environment)
        suite = re.search(r"AutobahnTestSuite (\S+)", told)[1]
        library = re.search(r"Autobahn (\S+)", told)[1]
        name = run([
            self.python, "-c",
            "import platform; print(platform.python_implementation() + ' for Python ' + "
            "platform.python_version())"
        ], env=self.environment)
        return {"suite": suite, "library": library, "python": name.strip()}
