"""`./dev bench capacity` and `./dev bench scale`: the arithmetic on made-up curves, that debug builds and wrong answers give no figures, and
one tiny run of each with the real server and the real wrk, which shows the form of what they print and write, not a figure."""

import json
import math
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release"))
DOUBLE = pathlib.Path(__file__).with_name("double.py")

sys.path.insert(0, str(ROOT / "tools"))
from benchlib import Refused, capacity, idle, load, scale  # noqa: E402
import bench_scale  # noqa: E402
sys.path.pop(0)

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="measuring needs two CPU cores")
real_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")


def curve(*points):
    """Points of (connections, p99 ms, requests/s)."""
    return [{"connections": connections, "p99_ms": p99, "rps": rps, "cpu_us": 6.0, "server_share": 0.95, "generator_share": 0.5,
             "server_core_busy": 0.97, "load_core_busy": 0.55, "limited_by": "server"} for connections, p99, rps in points]


USUAL = curve((1, 0.10, 20000), (2, 0.11, 40000), (5, 0.12, 80000), (10, 0.15, 100000), (20, 0.21, 110000), (50, 0.55, 112000),
              (100, 1.2, 113000), (200, 2.4, 112000), (500, 6.0, 108000), (1000, 12.0, 100000), (2000, 25.0, 90000))


# The knee

def test_the_knee_is_where_p99_doubles_for_good():
    knee = capacity.find_knee(USUAL)
    assert (knee["connections"], knee["next_connections"], knee["left"]) == (20, 50, True)
    assert knee["flat_ms"] == 0.11 and knee["limit_ms"] == pytest.approx(0.22)
    assert (knee["p99_ms"], knee["next_p99_ms"], knee["rps"], knee["cpu_us"]) == (0.21, 0.55, 110000, 6.0)


def test_one_high_point_inside_the_flat_part_is_no_knee():
    points = [dict(point) for point in USUAL]
    points[2]["p99_ms"] = 4.0
    assert capacity.find_knee(points)["connections"] == 20


def test_one_lucky_low_point_does_not_move_the_flat_level():
    points = [dict(point) for point in USUAL]
    points[0]["p99_ms"] = 0.01
    knee = capacity.find_knee(points)
    assert knee["flat_ms"] == 0.11 and knee["connections"] == 20


def test_a_curve_that_stays_flat_has_its_knee_further_out():
    knee = capacity.find_knee(USUAL[:4])
    assert (knee["connections"], knee["left"], knee["next_connections"]) == (10, False, None)
    assert "further out" in capacity.say_knee(knee)


def test_exactly_twice_the_flat_level_still_belongs_to_it():
    knee = capacity.find_knee(curve((1, 1.0, 1), (2, 1.0, 1), (5, 1.0, 1), (10, 2.0, 1), (20, 2.001, 1)))
    assert (knee["connections"], knee["next_connections"]) == (10, 20)


def test_one_point_alone_is_a_curve():
    assert capacity.find_knee(USUAL[:1])["connections"] == 1


# Requests per second below a latency

def test_most_requests_below_each_latency():
    found = {one["limit_ms"]: (one["rps"], one.get("connections")) for one in capacity.analyze(USUAL)["below"]}
    assert found == {1: (112000, 50), 5: (113000, 100), 10: (113000, 100), 20: (113000, 100)}
    assert capacity.analyze(USUAL)["best"]["connections"] == 100


def test_a_latency_nobody_reaches_is_said():
    slow = curve((1, 7.0, 100), (2, 8.0, 200))
    below = capacity.analyze(slow)["below"]
    assert [one["rps"] for one in below] == [None, None, 200, 200]
    assert capacity.say_below(below[0]) == "p99 below 1 ms: at no number of connections measured."
    assert capacity.best_below(slow, 8.0)["connections"] == 1, "below means below"


# Who was the bottleneck

def shares(server, generator, server_core=None, load_core=None):
    return {"server_share": server, "generator_share": generator, "server_core_busy": server_core, "load_core_busy": load_core}


@pytest.mark.parametrize("point, who", [
    (shares(0.97, 0.60, 0.98, 0.65), "server"),
    (shares(0.60, 0.97, 0.65, 0.98), "generator"),
    (shares(0.95, 0.95, 0.99, 0.99), "both"),
    (shares(0.40, 0.45, 0.45, 0.50), "neither"),
    (shares(0.50, 0.50, 0.99, 0.55), "other programs"),
    (shares(0.50, 0.50, 0.55, 0.99), "other programs"),
    (shares(1.80, 0.50), "neither"),  # several cores, none of them its own
    (shares(1.80, 0.95), "generator"),
])
def test_who_had_nothing_left(point, who):
    assert capacity.limited_by(point) == who


def test_a_generator_at_its_limit_is_said():
    points = [dict(point, **shares(0.6, 0.97, 0.65, 0.98), limited_by="generator") for point in USUAL]
    lines = " ".join(capacity.say_honestly(points, points[-1]))
    assert "The load generator was the bottleneck at 11 of 11 points" in lines
    assert "about 166,667 requests/s" in lines  # 1 s / 6 us
    assert "Other programs" not in lines
    assert "wrk could not ask for more" in capacity.say_below(capacity.analyze(points)["below"][0])


def test_a_noisy_machine_is_said():
    points = [dict(point, server_share=0.5, server_core_busy=0.98) for point in USUAL]
    assert "took up to 48 % of a core" in " ".join(capacity.say_honestly(points, points[0]))
    assert capacity.say_honestly(USUAL, USUAL[0]) == []


# Suggestions

def test_instances_for_a_rate():
    one = capacity.instances(250000, 6.0)
    assert one["cores_worth"] == pytest.approx(1.5)
    assert one["instances"] == 3  # 1.5 cores at 70 % of each: 2.14
    assert capacity.instances(1, 6.0)["instances"] == 1
    assert capacity.instances(70000, 10.0)["instances"] == 1, "0.7 of a core is just one"
    assert capacity.instances(70001, 10.0)["instances"] == 2
    assert capacity.rate_per_instance(10.0) == pytest.approx(70000)


def test_instances_are_said_with_the_cores_there_are():
    assert "3 instances or workers. This machine has 2 cores: it takes more machines." in capacity.say_instances(
        capacity.instances(250000, 6.0), "X", 2)
    assert "1 instance or worker. This machine has 2 cores." in capacity.say_instances(capacity.instances(10, 6.0), "X", 2)


def test_max_connections_by_descriptors():
    one = capacity.suggest_connections(20000, 1135, 24_000_000_000, 4500, 100, 200_000)
    assert one["by_descriptors"] == 18865 and one["bound"] == "descriptors"
    assert one["by_memory"] == 100 + int((12_000_000_000 - 20_000_000) / 4500)
    assert one["max_connections"] == 18000
    assert "20,000 that a process may open" in capacity.say_connections(one)[1] and "= 18,865" in capacity.say_connections(one)[1]


def test_max_connections_by_memory():
    one = capacity.suggest_connections(1_000_000, 1135, 100_000_000, 4500, 100, 200_000)
    assert one["bound"] == "memory" and one["by_memory"] == 100 + int(30_000_000 / 4500)
    assert one["max_connections"] == 6700
    # Not even the busy ones fit.
    assert capacity.suggest_connections(1_000_000, 0, 10_000_000, 4500, 100, 200_000)["by_memory"] == 25


def test_too_few_descriptors_suggest_none():
    assert capacity.suggest_connections(100, 1135, 1e9, 4500, 0, 1)["max_connections"] == 0


@pytest.mark.parametrize("value, rounded", [(0, 0), (7, 7), (99, 99), (100, 100), (119, 110), (18865, 18000), (2_579_153, 2_500_000)])
def test_suggestions_have_two_digits(value, rounded):
    assert capacity.round_down(value) == rounded


# Runs and connections

def test_a_summary_counts_only_what_counts():
    figures = {name: None for name in load.FIGURES}
    runs = [{**figures, "counted": True, "fault": None, "cpu_us": cpu_us, "rps": 1, "p99_ms": 1} for cpu_us in (5, 9, 6)]
    summary = load.summarize(runs + [{"counted": False, "fault": "3 timeouts"}])
    assert (summary["cpu_us"], summary["counted"], summary["runs"], summary["fault"]) == (6, 3, 4, "3 timeouts")
    assert summary["spread"]["cpu_us"] == [5, 9] and summary["user_us"] is None
    assert load.summarize([{"counted": False, "fault": "x"}]) == {"counted": 0, "runs": 1, "fault": "x"}


def test_more_connections_than_descriptors_are_refused_with_the_numbers():
    assert idle.why_not(10000, 20000) is None
    assert idle.why_not(10000 - idle.SPARE_DESCRIPTORS, 10000) is None
    why = idle.why_not(10000, 4096)
    assert "10,000 connections need about 10,200 file descriptors" in why and "4,096 are allowed" in why and "ulimit -Hn" in why


def test_idle_connections_that_the_server_closes_are_noticed():
    listener = socket.create_server(("127.0.0.1", 0))
    accepted = []

    def serve():
        for _ in range(3):
            accepted.append(listener.accept()[0])
            accepted[-1].recv(65536)
            accepted[-1].sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    threading.Thread(target=serve, daemon=True).start()
    server = type("Server", (), {"name": "it", "port": listener.getsockname()[1], "tls": None})()
    with listener, idle.Idle(server, "/") as crowd:
        crowd.grow(3)
        assert crowd.closed() == 0 and crowd.fault() is None
        accepted[1].shutdown(socket.SHUT_WR)
        accepted[1].close()
        crowd.connections[1].settimeout(10)
        crowd.connections[1].recv(1, socket.MSG_PEEK)  # until the end has come
        crowd.connections[1].setblocking(False)
        assert crowd.fault() == "1 of 3 idle connections were closed by the server"
    for connection in accepted:
        connection.close()


def test_a_server_that_refuses_idle_connections_is_named():
    server = type("Server", (), {"name": "it", "port": 0})()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server.port = listener.getsockname()[1]
    with idle.Idle(server, "/") as crowd, pytest.raises(Refused, match="only 0 of 2 connections to it could be opened"):
        crowd.grow(2)


# The commands

def bench(name, build, *options, mode="", path=None, **arguments):
    command = ["/usr/bin/python3", ROOT / f"tools/bench_{name}.py", "--build-dir", build, *options]
    environment = {**os.environ, "DOUBLE": mode, "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{path or BUILD}:{os.environ['PATH']}"}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, timeout=300, **arguments)


@pytest.fixture
def doubles(tmp_path):
    """A build folder whose programs are doubles, and a wrk that is one."""
    for path in ("dist/bin/uvhttp", "dist/bin/benchmark_rps", "dist/bin/scale_server", "path/wrk"):
        copy = tmp_path / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DOUBLE, copy)
        copy.chmod(0o755)
    return tmp_path


def capacity_of(doubles, mode, *options):
    return bench("capacity", doubles, "--rounds", 1, "--seconds", 1, "--connections", 1, 2, "--idle", 20, *options, mode=mode,
                 path=doubles / "path")


@two_cores
@pytest.mark.parametrize("name", ["capacity", "scale"])
def test_a_debug_build_is_refused(doubles, name):
    done = bench(name, doubles, "--rounds", 1, "--seconds", 1, mode="debug", path=doubles / "path")
    assert done.returncode == 1
    assert "is not a Release build" in done.stderr and "Debug" in done.stderr
    assert done.stdout == ""


@two_cores
def test_a_debug_build_of_the_benchmark_alone_is_refused(doubles):
    done = capacity_of(doubles, "debug-program")
    assert done.returncode == 1
    assert "benchmark_rps is not a Release build" in done.stderr
    assert done.stdout == ""


@two_cores
def test_a_scale_server_that_does_not_say_release_is_refused(doubles):
    done = bench("scale", doubles, "--rounds", 1, "--seconds", 1, "--only", "fields", path=doubles / "path")
    assert done.returncode == 1
    assert "scale_server is not a Release build" in done.stderr
    assert done.stdout == ""


@two_cores
@pytest.mark.parametrize("mode, reason", [("status", "the status is 500 instead of 200"), ("truncate", "the body has"),
                                          ("content", "the wrong content"), ("cut", "the body was cut off after")])
def test_a_wrong_answer_is_refused(doubles, mode, reason):
    done = capacity_of(doubles, mode)
    assert done.returncode == 1
    assert "wrong answer from" in done.stderr and reason in done.stderr
    assert done.stdout == ""


@two_cores
def test_runs_with_errors_do_not_count(doubles):
    done = capacity_of(doubles, "late-status", "--works", "memory", "--connections", 1)
    assert done.returncode == 1
    assert "thrown away" in done.stderr and "no run counts for '13 bytes from memory'" in done.stderr
    assert done.stdout == ""


@two_cores
def test_too_many_connections_are_left_out_and_said(doubles):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))

    file = doubles / "out.json"
    done = bench("capacity", doubles, "--rounds", 1, "--seconds", 1, "--connections", 1, 1000, "--idle", 20, "--works", "memory", "--json",
                 file, path=doubles / "path", preexec_fn=few)
    assert done.returncode == 0, done.stderr
    assert "left out: 1,000 connections: 1,000 connections need about 1,200 file descriptors" in done.stdout
    report = json.loads(file.read_text())
    assert [one["connections"] for one in report["left_out"]] == [1000]
    assert [point["connections"] for point in report["works"][0]["points"]] == [1]


@two_cores
@real_wrk
def test_capacity_from_end_to_end(tmp_path):
    file = tmp_path / "capacity.json"
    done = bench("capacity", BUILD, "--rounds", 1, "--seconds", 1, "--connections", 1, 4, "--idle", 200, "--rate", 250000, "--json", file)
    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text())
    assert (report["kind"], report["format"]) == ("capacity", 1)
    assert "Release" in report["environment"]["uvhttp"] and report["environment"]["cpu"]
    assert [one["name"] for one in report["works"]] == ["memory", "file-10k"]
    for work in report["works"]:
        assert [point["connections"] for point in work["points"]] == [1, 4]
        for point in work["points"]:
            assert point["counted"] == 1 and point["rps"] > 0 and point["cpu_us"] > 0
            assert 0 < point["generator_share"] < 1.2 and 0 < point["server_share"] < 1.2
            # CPU time per request is what the server's share of its core was spent on.
            assert point["cpu_us"] * point["rps"] / 1e6 == pytest.approx(point["server_share"], rel=0.05)
        assert work["knee"] == capacity.find_knee(work["points"])
        assert [one["limit_ms"] for one in work["below"]] == [1, 5, 10, 20]
        assert f"Knee: {work['knee']['connections']:,} connections at once" in done.stdout
    memory = report["memory"]
    assert memory["connections"] == 200 and memory["bytes"] > 0 and memory["descriptors_at_rest"] >= 3
    suggested = report["suggestions"]["max_connections"]
    assert suggested["descriptors"] - suggested["reserved"] == suggested["by_descriptors"]
    assert 0 < suggested["max_connections"] <= min(suggested["by_descriptors"], suggested["by_memory"])
    assert f"max_connections: {suggested['max_connections']:,}" in done.stdout
    for one, work in zip(report["suggestions"]["instances"], report["works"]):
        assert one["instances"] == math.ceil(250000 * work["knee"]["cpu_us"] / 1e6 / 0.7)
    for below in ("1", "5", "10", "20"):
        assert len(re.findall(rf"^p99 below {below} ms: ", done.stdout, re.M)) == 2
    one, = report["curves"]
    assert [(point["peer"], point["x"]) for point in one["points"]] == [
        ("uvhttp, 13 bytes from memory", 1), ("uvhttp, 13 bytes from memory", 4), ("uvhttp, 10 KB file", 1), ("uvhttp, 10 KB file", 4)]


@two_cores
@real_wrk
def test_a_running_server_can_be_measured_by_its_url(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"some text")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([BUILD / "dist/bin/uvhttp", "serve", tmp_path, "--listen", "127.0.0.1", "--port", str(port)],
                              stdout=subprocess.PIPE, text=True)
    try:
        while str(port) not in server.stdout.readline():
            assert server.poll() is None
        file = tmp_path / "url.json"
        common = ("--rounds", 1, "--seconds", 1, "--connections", 1, "--pid", server.pid, "--json", file)
        done = bench("capacity", tmp_path, "--url", f"http://127.0.0.1:{port}/a.txt", *common)
        assert done.returncode == 0, done.stderr
        report = json.loads(file.read_text())
        assert report["works"][0]["points"][0]["cpu_us"] > 0 and report["memory"] is None
        assert "max_connections" not in report["suggestions"] and report["environment"]["uvhttp"] is None
        done = bench("capacity", tmp_path, "--url", f"http://127.0.0.1:{port}/b.txt", *common)
        assert done.returncode == 1 and "answers 404" in done.stderr
        done = bench("capacity", tmp_path, "--url", "http://192.0.2.1/", *common)
        assert done.returncode == 1 and "only http://127.0.0.1:PORT/ can be measured" in done.stderr
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


SHAPES = {"connections": (10, 60), "routes": (3, 2000), "fields": (2, 64), "body-size": (13, 5000), "idle-memory": (100, 300)}


@two_cores
@real_wrk
@pytest.mark.parametrize("name", list(SHAPES))
def test_each_curve_from_end_to_end(tmp_path, name):
    file = tmp_path / "scale.json"
    done = bench("scale", BUILD, "--rounds", 1, "--seconds", 1, "--only", name, "--points", *SHAPES[name], "--json", file)
    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text())
    assert (report["kind"], report["format"]) == ("scale", 1)
    one, = report["curves"]
    assert one["name"] == name and one["title"] in done.stdout and one["x_scale"] == "log" and one["left_out"] == []
    peers = ["uvhttp, memory", "uvhttp, file"] if name == "body-size" else ["uvhttp"]
    assert [(point["peer"], point["x"]) for point in one["points"]] == [(peer, x) for peer in peers for x in SHAPES[name]]
    for point in one["points"]:
        assert point["counted"] == 1 and point["fault"] is None
        if name == "idle-memory":
            assert 0 < point["bytes"] < 100_000 and point["kernel_bytes"] >= 0 and point["rss_kb"] > 0
        else:
            assert point["cpu_us"] > 0 and point["rps"] > 0 and point["p99_ms"] > 0
    if name == "connections":
        assert [point["busy"] for point in one["points"]] == [10, 50]


def test_curves_are_all_there():
    assert scale.NAMES == ["connections", "routes", "fields", "body-size", "idle-memory"] and set(SHAPES) == set(scale.NAMES)
    ends = {one.name: (one.points[0], one.points[-1]) for one in scale.CURVES}
    assert ends["connections"] == ends["routes"] == (10, 10000) and ends["fields"] == (2, 64)


def test_a_point_without_a_run_that_counts_is_left_out_with_its_reason():
    points = [{"peer": "uvhttp", "x": 2, **load.summarize([{"counted": False, "fault": "7 timeouts"}])}]
    finished = scale.finish(scale.CURVES[2], points, [{"peer": "uvhttp", "x": 64, "reason": "too many"}])
    assert finished["points"] == []
    assert finished["left_out"] == [{"peer": "uvhttp", "x": 64, "reason": "too many"}, {"peer": "uvhttp", "x": 2, "reason": "7 timeouts"}]


def test_costs_are_compared_with_the_same_peer(capsys):
    def point(peer, x, cpu_us):
        return {"peer": peer, "x": x, "cpu_us": cpu_us, "user_us": 1, "rps": 1, "p99_ms": 1, "counted": 1, "runs": 1,
                "spread": {"cpu_us": [cpu_us, cpu_us]}}

    one = {"title": "T", "x_title": "bytes", "base_x": 13, "y": "cpu_us", "left_out": [{"peer": "a", "x": 9, "reason": "why"}],
           "points": [point("a", 13, 4.0), point("a", 100, 6.0), point("b", 13, 8.0), point("b", 100, 8.0)]}
    assert [row[-1] for row in bench_scale.curve_rows(one)] == ["x", "1.00", "1.50", "1.00", "1.00"]
    bench_scale.print_curves([one])
    assert "left out: a at 9: why" in capsys.readouterr().out
