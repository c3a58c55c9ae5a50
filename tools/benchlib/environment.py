"""Where and with what was measured: the block every published figure needs beside it."""

import datetime
import os
import pathlib
import platform
import subprocess

from . import servers, wrk

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n"):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return value.strip()
    return platform.machine()


def git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit():
    name = git("rev-parse", "HEAD")
    if not name:
        return "unknown"
    return name + (" with changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def system_name():
    for line in pathlib.Path("/etc/os-release").read_text().split("\n"):
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.system()


def run_block(command):
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit(),
        "command": command,
    }


def congestion_control():
    """How the system's TCP sends, for sockets that choose nothing. bbr paces by timers of the sender, and what those cost differs from run to run."""
    file = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control")
    return file.read_text().strip() if file.exists() else "unknown"


def machine_block():
    return {
        "kernel": platform.release(),
        "system": system_name(),
        "tcp": congestion_control(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        # Of the last minute before the first run: well above 0 means that others used the machine, too.
        "load_before": round(os.getloadavg()[0], 2),
    }


def describe(build, names, command):
    """`build` is what uvhttp says of itself; `names` are the servers measured."""
    return {
        **run_block(command),
        "uvhttp": build,
        "nginx": servers.nginx_version() if "nginx" in names else None,
        "wrk": wrk.version(),
        **machine_block(),
    }
