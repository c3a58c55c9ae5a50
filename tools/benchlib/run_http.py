"""./dev bench http: compares uvhttp with other servers. `--from` reports earlier results."""

import json
import pathlib

from . import (Refused, command, contender, cpu, environment, http_load, http_peers, idle, report,
               servers, session, tls, works, wrk)


def add_options(parser):
    command.add_run_options(parser)
    contender.add_peers_option(parser, http_peers.ALL, http_peers.DEFAULT_PEERS)
    parser.add_argument("--works", nargs="+", metavar="NAME", choices=works.NAMES,
                        default=works.NAMES, help="only these: " + ", ".join(works.NAMES))
    parser.add_argument("--connections", nargs="+", type=command.number(1), default=[50],
                        metavar="N", help="for works without a fixed number (default: 50)")
    add_idle_option(parser)
    parser.add_argument("--report", metavar="FILE", type=pathlib.Path,
                        help="write the tables as Markdown, with SVG charts beside it")
    parser.add_argument("--from", metavar="FILE", nargs="+", dest="files", type=pathlib.Path,
                        help="report these results of http, ws, parser and router instead of "
                             "measuring")


def add_idle_option(parser):
    parser.add_argument("--idle", type=command.number(1), default=2000, metavar="N",
                        help="idle connections whose memory is measured (default: 2000)")


def measure(options, chosen, contenders, connections):
    """Runs a session. Returns it, and the environment."""
    build = servers.uvhttp_build(options.bin_dir)
    for work in chosen:
        if work.idle:
            work.connections = options.idle
    idle.check_descriptors(max([*connections, *(work.connections or 0 for work in chosen)]))
    described = environment.describe(options, build, wrk=wrk.version(),
                                     **({"https": tls.DESCRIPTION} if any(
                                         work.tls for work in chosen) else {}))
    with command.temporary_directory() as directory:
        cores, options.load_cores = cpu.choose_cores()
        workspace = contender.make_workspace(options, directory, cores)
        workspace.site.mkdir()
        contender.prepare(contenders, workspace)
        for work in chosen:
            work.write_files(workspace.site)
        running = session.Session(options, contenders, chosen, workspace, http_load.measure,
                                  connections)
        return running.run(), described


def read(path):
    try:
        result = json.loads(path.read_text())
        if result["kind"] not in report.ROWS:
            raise KeyError("kind")
        return result
    except (OSError, ValueError, KeyError, TypeError) as error:
        names = ", ".join(report.ROWS)
        raise Refused(f"{path} is no result of bench {names}: {error!r}") from error


def run(options):
    if options.files:
        results = [read(path) for path in options.files]
        report.write(results, options.report)
        return results[0]
    chosen = works.choose(options.works)
    contenders = contender.choose(http_peers.ALL, options.peers)
    running, described = measure(options, chosen, contenders, options.connections)
    environment.show(described)
    session.print_peers(contenders)
    running.print(["floor", "nginx"])
    result = running.as_json("http", described, contenders)
    if options.report:
        report.write([result], options.report)
    return result
