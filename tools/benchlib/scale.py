"""How the cost of a request grows with everything it should not grow with: the curves of `./dev bench scale`.

connections  CPU per request of 50 busy connections while more and more idle ones are open
routes       CPU per request while each of N routes is asked for in turn
fields       CPU per request with N header fields
body-size    CPU per request with a body of N bytes, from memory and from a file
idle-memory  bytes that each of N idle connections costs the server

run() measures them and gives them in the form of the reports' "curves". A point at which no run counts, or that this machine cannot
measure, is not in "points" but, with the reason, in "left_out".
"""

import contextlib
import pathlib
import socket
import tempfile

from . import Refused, cpu, idle, load, servers, works

BUSY = 50
PEER = "uvhttp"
BODY = works.content(13)


class Curve:
    """What is measured: `base_x` is the point that the others are compared with."""

    def __init__(self, name, title, x_title, points, base_x, measure):
        self.name, self.title, self.x_title, self.points, self.base_x = name, title, x_title, points, base_x
        self.measure = measure


class Session:
    """One call of run(): options, where the programs are, and what to tell."""

    def __init__(self, options, folder, progress):
        server_core, load_core = cpu.choose_cores()
        self.settings = load.Settings(options.rounds, options.seconds, options.warm_up, server_core, load_core)
        self.bin_folder = pathlib.Path(options.build_dir) / "dist/bin"
        self.folder, self.progress = folder, progress
        self.descriptors = idle.raise_descriptors()

    def log_folder(self):
        """One for each server, since logs are called after servers."""
        return tempfile.mkdtemp(dir=self.folder)

    def start(self, stack, *arguments):
        """A scale_server, ended with `stack`."""
        server = servers.Server(PEER, "", [servers.program(self.bin_folder, "scale_server"), *arguments, "0"],
                                self.settings.server_core, self.log_folder())
        stack.callback(server.stop)
        servers.require_release("scale_server", server.output.split("\n")[0])
        return server

    def start_files(self, stack, site):
        """The server program."""
        port = servers.free_port()
        command = [servers.program(self.bin_folder, "uvhttp"), "serve", site, "-q", "--listen", "127.0.0.1", "--port", port]
        server = servers.Server(PEER, "", command, self.settings.server_core, self.log_folder(), port)
        stack.callback(server.stop)
        return server

    def take_turns(self, curve, subjects):
        """[{"peer", "x", figures}] of subjects (peer, x, function that measures once): all once, then all again."""
        runs = [[] for _ in subjects]
        for number in range(self.settings.rounds):
            for (peer, x, once), all_runs in zip(subjects, runs):
                run = once()
                all_runs.append(run)
                figure = f"{run['cpu_us']:.2f} us" if run["counted"] else f"thrown away: {run['fault']}"
                self.progress(f"{curve.name}, round {number + 1}, {peer}, {x:,}: {figure}")
        return [{"peer": peer, "x": x, **load.summarize(one)} for (peer, x, _), one in zip(subjects, runs)]


def possible(session, counts, besides):
    """(counts that can be opened here, what is left out and why)."""
    left_out = [{"peer": PEER, "x": count, "reason": why} for count in counts
                if (why := idle.why_not(count + besides, session.descriptors))]
    return [count for count in counts if count not in [one["x"] for one in left_out]], left_out


def measure_connections(session, curve, counts):
    counts, left_out = possible(session, sorted(counts), 0)
    rows = {count: [] for count in counts}
    with contextlib.ExitStack() as stack:
        server = session.start(stack, "--max-connections", max([*counts, BUSY]) + idle.SPARE_DESCRIPTORS)
        for number in range(session.settings.rounds):
            # Idle ones can be added quickly, but not be taken away one by one: so each round goes upwards.
            with idle.Idle(server, "/") as crowd:
                for count in counts:
                    busy = min(BUSY, count)
                    crowd.grow(count - busy)
                    run = load.measure(server, "/", BODY, busy, session.settings, check=crowd.fault)
                    rows[count].append(run)
                    figure = f"{run['cpu_us']:.2f} us" if run["counted"] else f"thrown away: {run['fault']}"
                    session.progress(f"{curve.name}, round {number + 1}, {PEER}, {count:,}: {figure}")
    return [{"peer": PEER, "x": count, "busy": min(BUSY, count), **load.summarize(runs)} for count, runs in rows.items()], left_out


def measure_routes(session, curve, counts):
    with contextlib.ExitStack() as stack:
        subjects = []
        for count in counts:
            server = session.start(stack, "--routes", count)

            def once(server=server, count=count):
                # The last route answers and the one behind it does not, so there are as many as are said.
                if not is_found(server, f"/routes/{count - 1}/1") or is_found(server, f"/routes/{count}/1"):
                    raise Refused(f"the server for {count} routes does not have that many")
                return load.measure(server, f"/routes/{count - 1}/1", BODY, BUSY, session.settings, ("routes", count))

            subjects.append((PEER, count, once))
        return session.take_turns(curve, subjects), []


def measure_fields(session, curve, counts):
    with contextlib.ExitStack() as stack:
        server = session.start(stack)
        subjects = [(PEER, count, lambda count=count: load.measure(server, "/", BODY, BUSY, session.settings, ("fields", count)))
                    for count in counts]
        return session.take_turns(curve, subjects), []


def measure_body_size(session, curve, sizes):
    site = session.folder / "site"
    site.mkdir()
    with contextlib.ExitStack() as stack:
        subjects = []
        for size in sizes:
            (site / f"{size}.txt").write_bytes(works.content(size))
            server = session.start(stack, "--body", size)
            subjects.append((f"{PEER}, memory", size, lambda server=server, size=size: load.measure(
                server, "/", works.content(size), BUSY, session.settings)))
        files = session.start_files(stack, site)
        subjects += [(f"{PEER}, file", size, lambda size=size: load.measure(
            files, f"/{size}.txt", works.content(size), BUSY, session.settings)) for size in sizes]
        return session.take_turns(curve, subjects), []


def measure_idle_memory(session, curve, counts):
    counts, left_out = possible(session, sorted(counts), idle.WARM_UP)
    with contextlib.ExitStack() as stack:
        server = session.start(stack, "--max-connections", max([*counts, 1]) + idle.WARM_UP + idle.SPARE_DESCRIPTORS)
        points = idle.memory_points(server, "/", counts, lambda text: session.progress(f"{curve.name}, {text}"))
    return [{"peer": PEER, "counted": 1, "runs": 1, "fault": None, **point} for point in points], left_out


CURVES = [
    Curve("connections", f"CPU per request while most connections are idle ({BUSY} are busy)", "open connections",
          [10, 50, 100, 1000, 5000, 10000], BUSY, measure_connections),
    Curve("routes", "CPU per request when all routes are asked for in turn", "routes", [10, 100, 1000, 10000], 10, measure_routes),
    Curve("fields", "CPU per request with more header fields", "header fields in the request", [2, 4, 8, 16, 32, 64], 2, measure_fields),
    Curve("body-size", "CPU per request with larger bodies", "bytes of the body",
          [13, 1024, 10 * 1024, 100 * 1024, 1024 * 1024, 10 * 1024 * 1024], 13, measure_body_size),
    Curve("idle-memory", "Memory of the server for each idle connection", "idle connections", [1000, 2000, 5000, 10000], 1000,
          measure_idle_memory),
]
NAMES = [curve.name for curve in CURVES]


def is_found(server, path):
    """Whether a path is answered with 200."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode()
    try:
        with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
            connection.sendall(request)
            return b" 200 " in connection.recv(65536).split(b"\r\n")[0]
    except OSError as error:
        raise Refused(f"{server.name} does not answer for {path}: {error}") from error


def finish(curve, points, left_out):
    left_out = left_out + [{"peer": point["peer"], "x": point["x"], "reason": point["fault"]} for point in points if not point["counted"]]
    return {"name": curve.name, "title": curve.title, "x_title": curve.x_title, "x_scale": "log", "base_x": curve.base_x,
            "y": "bytes" if curve.measure is measure_idle_memory else "cpu_us",
            "points": [point for point in points if point["counted"]], "left_out": left_out}


def run(options, progress):
    """The curves as a list of dicts. `options` has build_dir, rounds, seconds and warm_up, and may have only (names; without it all) and
    points (values of x instead of the usual ones); `progress` is called with a line of text after each run. Raises the limit of
    descriptors of this process."""
    only, chosen_points = getattr(options, "only", None), getattr(options, "points", None)
    servers.uvhttp_build(pathlib.Path(options.build_dir) / "dist/bin")
    curves = []
    with tempfile.TemporaryDirectory(prefix="uvhttp-scale-") as folder:
        session = Session(options, pathlib.Path(folder), progress)
        for curve in CURVES:
            if only and curve.name not in only:
                continue
            points, left_out = curve.measure(session, curve, chosen_points or curve.points)
            curves.append(finish(curve, points, left_out))
    return curves
