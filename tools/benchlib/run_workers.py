"""./dev bench workers: the overhead of several workers, and how evenly they share connections.

Servers and load generator use all cores, and the generator has a thread for each worker, so that
both servers are always busy. An idle server would process fewer events per loop iteration, which
costs more for each and would distort the comparison.
"""

import os
import re

from . import (Refused, command, contender, environment, http_load, http_peers, servers, session,
               works, wrk)


class Workers(http_peers.Uvhttp):
    def __init__(self, count):
        super().__init__()
        self.count, self.name = count, f"workers-{count}"
        self.title = f"{count} worker{'s' if count > 1 else ''}"

    def command(self, workspace, work, port):
        return [workspace.bin_dir / "benchmark_rps", "--workers", self.count, "0"]


def add_options(parser):
    command.add_run_options(parser, rounds=5)
    parser.add_argument("--workers", type=command.number(2), default=2, metavar="N",
                        help="number to compare with one (default: 2)")
    parser.add_argument("--connections", type=command.number(1), nargs="+", default=[50, 100, 1000],
                        metavar="N", help="connections of the load generator, one run for each")


def measure(server, work, connections, options):
    """Like http_load.measure, with the connections of each worker, which the server prints."""
    entry = http_load.measure(server, work, connections, options)
    shares = re.findall(r"^worker \d+: (\d+) connections", server.stop(), re.M)
    entry["shares"] = [int(count) for count in shares]
    if not shares:
        raise Refused("the server printed no connections of its workers")
    even = sum(entry["shares"]) / len(shares)
    entry["uneven"] = max(abs(share - even) for share in entry["shares"]) / even
    return entry


def run(options):
    described = environment.describe(options, servers.uvhttp_build(options.bin_dir),
                                     wrk=wrk.version())
    cores = os.sched_getaffinity(0)
    options.load_cores, options.threads = cores, options.workers
    contenders = [Workers(1), Workers(options.workers)]
    work = works.Work("memory", "13 bytes from memory", 13, "memory")
    work.fresh = True
    with command.temporary_directory() as directory:
        workspace = contender.make_workspace(options, directory, cores)
        contender.prepare(contenders, workspace)
        running = session.Session(options, contenders, [work], workspace, measure,
                                  options.connections)
        running.run()
    environment.show(described)
    running.print(["workers-1"])
    for result in running.results:
        if result.contender.count > 1 and result.counted():
            print(f"{result.title()}: furthest from even {max(result.values('uneven')):.1%}")
    return running.as_json("workers", described, contenders)
