"""./dev bench ws: WebSocket beside other servers and the least the system can do."""

from . import (command, contender, cpu, environment, idle, servers, session, websocket_load,
               websocket_peers)

MANY = 5000


class Work:
    """`mode` is that of the load: echo, broadcast or idle. `kind`: what a server must be able to
    do: echo, deflate (the same, compressed) or topic. A broadcast has one more connection, which
    sends, and its messages are those that arrive."""

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
    contender.add_peers_option(parser, websocket_peers.ALL, websocket_peers.USUAL)
    parser.add_argument("--works", nargs="+", metavar="NAME", choices=NAMES, default=NAMES,
                        help="only these: " + ", ".join(NAMES))
    parser.add_argument("--connections", type=command.number(1), metavar="N", default=MANY,
                        help=f"subscribers and idle connections (default: {MANY})")
    parser.add_argument("--patience", type=command.number(1), default=websocket_load.PATIENCE_MS,
                        metavar="MS", help="after which a message is missing (default: 5000)")


def run(options):
    build = servers.uvhttp_build(options.bin_folder)
    servers.program(options.bin_folder, "websocket_load")
    chosen = [work for work in WORKS if work.name in options.works]
    for work in chosen:
        if work.connections == MANY:
            work.connections = options.connections
    idle.check_descriptors(max(work.connections for work in chosen) + 1)
    contenders = contender.choose(websocket_peers.ALL, options.peers)
    described = environment.describe(options, build)
    with command.temporary_folder() as folder:
        cores, options.load_cores = cpu.choose_cores()
        place = contender.place(options, folder, cores)
        contender.prepare(contenders, place)
        running = session.Session(options, contenders, chosen, place, websocket_load.measure).run()
    environment.show(described)
    session.print_peers(contenders)
    running.print(["floor", "uvhttp"])
    return running.as_json("ws", described, contenders)
