"""Stop of the server: open exchanges finish, idle connections close, new ones are rejected, and
every way to stop is orderly."""

import json
import signal

import pytest
import raw
from wire_server import eventually, free_port


def refuses_connections(server):
    try:
        server.connect().close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # the connection was established when the listener was closed
        return False
    return False


def stop_listening(server):
    server.signal(signal.SIGTERM)
    eventually(lambda: refuses_connections(server), "the listener is closed")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_of_idle_server_exits_with_0(start, number):
    server = start()
    assert server.request().status == 200
    server.signal(number)
    assert server.wait() == 0


def test_drain_delay_serves_before_the_drain(start):
    server = start(drain_delay=3)
    with server.connect() as connection:
        server.signal(signal.SIGTERM)
        eventually(lambda: "not ready" in server.log(), "the server is not ready")
        response = connection.request()
        assert response.status == 200 and not response.has_close()
        connection.assert_closed()
    assert server.wait() == 0


def test_stop_finishes_exchange_and_closes_idle_connections(start):
    server = start()
    with server.connect() as busy, server.connect() as idle, server.connect() as fresh:
        assert idle.request().status == 200
        busy.send(raw.request("GET", "/hold/stop"))
        server.wait_for_pending("stop")
        stop_listening(server)
        idle.assert_closed()
        fresh.assert_closed()
        busy.assert_silent()
        server.signal(signal.SIGUSR1)
        response = busy.response()
        assert response.body == b"released\n"
        assert response.has_close(), "the last response has Connection: close"
        busy.assert_closed()
    assert server.wait() == 0


def test_stop_finishes_large_response(start):
    server = start()
    with server.connect(receive_buffer=16384) as connection:
        connection.send(raw.request("GET", "/large?size=20000000"))
        connection.head()
        first = connection.receive_exactly(1000)
        stop_listening(server)
        assert first + connection.receive_exactly(20000000 - 1000) == raw.pattern(20000000)
        connection.assert_closed()
    assert server.wait() == 0


def test_stop_finishes_upload(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("POST", "/echo", "Content-Length: 10") + b"01234")
        server.settle()
        server.settling.close()
        server.settling = None
        stop_listening(server)
        connection.send(b"56789")
        response = connection.response()
        assert response.body == b"0123456789" and response.has_close()
        connection.assert_closed()
    assert server.wait() == 0


def test_stop_finishes_deferred_work(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", "/defer?how=gate"))
        server.settle()
        stop_listening(server)
        server.signal(signal.SIGUSR1)
        response = connection.response()
        assert response.body == b"deferred\n" and response.has_close()
        connection.assert_closed()
    assert server.wait() == 0


def test_stop_ignores_requests_after_last_response(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hold/last") + raw.request())
        server.wait_for_pending("last")
        stop_listening(server)
        server.signal(signal.SIGUSR1)
        assert connection.response().has_close()
        connection.assert_closed()
    assert server.wait() == 0


def test_second_signal_ends_stuck_server(start):
    server = start(drain_timeout=3600)
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hold/stuck"))
        server.wait_for_pending("stuck")
        stop_listening(server)
        connection.assert_silent()
        assert server.process.poll() is None
        server.signal(signal.SIGTERM)
        assert server.wait() == 0


def test_drain_timeout_ends_stuck_server(start):
    server = start(drain_timeout=1)
    with server.connect() as pending, server.connect() as upload, server.connect(
            receive_buffer=16384) as download:
        pending.send(raw.request("GET", "/hold/stuck"))
        upload.send(raw.request("POST", "/echo", "Content-Length: 10") + b"0")
        download.send(raw.request("GET", "/large?size=30000000"))
        server.wait_for_pending("stuck")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        with pytest.raises((AssertionError, ConnectionResetError)):
            pending.response()


def test_stop_with_connections_in_all_states(start):
    server = start(drain_timeout=1)
    states = [
        b"",
        raw.request(),
        raw.request()[:10],
        raw.request("POST", "/echo", "Content-Length: 9") + b"1",
        raw.request("GET", "/hold/many"),
        raw.request("GET", "/large?size=9000000"), b"bad\r\n\r\n",
        raw.request() * 50
    ]
    crowd = [server.connect() for _ in range(len(states) * 25)]
    for i, connection in enumerate(crowd):
        connection.send(states[i % len(states)])
    server.wait_for_pending("many", 25)
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    for connection in crowd:
        connection.close()


@pytest.mark.parametrize("target", ["/stop", "/stop?thread"])
def test_handler_stops_server(start, target):
    server = start()
    with server.connect() as connection, server.connect() as idle:
        assert idle.request().status == 200
        response = connection.request("GET", target)
        assert response.body == b"stopping\n"
        connection.assert_closed()
        idle.assert_closed()
    assert server.wait() == 0


def test_free_closes_open_connections(start):
    server = start()
    states = [
        b"",
        raw.request(),
        raw.request()[:10],
        raw.request("POST", "/echo", "Content-Length: 9") + b"1",
        raw.request("GET", "/hold/free"),
        raw.request("GET", "/large?size=9000000&how=copy"), b"bad\r\n\r\n",
        raw.request("GET", "/large?size=9000000&how=borrowed")
    ]
    crowd = [server.connect() for _ in range(len(states) * 5)]
    for i, connection in enumerate(crowd):
        connection.send(states[i % len(states)])
    server.wait_for_pending("free", 5)
    server.signal(signal.SIGUSR2)
    assert server.wait() == 0
    for connection in crowd:
        connection.close()


def test_restart_gets_same_port(start):
    # Connections of the old server are still in TIME_WAIT. The new server can bind the port all the
    # same.
    first = start(port=free_port())
    with first.connect() as connection:
        assert connection.request("GET", "/hello", "Connection: close").status == 200
        connection.assert_closed()
    first.stop()
    second = start(port=first.port)
    assert second.port == first.port
    assert second.request().status == 200


def test_stats_during_stop(start):
    server = start()
    with server.connect() as connection:
        connection.send(raw.request("GET", "/hold/stats"))
        server.wait_for_pending("stats")
        assert json.loads(server.request("GET", "/stats").body)["active_connections"] == 2
    server.signal(signal.SIGTERM)
    server.signal(signal.SIGUSR1)
    assert server.wait() == 0


def test_stats_count_connection_memory(start):
    """The memory in the stats is part of the heap. It grows with open connections and is
    released."""
    server = start(buffer_size=4096, max_header_size=2048, max_trailer_size=2048)
    before = server.stats()["memory"]
    crowd = [server.connect() for _ in range(200)]
    for connection in crowd:
        connection.send(raw.request("GET", "/hold/crowd"))
    server.wait_for_pending("crowd", 200)
    pending = server.stats()
    assert before + 200 * 4096 < pending["memory"] <= pending["heap_live"]
    server.release("crowd")
    for connection in crowd:
        assert connection.response().status == 200
        connection.close()
    server.wait_for_connections(0)
    after = server.stats()["memory"]
    assert after <= pending["memory"]
    for _ in range(300):
        assert server.request().status == 200
    assert server.stats()["memory"] <= after
