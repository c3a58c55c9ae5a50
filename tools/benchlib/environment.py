"""The environment of a measurement, which is printed with its figures."""

import datetime
import os
import pathlib
import platform
import re
import subprocess

from .command import ROOT


def find_in_file(path, pattern, otherwise):
    file = pathlib.Path(path)
    match = re.search(pattern, file.read_text(), re.M) if file.exists() else None
    return match[1].strip() if match else otherwise


def git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit():
    changed = git("status", "--porcelain", "--untracked-files=no")
    return (git("rev-parse", "HEAD") or "unknown") + (" with changes" if changed else "")


def describe(options, build, **more):
    """`build`: the build of uvhttp. `more`: entries of one command."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": commit(), "command": options.command,
        "uvhttp": build, **more,
        "kernel": platform.release(),
        "system": find_in_file("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)', platform.system()),
        "tcp": find_in_file("/proc/sys/net/ipv4/tcp_congestion_control", r"(.*)", "unknown"),
        "cpu": find_in_file("/proc/cpuinfo", r"^(?:model name|Model)\s*:(.*)", platform.machine()),
        "cores": os.cpu_count(),
        # Of the last minute before the first run. Well above 0, the machine was in use.
        "load_before": round(os.getloadavg()[0], 2),
    }


def show(block):
    """Prints the environment as lines of text."""
    for key, value in block.items():
        for name, line in value.items() if isinstance(value, dict) else [("", value)]:
            print(f"{key}{name and ' ' + name}: {line}")
