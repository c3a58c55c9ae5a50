"""./dev bench ws: compares WebSocket with other servers and the floor."""

from . import (command, contender, cpu, environment, idle, servers, session, websocket_load,
               websocket_peers)

MANY = 5000


class Work:
    """`mode`: the mode of the load generator: echo, broadcast or idle. `kind`: the feature that a
    server needs: echo, deflate (compressed echo) or topic. A broadcast has one more connection,
    which sends, and counts the received messages."""

    tls = False

    def __init__(self, name, title, mode, kind, size, connections):
        self.name, self.title, self.mode, self.kind = name, title, mode, kind
        self.size, self.connections = size, connections
        self.idle = self.fresh = mode == "idle"


WORKS = [
    *(Work(f"echo-{label}-c{connections}", f"echo of {size:,} bytes", "echo", "echo", size,
           connections)
      for size, label in ((20, "20"), (512, "512"), (16384, "16k")) for connections in (50, 500)),
    Work("echo-512-deflate", "echo of 512 bytes of text, compressed", "echo", "deflate", 512, 50),
    Work("broadcast", "100 bytes to subscribers", "broadcast", "topic", 100, MANY),
    Work("idle", "idle after one message", "idle", "echo", 20, MANY),
    Work("idle-deflate", "idle after one compressed message", "idle", "deflate", 512, MANY),
]
NAMES = [work.name for work in WORKS]


def add_options(parser):
    command.add_run_options(parser)
    contender.add_peers_option(parser, websocket_peers.ALL, websocket_peers.DEFAULT_PEERS)
    parser.add_argument("--works", nargs="+", metavar="NAME", choices=NAMES, default=NAMES,
                        help="only these: " + ", ".join(NAMES))
    parser.add_argument("--connections", type=command.number(1), metavar="N", default=MANY,
                        help=f"subscribers and idle connections (default: {MANY})")
    parser.add_argument("--patience", type=command.number(1), default=websocket_load.PATIENCE_MS,
                        metavar="MS", help="after which a message is missing (default: 5000)")


def run(options):
    build = servers.uvhttp_build(options.bin_dir)
    servers.program(options.bin_dir, "websocket_load")
    chosen = [work for work in WORKS if work.name in options.works]
    for work in chosen:
        if work.connections == MANY:
            work.connections = options.connections
    idle.check_descriptors(max(work.connections for work in chosen) + 1)
    contenders = contender.choose(websocket_peers.ALL, options.peers)
    described = environment.describe(options, build)
    with command.temporary_directory() as directory:
        cores, options.load_cores = cpu.choose_cores()
        workspace = contender.make_workspace(options, directory, cores)
        contender.prepare(contenders, workspace)
        running = session.Session(options, contenders, chosen, workspace, websocket_load.measure)
        running.run()
    environment.show(described)
    session.print_contenders(contenders)
    running.print(["floor", "uvhttp"])
    return running.as_json("ws", described, contenders)
