"""A contender: one of the servers that `./dev bench http` can measure, how it is got, and how it is started for speed.

Its families are family_own, family_debian and family_built; roster lists them all. One that cannot be got says why (Refused), and is
listed with that.
"""

import os
import pathlib
import re
import shutil
import subprocess

from . import Refused, tls

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "bench/peers"
SBIN = "/usr/sbin:/usr/local/sbin"


class Place:
    """Where everything is: programs of ours, the served files (`site`), a folder for what servers write, one to build the others in, and
    the cores and number of workers that each server gets."""

    def __init__(self, bin_folder, site, folder, build_folder, cores, workers):
        self.bin_folder, self.site, self.folder, self.build_folder = bin_folder, site, folder, build_folder
        self.cores, self.workers = cores, workers


class Contender:
    """`kinds`: the kinds of works it can do; `lacking`: why not, for those it cannot, where there is more to say than that. `packages`:
    what tools/setup.sh knows it by. `own`: one of ours, without which there is nothing to compare. `tls`: whether it is measured over HTTPS."""

    name = title = configuration = ""
    packages, own, several_workers, tls = None, False, True, False
    kinds, lacking = frozenset(), {}

    def __init__(self):
        self.version, self.reason = None, None

    def prepare(self, place):
        """Installs or builds it and sets `version`."""
        raise NotImplementedError

    def start(self, place, work):
        """A running Server."""
        raise NotImplementedError

    @staticmethod
    def with_tls(running, place, work):
        """The Server, which is talked to as the work wants it."""
        if work.tls:
            running.tls = tls.context(tls.certificate(place.folder))
        return running

    def workers(self, place):
        return place.workers if self.several_workers else 1

    def lacks(self, work):
        """Why it cannot do a work, or None."""
        if work.tls and not self.tls:
            return f"{self.title} is not measured over HTTPS"
        return None if work.kind in self.kinds else self.lacking.get(work.kind, f"not supported by {self.title}")


def one_line(text, size=400):
    words = " ".join(text.split())
    return words if len(words) <= size else "... " + words[-size:]


def install(packages):
    """Has the distribution's packages installed; Refused when that is impossible."""
    done = subprocess.run(["sh", str(ROOT / "tools/setup.sh"), packages], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          cwd=ROOT)
    if done.returncode != 0:
        raise Refused(one_line(done.stderr or done.stdout))


def find(program):
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SBIN}")
    if path is None:
        raise Refused(f"the program {program} is missing")
    return path


def ask(command, pattern, **more):
    """What `pattern` finds in the output of a command."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    found = re.search(pattern, done.stdout + done.stderr)
    return found[1] if found else "version unknown"


def build(command, **more):
    """Runs a compiler."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    except OSError as error:
        raise Refused(f"{command[0]} does not run: {error}") from error
    if done.returncode != 0:
        raise Refused(f"{pathlib.Path(str(command[0])).name} failed: {one_line(done.stderr or done.stdout)}")
    return done.stdout


def newest(program, *arguments):
    """(path, version) of the newest of the programs of that name in the path: a toolchain from elsewhere is often newer than the
    distribution's."""
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
