"""Builds the parsers that ours is compared with (bench/peers/parser), as shared libraries in the build folder.

One library per level of the compilers, since picohttpparser and httparse come as source: `native`, the most this
processor allows, and the crates' own flags (label ""). http-parser is the distribution's library and is measured once.
"""

import os
import pathlib
import re
import shutil
import subprocess

from . import Refused

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "bench/peers/parser"
# label: (flags for the C compiler, flags for rustc, arguments for cargo)
LEVELS = {
    "native": ("-O3 -march=native", "-C target-cpu=native", ["--no-default-features"]),
    "": (None, None, []),
}
# From this version on cargo asks its registry for single crates; before, it copies the whole index from a git server.
SPARSE_SINCE = (1, 68)
BEFORE_SPARSE = (["-Z", "sparse-registry"], {"RUSTC_BOOTSTRAP": "1"})


def find_cargo():
    path = shutil.which("cargo")
    if path is None:
        raise Refused("cargo is missing; install it with: apt-get install cargo (or measure with --no-peers)")
    return path


def version_of(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    return done.stdout.split("\n")[0].strip()


def package_version(name):
    if shutil.which("dpkg-query") is None:
        return "version unknown"
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}", name], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else "version unknown"


def fetch(cargo):
    """Has cargo fetch the crates; returns the (options, environment) that worked."""
    found = re.search(r"(\d+)\.(\d+)", version_of(cargo))
    ways = [([], {})]
    if found and (int(found[1]), int(found[2])) < SPARSE_SINCE:
        ways.insert(0, BEFORE_SPARSE)
    for options, environment in ways:
        command = [cargo, *options, "fetch", "--locked", "--manifest-path", str(SOURCE / "Cargo.toml")]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
        if done.returncode == 0:
            return options, environment
    raise Refused(f"the crates of {SOURCE} cannot be fetched (measure with --no-peers?): {done.stderr.strip()[-2000:]}")


def compile_line(target):
    """How picohttpparser was really compiled: what its build script printed, without paths."""
    for output in target.glob("release/build/picohttpparser-sys-*/output"):
        found = re.search(r'^running: (".*picohttpparser\.c")$', output.read_text(), re.M)
        if found:
            words = re.findall(r'"([^"]*)"', found[1])
            return " ".join(pathlib.Path(word).name if word == words[0] else word for word in words[:words.index("-o")])
    return "unknown"


def build_level(cargo, way, label, folder, compiler):
    options, environment = way
    c_flags, rust_flags, arguments = LEVELS[label]
    target = pathlib.Path(folder).resolve() / (label or "plain")
    # Flags of the caller's would make other levels of these.
    clean = {key: value for key, value in os.environ.items() if not re.match(r"(HOST_|TARGET_)?(CFLAGS|CC)\b|RUSTFLAGS|CARGO_", key)}
    if "CARGO_HOME" in os.environ:
        clean["CARGO_HOME"] = os.environ["CARGO_HOME"]
    flags = {"CFLAGS": c_flags, "RUSTFLAGS": rust_flags}
    command = [cargo, *options, "build", "--release", "--locked", "--offline", *arguments,
               "--manifest-path", str(SOURCE / "Cargo.toml")]
    done = subprocess.run(command, capture_output=True, text=True, env={
        **clean, **environment, **{key: value for key, value in flags.items() if value},
        "CC": compiler, "CARGO_TARGET_DIR": str(target)})
    if done.returncode != 0:
        raise Refused(f"the parsers to compare with cannot be built: {done.stderr.strip()[-2000:]}")
    return target


def build(folder, compiler):
    """Builds all levels below `folder`: ({label: library}, what was built how)."""
    cargo = find_cargo()
    way = fetch(cargo)
    libraries, built = {}, {"cargo": version_of(cargo), "rustc": version_of("rustc")}
    for label, (_, rust_flags, _) in LEVELS.items():
        target = build_level(cargo, way, label, folder, compiler)
        libraries[label] = target / "release/libparser_peers.so"
        built[f"picohttpparser {label}".strip()] = compile_line(target)
        built[f"httparse {label}".strip()] = f"rustc opt-level 3 {rust_flags or '(instruction set chosen when it runs)'}"
    built["http-parser"] = f"as the distribution built it: {package_version('libhttp-parser2.9')}"
    return libraries, built
