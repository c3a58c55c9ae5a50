"""HTTPS in `./dev bench http`: no figure for a wrong answer, another version of TLS, a certificate of somebody else, or
handshakes of the other kind. Most programs are doubles (double.py); some tests use the real ones."""

import os
import pathlib
import socket
import subprocess
import sys
import types

import pytest
from test_bench_http import BUILD, ROOT, WORKS, build, ours, two_cores  # noqa: F401

sys.path.insert(0, str(ROOT / "tools"))
from benchlib import Refused, family_debian, family_own, idle, tls, verify, works  # noqa: E402
from benchlib.contender import Place  # noqa: E402
sys.path.pop(0)

CHOSEN = ["tls-memory", "tls-100k", "tls-handshake", "tls-resumed"]


def place(folder):
    return Place(BUILD / "dist/bin", folder, folder, folder, [min(os.sched_getaffinity(0))], 1)


@pytest.fixture
def running(tmp_path):
    """Starts the real programs of ours for a work, as they are measured."""
    started = []

    def start(name):
        contender = family_own.Uvhttp()
        contender.version = ""
        works.write_files(tmp_path, [WORKS[name]])
        started.append(contender.start(place(tmp_path), WORKS[name]))
        return started[-1]

    yield start
    for server in started:
        server.stop()


# Refusals


@two_cores
@pytest.mark.parametrize("mode, reason", [
    ("status", "the status is 500 instead of 200"), ("truncate", "the body has"), ("cut", "the body was cut off after"),
    ("content", "the right length and the wrong content"),
    ("tls-1.2", "wrong answer from uvhttp"),
])
def test_a_wrong_answer_is_refused(build, mode, reason):  # noqa: F811
    done = ours(build, mode, *CHOSEN)
    assert done.code == 1 and "no figures for ours" in done.err
    for work in CHOSEN:
        run, = done.result(work, "uvhttp")["runs"]
        assert not run["counted"] and reason in run["fault"], work


@two_cores
@pytest.mark.parametrize("mode, reason", [
    ("late-status", "answers with an error status"), ("late-truncate", "but a right answer has"), ("late-close", "read errors"),
])
def test_a_run_with_errors_does_not_count(build, mode, reason):  # noqa: F811
    done = ours(build, mode, "tls-memory", "tls-handshake")
    assert done.code == 1
    for work in ("tls-memory", "tls-handshake"):
        run, = done.result(work, "uvhttp")["runs"]
        assert not run["counted"] and reason in run["fault"]


@two_cores
def test_handshakes_of_the_other_kind_do_not_count(build):  # noqa: F811
    done = ours(build, "other-handshakes", "tls-handshake", "tls-resumed")
    assert done.code == 1
    for work, reason in (("tls-handshake", "handshakes were resumed"), ("tls-resumed", "handshakes were full ones")):
        run, = done.result(work, "uvhttp")["runs"]
        assert not run["counted"] and reason in run["fault"]


@two_cores
@pytest.mark.parametrize("mode, work", [("debug-program", "tls-handshake"), ("debug", "tls-100k")])
def test_a_debug_build_is_refused(build, mode, work):  # noqa: F811
    done = ours(build, mode, work)
    assert done.code == 1 and "is not a Release build" in done.err


@two_cores
def test_idle_memory_is_a_curve_and_needs_right_answers(build):  # noqa: F811
    done = ours(build, "", "tls-idle")
    assert done.code == 0, done.err
    curve, = done.report["curves"]
    assert (curve["name"], curve["y"]) == ("tls-idle", "bytes") and curve["left_out"] == []
    assert [(point["peer"], point["x"]) for point in curve["points"]] == [("uvhttp", 500), ("uvhttp", 2000)]
    assert done.report["works"] == done.report["results"] == [] and "B each" in done.out
    done = ours(build, "content", "tls-idle")
    assert done.code == 1 and "idle connections, HTTPS, uvhttp" in done.err
    assert "the wrong content" in done.report["curves"][0]["left_out"][0]["reason"]


def test_the_certificate_of_somebody_else_is_refused(running, tmp_path):
    server = running("tls-memory")
    (tmp_path / "other").mkdir()
    server.tls = tls.context(tls.certificate(tmp_path / "other"))
    with pytest.raises(Refused, match="CERTIFICATE_VERIFY_FAILED"):
        verify.check_work(server, WORKS["tls-memory"])


def test_another_cipher_is_refused(running):
    server = running("tls-memory")
    server.tls.minimum_version = tls.ssl.TLSVersion.TLSv1_2
    server.tls.maximum_version = tls.ssl.TLSVersion.TLSv1_2
    with pytest.raises(Refused, match="it has agreed on TLSv1.2 and ECDHE.* instead of TLSv1.3"):
        verify.check_work(server, WORKS["tls-memory"])


# The real programs


@pytest.mark.parametrize("name", [name for name in WORKS if name.startswith("tls-")])
def test_ours_answers_rightly(running, name):
    work = WORKS[name]
    server = running(name)
    assert server.url(work).startswith("https://")
    assert verify.check_work(server, work)[0] > work.size


@pytest.mark.parametrize("name", ["tls-handshake", "tls-resumed"])
def test_the_load_counts_handshakes_and_bytes(running, name):
    work, server = WORKS[name], running(name)
    size, _ = verify.check_work(server, work)
    result = tls.run(BUILD / "dist/bin", server, work, 1, 4, max(os.sched_getaffinity(0)))
    assert result["requests"] > 4 and result["bytes"] == result["requests"] * size
    assert result["full"] + result["resumed"] == result["requests"]
    assert result["full"] == 4 if work.resume else result["resumed"] == 0
    assert tls.fault(result, work, 4) is None
    assert 0 < result["p50_us"] <= result["p90_us"] <= result["p99_us"] <= result["max_us"] * 1.04
    assert not any(result[key] for key in ("connect_errors", "read_errors", "write_errors", "status_errors", "timeouts"))


@pytest.mark.parametrize("end", ["plain", "closed"])
def test_the_load_reports_a_server_without_tls(end):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        if end == "closed":
            listener.close()
        process = subprocess.Popen([BUILD / "dist/bin/tls_load", str(port), "/", "--connections", "1", "--seconds", "0.1"],
                                   stdout=subprocess.PIPE)
        if end == "plain":
            connection = listener.accept()[0]
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            # Whether a second one is asked for depends on the time.
            listener.close()
        result = tls.json.loads(process.communicate()[0])
        assert result["requests"] == 0 and result["connect_errors"] >= 1


@pytest.mark.parametrize("arguments", [[], ["80"], ["0", "/"], ["80", "/", "--connections", "0"], ["80", "/", "--fast"]])
def test_the_load_refuses_nonsense(arguments):
    done = subprocess.run([BUILD / "dist/bin/tls_load", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage: tls_load" in done.stderr


def test_idle_connections_are_held_without_our_side_of_tls(running):
    server = running("tls-idle")
    with idle.Idle(server, "/") as crowd:
        crowd.grow(150)
        assert len(crowd.connections) == 150 and crowd.closed() == 0
        assert {type(one) for one in crowd.connections} == {socket.socket}
    server.stop()


@pytest.mark.parametrize("contender", [family_debian.H2o])
def test_others_get_the_same_certificate(contender, tmp_path):
    one, where = contender(), place(tmp_path)
    text = one.tls_config(where, WORKS["tls-memory"])
    assert str(tls.certificate(tmp_path)) in text
    assert one.tls_config(where, types.SimpleNamespace(tls=False)) == ""
