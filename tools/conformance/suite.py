"""Installs Autobahn|Testsuite from public registries into build/conformance, and runs its client
and server.

All releases of the suite need Python 2, which Debian 12 does not have. So PyPy for Python 2.7 comes
from Debian 11: apt downloads and verifies its packages, which are unpacked into the directory, not
installed. The suite and its dependencies come from PyPI, without changes. A stub replaces its
module for TLS, because only ws:// is tested, and OpenSSL for Python 2 would have to be compiled.
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/conformance"
PINNED = pathlib.Path(__file__).with_name("requirements.txt")
# Debian 11 will move to the archive.
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
    """A suite or a scanner could not be installed or run; the text is the reason."""


def run(command, codes=(0, ), **more):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode not in codes:
        raise Missing(f"{' '.join(words[:6])} ... ended with {done.returncode}:\n"
                      f"{done.stdout[-2000:]}")
    return done.stdout


def versions(pinned):
    """Returns {package: version} of a file for pip."""
    return dict(line.split("==") for line in pinned.read_text().split() if "==" in line)


def apt(directory, mirror, *command):
    """Runs apt with separate lists and state, so that the system's do not change."""
    (directory / "lists/partial").mkdir(parents=True, exist_ok=True)
    (directory / "status").touch()
    (directory / "sources").write_text(
        f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} bullseye main\n")
    options = {
        "Dir::Etc::sourcelist": directory / "sources", "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": directory, "Dir::State::lists": directory / "lists",
        "Dir::State::status": directory / "status", "Dir::Cache": directory / "cache",
        "Acquire::Languages": "none", "Acquire::Check-Valid-Until": "false",
        "APT::Sandbox::User": "root"
    }
    run(["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items()), *command],
        cwd=directory)


def fetch_python(directory):
    """Unpacks PyPy to `directory`/root."""
    reasons = []
    for mirror in MIRRORS:
        try:
            apt(directory, mirror, "update", "-oAPT::Update::Error-Mode=any")
            apt(directory, mirror, "download", *PACKAGES)
            break
        except Missing as reason:
            reasons.append(str(reason))
    else:
        raise Missing("\n".join(reasons))
    for package in sorted(directory.glob("*.deb")):
        run(["dpkg", "-x", package, directory / "root"])


class Suite:
    """The installed suite. UVHTTP_PYTHON2 may name an installed Python 2.7."""
    def __init__(self, directory=FOLDER):
        self.directory = directory
        self.site = directory / "site"
        self.environment = {**os.environ, "PYTHONNOUSERSITE": "1"}
        self.environment.pop("PYTHONPATH", None)
        self.python = os.environ.get("UVHTTP_PYTHON2")
        if not self.python:
            debian = directory / "debian11"
            self.python = debian / "root/usr/bin/pypy"
            if not self.python.exists():
                debian.mkdir(parents=True, exist_ok=True)
                print("fetching PyPy for Python 2.7 from Debian 11", file=sys.stderr, flush=True)
                fetch_python(debian)
            libraries = debian.glob("root/usr/lib/*-linux-gnu*")
            self.environment["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
        self.install()

    def install(self):
        done = self.directory / "installed"
        wanted = f"{self.python}\n{PINNED.read_text()}"
        if done.exists() and done.read_text() == wanted:
            return
        print("installing Autobahn|Testsuite from PyPI", file=sys.stderr, flush=True)
        shutil.rmtree(self.site, ignore_errors=True)
        newer = self.directory / "pip3"
        run([sys.executable, "-m", "venv", newer])
        # Debian's pip downloads the old pip, which installs the suite.
        run([newer / "bin/python", "-m", "pip", "download", "-q", "--no-deps",
             "--only-binary=:all:", "--python-version", "2.7", "-d", self.directory, PIP])
        pip = next(self.directory.glob("pip-20*.whl"))
        environment = {**self.environment, "PYTHONPATH": f"{self.site}:{pip}"}
        stages = PINNED.read_text().split("\n\n")
        for number, stage in enumerate(stages):
            listed = self.directory / f"stage{number}.txt"
            listed.write_text(stage)
            run([self.python, "-m", "pip", "install", "-q", "--no-python-version-warning",
                 "--no-compile", "--no-deps", "--no-build-isolation", "--upgrade", "--target",
                 self.site, "-r", listed], env=environment)
        (self.directory / "wstest.py").write_text(LAUNCHER.format(site=str(self.site)))
        done.write_text(wanted)

    def start(self, *arguments, log):
        """Starts wstest, with its output in the file `log`."""
        words = [self.python, self.directory / "wstest.py", *arguments]
        with open(log, "w") as output:
            return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=subprocess.STDOUT, env=self.environment,
                                    cwd=pathlib.Path(log).parent)

    def versions(self):
        pinned = versions(PINNED)
        name = run([self.python, "-c",
                    "import platform; print(platform.python_implementation() + ' for Python ' + "
                    "platform.python_version())"], env=self.environment)
        return {"suite": pinned["autobahntestsuite"], "library": pinned["autobahn"],
                "python": name.strip()}
