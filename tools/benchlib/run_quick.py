"""./dev bench quick: some works of `http`, compared with nginx and the floor."""

from . import command, http_peers, run_http, works


def add_options(parser):
    command.add_run_options(parser)
    parser.add_argument("--works", nargs="+", metavar="NAME", choices=works.QUICK,
                        default=works.QUICK, help="only these: " + ", ".join(works.QUICK))
    parser.set_defaults(peers=http_peers.DEFAULT_PEERS, connections=[50], idle=1, report=None,
                        files=None)


run = run_http.run
