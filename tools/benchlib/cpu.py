"""CPU time of a server: all threads of its process and of the processes it started.

The total is the scheduler's own count in nanoseconds (/proc/PID/task/*/schedstat). User and system time come in ticks
(/proc/PID/stat), so they only give the proportion in which the total is split. The scheduler's count loses the time of threads that have
ended, the ticks do not: where they say clearly more, as for a server with a thread for each connection, they are the total.
"""

import os
import pathlib

from . import Refused


TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
# A difference that rounding to ticks cannot explain: this part of the total, and so many ticks.
LOST_PART, LOST_TICKS = 0.03, 4


class CpuTime:
    """Nanoseconds in all, and ticks of user and system time."""

    def __init__(self, total_ns, user_ticks, system_ticks):
        self.total_ns, self.user_ticks, self.system_ticks = total_ns, user_ticks, system_ticks

    def __sub__(self, earlier):
        return CpuTime(self.total_ns - earlier.total_ns, self.user_ticks - earlier.user_ticks,
                       self.system_ticks - earlier.system_ticks)

    def per_request(self, requests):
        """Microseconds per request: (total, user, system)."""
        ticks = self.user_ticks + self.system_ticks
        by_ticks = ticks * TICK_NS
        lost = by_ticks - self.total_ns
        total = (by_ticks if lost > LOST_PART * by_ticks + LOST_TICKS * TICK_NS else self.total_ns) / 1000 / requests
        user = total * self.user_ticks / ticks if ticks else 0.0
        return total, user, total - user


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
    # The name of the program, in parentheses, may hold anything; the numbers come behind it.
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return CpuTime(total, int(fields[11]), int(fields[12]))


def read(pid):
    """The CPU time of a server so far."""
    sum_ = CpuTime(0, 0, 0)
    try:
        for one in process_tree(pid):
            time = read_process(one)
            sum_ = CpuTime(sum_.total_ns + time.total_ns, sum_.user_ticks + time.user_ticks,
                           sum_.system_ticks + time.system_ticks)
    except OSError as error:
        raise Refused(f"the CPU time of process {pid} cannot be read: {error}") from error
    return sum_


def resident_kb(pid):
    """Memory of a server's processes: what they share counts once."""
    total = 0
    for one in process_tree(pid):
        try:
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError as error:
            raise Refused(f"the memory of process {one} cannot be read: {error}") from error
        total += sum(int(line.split()[1]) for line in text.split("\n") if line.startswith("Pss:"))
    return total


def choose_cores():
    """(core of the server, core of the load)."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise Refused("measuring needs two CPU cores: one for the server, one for the load")
    return cores[0], cores[1]


def share_cores(workers):
    """(cores of the server, core of the load, whether the load has its core to itself). As many cores for the server as it has workers;
    where none is left for the load, it shares the server's last one."""
    choose_cores()
    cores = sorted(os.sched_getaffinity(0))
    if workers > len(cores):
        raise Refused(f"{workers} workers need as many CPU cores, but there are {len(cores)}")
    return cores[:workers], cores[min(workers, len(cores) - 1)], workers < len(cores)
