"""Functions for handlers that read the state of request and response, and the removal of response
fields."""

import pytest
import raw


def test_removed_fields_are_not_sent(server):
    response = server.request("GET", "/asking/page")
    assert response.status == 203
    assert response.body.decode() == "<p>Grüße</p>"
    assert response.all("Content-Type") == ["text/html; charset=utf-8"]
    assert response.all("X-Kept") == ["1"] and response.all("X-Gone") == []


def test_removed_content_type_is_not_sent(server):
    response = server.request("GET", "/asking/page?untyped")
    assert response.body == b"?" and response.get("Content-Type") is None


def test_loop_time_is_constant_within_iteration(server):
    times = []
    for _ in range(3):
        before, after, response, request = map(int,
                                               server.request("GET", "/asking/now").body.split())
        assert (before, response, request) == (after, 1, 1)
        times.append(before)
    # Each of these loop iterations took at least five milliseconds.
    assert times[1] >= times[0] + 5 and times[2] >= times[1] + 5


def test_pending_reports_queued_bytes(start):
    server = start(write_backlog=200_000)
    with server.connect(receive_buffer=4096) as slow:
        slow.send(raw.request("GET", "/asking/pending?least=134464"))
        most, left = map(int, slow.response().body.rsplit(b"\n", 2)[-2].split())
    # A chunk of 64 KiB is rejected when it would exceed the limit.
    assert 200_000 - 65536 < most <= 200_000 + 65536
    assert left == 0


UPGRADE = "Connection: Upgrade"


@pytest.mark.http1
@pytest.mark.parametrize(
    "protocol, fields, version, said",
    [("websocket", [UPGRADE, "Upgrade: websocket"], "HTTP/1.1", b"yes"),
     ("websocket", ["Connection: keep-alive, upgrade", "Upgrade: other/2 , WebSocket"
                    ], "HTTP/1.1", b"yes"),
     ("other/2", [UPGRADE, "Upgrade: other/2"], "HTTP/1.1", b"yes"),
     ("other", [UPGRADE, "Upgrade: other/2"], "HTTP/1.1", b"no"),
     ("websocket", ["Upgrade: websocket"], "HTTP/1.1", b"no"),
     ("websocket", [UPGRADE], "HTTP/1.1", b"no"),
     ("websocket", [UPGRADE, "Upgrade: websocket"], "HTTP/1.0", b"no"),
     ("websocket", [UPGRADE, "Upgrade: websockets"], "HTTP/1.1", b"no"), ])
def test_offers_upgrade_checks_request(server, protocol, fields, version, said):
    assert server.request("GET", f"/asking/offers?protocol={protocol}", *fields,
                          version=version).body == said


def test_handler_caches_are_counted(start):
    server = start()
    for name in ("a", "b", "a", "c", "a"):
        server.request("GET", f"/asking/cached/{name}")
    stats = server.stats()
    assert (stats["cache_hits"], stats["cache_misses"]) == (3, 2)
