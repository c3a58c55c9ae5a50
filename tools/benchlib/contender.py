"""A contender: one of the servers to measure, with its installation, build and start.

One that is not available has a `reason`, which is printed with the results.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import types

from . import Refused, servers, tls
from .command import ROOT, log

SOURCES = ROOT / "bench/peers"
SBIN = "/usr/sbin:/usr/local/sbin"
# Since this version cargo requests single crates of its registry. Older ones copy the whole index.
SPARSE_SINCE = (1, 68)


def make_workspace(options, directory, cores):
    """Paths: our programs, served files, a directory for logs, one for builds of peers; and
    cores."""
    return types.SimpleNamespace(
        bin_dir=options.bin_dir, site=directory / "site", directory=directory, cores=cores,
        peers_dir=(options.build_dir / "peers").resolve())


class Contender:
    """`kinds`: supported kinds of works. `packages`: its name in tools/setup.sh. `own`: one of our
    servers, without which the command fails. `paths` and `files`: see Server."""

    name = title = configuration = ""
    packages, own, tls = None, False, False
    kinds, paths, files = frozenset(), {}, None

    def __init__(self):
        self.version, self.reason, self.program = None, None, None

    def prepare(self, workspace):
        """Builds or finds its program. Sets `version` and `program`."""
        raise NotImplementedError

    def command(self, workspace, work, port):
        """Returns the command line. `port` is None for a server that prints its port."""
        raise NotImplementedError

    def environment(self, workspace):
        return {}

    def port(self, work):
        return None

    def start(self, workspace, work):
        port = self.port(work)
        running = servers.Server(self.name, self.command(workspace, work, port), workspace.cores,
                                 workspace.directory, port, self.environment(workspace))
        running.paths, running.files = self.paths, self.files
        try:
            self.check_started(running)
        except Refused:
            running.stop()
            raise
        if work.tls:
            running.tls = tls.context(tls.certificate(workspace.directory))
        return running

    def check_started(self, running):
        pass

    def reason_unsupported(self, work):
        """Returns why it does not support a work, or None."""
        if work.tls and not self.tls:
            return f"{self.title} is not measured over HTTPS"
        return None if work.kind in self.kinds else f"{self.title} has no '{work.kind}'"

    def build_directory(self, workspace, name=None):
        directory = workspace.peers_dir / (name or self.name)
        directory.mkdir(parents=True, exist_ok=True)
        return directory


def choose(all_contenders, names):
    """Creates the contenders with these names, in the order of the list; "all" selects all."""
    return [one() for one in all_contenders if "all" in names or one.name in names]


def add_peers_option(parser, all_contenders, usual):
    names = [one.name for one in all_contenders]
    parser.add_argument("--peers", nargs="+", metavar="NAME", choices=["all", *names],
                        default=usual, help=f"all, or of these: {', '.join(names)} "
                                            f"(default: {' '.join(usual)})")


def prepare(contenders, workspace):
    """Prepares each contender, or sets its `reason`. Raises Refused for one of our servers."""
    for contender in contenders:
        log(f"Preparing {contender.title}")
        try:
            if contender.packages:
                install(contender.packages)
            contender.prepare(workspace)
        except Refused as error:
            if contender.own:
                raise
            contender.reason = str(error)
            log(f"{contender.title} is not available: {contender.reason}")


def one_line(text, size=400):
    words = " ".join(text.split())
    return words if len(words) <= size else "... " + words[-size:]


def install(packages):
    """Installs packages of the distribution. Raises Refused if that fails."""
    build(["sh", ROOT / "tools/setup.sh", packages], cwd=ROOT)


def find(program):
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SBIN}")
    if path is None:
        raise Refused(f"the program {program} is missing")
    return path


def find_in_output(command, pattern):
    """Returns the group of `pattern` in the output of a command."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = re.search(pattern, done.stdout + done.stderr)
    return found[1] if found else "version unknown"


def build(command, **more):
    """Runs a compiler or an installer."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, **more)
    except OSError as error:
        raise Refused(f"{command[0]} does not run: {error}") from error
    if done.returncode != 0:
        name = pathlib.Path(str(command[0])).name
        raise Refused(f"{name} failed: {one_line(done.stderr or done.stdout)}")
    return done.stdout


def newest(program, *arguments):
    """Returns (path, version) of the newest program of that name in PATH, because another one is
    often newer than the distribution's."""
    found = []
    for directory in dict.fromkeys(os.environ.get("PATH", "").split(":")):
        path = pathlib.Path(directory) / program
        if directory and os.access(path, os.X_OK) and path.is_file():
            version = find_in_output([path, *arguments], r"(\d+\.\d+(?:\.\d+)?)")
            if version[0].isdigit():
                found.append(([int(part) for part in version.split(".")], str(path), version))
    if not found:
        raise Refused(f"{program} is missing")
    return max(found)[1:]


def build_c(source, library, output, *more):
    """Builds a C program with a library known to pkg-config. Returns the version of the library."""
    version = build([find("pkg-config"), "--modversion", library]).strip().rstrip("-")
    flags = shlex.split(build([find("pkg-config"), "--cflags", "--libs", library]))
    build([find("cc"), "-O2", "-D_GNU_SOURCE", "-o", output, SOURCES / "c" / source, *more, *flags])
    return version


def build_go(directory, output, package="."):
    """Builds a Go program. Returns the version of Go."""
    compiler, version = newest("go", "version")
    build([compiler, "build", "-buildvcs=false", "-o", output, package], cwd=SOURCES / directory,
          env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"})
    return version


def build_rust(directory, target, *arguments, **flags):
    """Builds a crate without the caller's compiler flags. Returns the compiler and its version."""
    cargo, version = newest("cargo", "--version")
    old = tuple(int(part) for part in version.split(".")[:2]) < SPARSE_SINCE
    sparse = (["-Z", "sparse-registry"], {"RUSTC_BOOTSTRAP": "1"}) if old else ([], {})
    clean = {key: value for key, value in os.environ.items()
             if not re.match(r"(HOST_|TARGET_)?(CFLAGS|CC)\b|RUSTFLAGS", key)}
    build([cargo, *sparse[0], "build", "--release", "--locked", *arguments,
           "--manifest-path", SOURCES / directory / "Cargo.toml"],
          env={**clean, **sparse[1], **flags, "CARGO_TARGET_DIR": str(target),
               "RUSTC": str(pathlib.Path(cargo).with_name("rustc"))})
    return f"rustc {version}"


def crate_version(directory, crate):
    lock = (SOURCES / directory / "Cargo.lock").read_text()
    return re.search(rf'name = "{crate}"\nversion = "(.*)"', lock)[1]
