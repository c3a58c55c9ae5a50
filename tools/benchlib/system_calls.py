"""How many system calls a server makes, counted by strace in a run of its own: what is traced is many times slower, so that run gives no other figure."""

import pathlib
import re
import select
import shutil
import signal
import subprocess
import time

from . import Refused

ATTACH_SECONDS, END_SECONDS = 20, 60


class Counter:
    """Counts from `with` on, all threads; `end` gives {name: calls}."""

    def __init__(self, pid, folder):
        program = shutil.which("strace")
        if program is None:
            raise Refused("strace is missing; install it with: apt-get install strace")
        self.file = pathlib.Path(folder) / f"strace-{pid}"
        # What is traced must not be ended with what traces it: strace lets go of it when it is interrupted.
        self.process = subprocess.Popen([program, "-f", "-c", "-U", "calls,name", "-o", str(self.file), "-p", str(pid)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        deadline = time.monotonic() + ATTACH_SECONDS
        said = ""
        # It says so when it has attached to all threads.
        while " attached" not in said:
            ready, _, _ = select.select([self.process.stderr], [], [], max(0, deadline - time.monotonic()))
            line = self.process.stderr.readline() if ready else ""
            said += line
            if not line:
                self.__exit__()
                raise Refused(f"strace cannot trace it: {said.strip() or 'it says nothing'}")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stderr.close()

    def end(self):
        self.__exit__()
        counted = {name: int(calls) for calls, name in re.findall(r"^\s*(\d+) (\w+)\s*$", self.file.read_text(), re.M) if name != "total"}
        if not counted:
            raise Refused("strace counted nothing")
        return counted


def per_delivery(server, load, seconds, folder):
    """{"deliveries", "per_delivery", "sending", "calls"} of a run of that load; `sending` are those calls alone that write."""
    with Counter(server.pid, folder) as counter:
        result = load.run(seconds)
        calls = counter.end()
    deliveries = result["messages"]
    if result["errors"] or deliveries == 0:
        raise Refused(f"while system calls were counted: {result['fault'] or 'no answer at all'}")
    sending = sum(count for name, count in calls.items() if name in ("write", "writev", "send", "sendto", "sendmsg", "sendmmsg", "io_uring_enter"))
    return {"deliveries": deliveries, "per_delivery": sum(calls.values()) / deliveries, "sending": sending / deliveries, "calls": calls}
