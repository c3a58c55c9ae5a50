"""A contender: one of the servers that is measured, how it is got, and how it is started.

One that cannot be got says why (`reason`), and is listed with that.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import types

from . import Refused, servers, tls
from .command import ROOT, say

SOURCES = ROOT / "bench/peers"
SBIN = "/usr/sbin:/usr/local/sbin"
# From this version on cargo asks its registry for single crates; before, it copies the whole index.
SPARSE_SINCE = (1, 68)


def place(options, folder, cores):
    """Where everything is: programs of ours, served files, a folder for logs, one for builds."""
    return types.SimpleNamespace(
        bin_folder=options.bin_folder, site=folder / "site", folder=folder, cores=cores,
        build_folder=(options.build_dir / "peers").resolve())


class Contender:
    """`kinds`: the kinds of works it can do. `packages`: its name for tools/setup.sh. `own`: one
    of ours, without which there is nothing to compare. `paths` and `files`: see Server."""

    name = title = configuration = ""
    packages, own, tls = None, False, False
    kinds, paths, files = frozenset(), {}, None

    def __init__(self):
        self.version, self.reason, self.program = None, None, None

    def prepare(self, place):
        """Installs or builds it, and sets `version` and `program`."""
        raise NotImplementedError

    def command(self, place, work, port):
        """The command line; `port` is None for a server that says where it listens."""
        raise NotImplementedError

    def environment(self, place):
        return {}

    def port(self, work):
        return None

    def start(self, place, work):
        port = self.port(work)
        running = servers.Server(self.name, self.command(place, work, port), place.cores,
                                 place.folder, port, self.environment(place))
        running.paths, running.files = self.paths, self.files
        try:
            self.check_started(running)
        except Refused:
            running.stop()
            raise
        if work.tls:
            running.tls = tls.context(tls.certificate(place.folder))
        return running

    def check_started(self, running):
        pass

    def lacks(self, work):
        """Why it cannot do a work, or None."""
        if work.tls and not self.tls:
            return f"{self.title} is not measured over HTTPS"
        return None if work.kind in self.kinds else f"{self.title} has no '{work.kind}'"

    def folder(self, place, name=None):
        folder = place.build_folder / (name or self.name)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def choose(all_contenders, names):
    """New contenders of these names, in the order of the list; "all" is all of them."""
    return [one() for one in all_contenders if "all" in names or one.name in names]


def add_peers_option(parser, all_contenders, usual):
    names = [one.name for one in all_contenders]
    parser.add_argument("--peers", nargs="+", metavar="NAME", choices=["all", *names],
                        default=usual, help=f"all, or of these: {', '.join(names)} "
                                            f"(default: {' '.join(usual)})")


def prepare(contenders, place):
    """Gets each of them ready, or sets its `reason`. Refused for one of ours."""
    for contender in contenders:
        say(f"Preparing {contender.title}")
        try:
            if contender.packages:
                install(contender.packages)
            contender.prepare(place)
        except Refused as error:
            if contender.own:
                raise
            contender.reason = str(error)
            say(f"{contender.title} is not available: {contender.reason}")


def one_line(text, size=400):
    words = " ".join(text.split())
    return words if len(words) <= size else "... " + words[-size:]


def install(packages):
    """Has the distribution's packages installed; Refused when that is impossible."""
    build(["sh", ROOT / "tools/setup.sh", packages], cwd=ROOT)


def find(program):
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SBIN}")
    if path is None:
        raise Refused(f"the program {program} is missing")
    return path


def ask(command, pattern):
    """What `pattern` finds in the output of a command."""
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
    """(path, version) of the newest of that name in the path: one from elsewhere is often newer
    than the distribution's."""
    found = []
    for folder in dict.fromkeys(os.environ.get("PATH", "").split(":")):
        path = pathlib.Path(folder) / program
        if folder and os.access(path, os.X_OK) and path.is_file():
            version = ask([path, *arguments], r"(\d+\.\d+(?:\.\d+)?)")
            if version[0].isdigit():
                found.append(([int(part) for part in version.split(".")], str(path), version))
    if not found:
        raise Refused(f"{program} is missing")
    return max(found)[1:]


def build_c(source, library, output, *more):
    """Builds a C program with a library of pkg-config's; returns the library's version."""
    version = build([find("pkg-config"), "--modversion", library]).strip().rstrip("-")
    flags = shlex.split(build([find("pkg-config"), "--cflags", "--libs", library]))
    build([find("cc"), "-O2", "-D_GNU_SOURCE", "-o", output, SOURCES / "c" / source, *more, *flags])
    return version


def build_go(folder, output, package="."):
    """Returns the version of Go."""
    compiler, version = newest("go", "version")
    build([compiler, "build", "-buildvcs=false", "-o", output, package], cwd=SOURCES / folder,
          env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"})
    return version


def build_rust(folder, target, *arguments, **flags):
    """Builds a crate without the caller's flags; returns what did it."""
    cargo, version = newest("cargo", "--version")
    old = tuple(int(part) for part in version.split(".")[:2]) < SPARSE_SINCE
    sparse = (["-Z", "sparse-registry"], {"RUSTC_BOOTSTRAP": "1"}) if old else ([], {})
    clean = {key: value for key, value in os.environ.items()
             if not re.match(r"(HOST_|TARGET_)?(CFLAGS|CC)\b|RUSTFLAGS", key)}
    build([cargo, *sparse[0], "build", "--release", "--locked", *arguments,
           "--manifest-path", SOURCES / folder / "Cargo.toml"],
          env={**clean, **sparse[1], **flags, "CARGO_TARGET_DIR": str(target),
               "RUSTC": str(pathlib.Path(cargo).with_name("rustc"))})
    return f"rustc {version}"


def crate_version(folder, crate):
    lock = (SOURCES / folder / "Cargo.lock").read_text()
    return re.search(rf'name = "{crate}"\nversion = "(.*)"', lock)[1]
