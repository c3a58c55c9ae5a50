"""CPU time of a server: all threads of its process and of its child processes.

The total is the count of the scheduler in nanoseconds (/proc/PID/task/*/schedstat). User and system
time are counted in ticks (/proc/PID/stat), so they only split the total. The scheduler's count
omits threads that have ended, but the ticks include them. Where the ticks are clearly higher, as
for a server with one thread per connection, they are the total.
"""

import os
import pathlib
import re
import subprocess

from . import Refused


TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
# A difference above both is no rounding error: a share of the total, and a number of ticks.
LOST_SHARE, LOST_TICKS = 0.03, 4


class CpuTime:
    """Total nanoseconds, and ticks of user and system time."""

    def __init__(self, total_ns, user_ticks, system_ticks):
        self.total_ns, self.user_ticks, self.system_ticks = total_ns, user_ticks, system_ticks

    def __sub__(self, earlier):
        return CpuTime(self.total_ns - earlier.total_ns, self.user_ticks - earlier.user_ticks,
                       self.system_ticks - earlier.system_ticks)

    def __add__(self, other):
        return CpuTime(self.total_ns + other.total_ns, self.user_ticks + other.user_ticks,
                       self.system_ticks + other.system_ticks)

    def per_request(self, requests):
        """Microseconds per request: {"cpu_us", "user_us", "system_us"}."""
        ticks = self.user_ticks + self.system_ticks
        by_ticks = ticks * TICK_NS
        lost = by_ticks - self.total_ns > LOST_SHARE * by_ticks + LOST_TICKS * TICK_NS
        total = (by_ticks if lost else self.total_ns) / 1000 / requests
        user = total * self.user_ticks / ticks if ticks else 0.0
        return {"cpu_us": total, "user_us": user, "system_us": total - user}


def process_tree(pid):
    """The process and all its descendants."""
    found = [pid]
    for parent in found:
        for task in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:
                pass  # a thread that has just ended
    return found


def read_process(pid):
    process = pathlib.Path(f"/proc/{pid}")
    total = 0
    for task in (process / "task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            pass
    # The numbers follow the program name, which is in parentheses and may contain any characters.
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return CpuTime(total, int(fields[11]), int(fields[12]))


def read(pid):
    """The CPU time of a server since its start."""
    try:
        return sum((read_process(one) for one in process_tree(pid)), CpuTime(0, 0, 0))
    except OSError as error:
        raise Refused(f"the CPU time of process {pid} cannot be read: {error}") from error


def sum_smaps(pid, pattern):
    """The sum of the matching lines of smaps_rollup, over all processes of a server."""
    total = 0
    for one in process_tree(pid):
        try:
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError as error:
            raise Refused(f"the memory of process {one} cannot be read: {error}") from error
        total += sum(int(size) for size in re.findall(pattern, text, re.M))
    return total


def resident_kb(pid):
    """The memory of a server's processes; shared memory counts once."""
    return sum_smaps(pid, r"^Pss:\s+(\d+) kB")


def run(words, cores, **more):
    """Runs a program on these cores. Returns its result with its output."""
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores), **more)


def choose_cores():
    """Returns (cores of the server, cores of the load generator), one each."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise Refused("measuring needs two CPU cores: one for the server, one for the load")
    return {cores[0]}, {cores[1]}
