"""Flow control of HTTP/2 in both directions (RFC 9113 sections 5.2 and 6.9). Numbers in comments
are its sections."""

import http2_client as h2
import pytest
import raw
from http2_client import DEFAULT_WINDOW, Client
from test_http1_bodies import fnv

LARGE = "/large?size=200000"


@pytest.fixture
def manual(server):
    """A client that extends no window by itself."""
    with Client(server.port, grants=False) as client:
        client.sync()
        yield client


def open_with_window(server, size, **options):
    """A client whose streams begin with this window."""
    client = Client(server.port, (h2.INITIAL_WINDOW_SIZE, size), **options)
    client.sync()
    return client


# ---- windows of the client ----


def test_body_stops_at_the_window(manual):
    # 6.9.1
    number = manual.request("GET", LARGE)
    manual.until(lambda: manual.window == 0, "the window was not used")
    manual.sync()
    assert manual.streams[number].body == raw.pattern(DEFAULT_WINDOW)
    manual.grant(0, 1000)
    manual.grant(number, 500)
    manual.sync()
    assert len(manual.streams[number].body) == DEFAULT_WINDOW + 500
    manual.grant(0, 200000)
    manual.grant(number, 200000)
    assert manual.response(number).body == raw.pattern(200000)


def test_window_of_connection_is_shared_by_streams(manual):
    # 6.9.1
    numbers = [manual.request("GET", "/large?size=50000") for _ in range(2)]
    manual.sync()
    assert sum(len(manual.streams[number].body) for number in numbers) == DEFAULT_WINDOW
    manual.grant(0, 50000)
    for number in numbers:
        assert manual.response(number).body == raw.pattern(50000)


def test_head_arrives_with_a_window_of_0(server):
    # 6.9: only DATA is limited
    with open_with_window(server, 0, grants=False) as client:
        number = client.request()
        client.sync()
        assert client.streams[number].status == 200 and not client.streams[number].body
        client.grant(number, 13)
        assert client.response(number).body == b"Hello, world\n"


def test_empty_body_needs_no_window(server):
    # 6.9: END_STREAM on an empty frame
    with open_with_window(server, 0, grants=False) as client:
        for path in ("/large?size=0", "/status/204"):
            assert client.get(path).body == b""
        assert client.response(client.request("HEAD", "/hello")).status == 200
        number = client.request("GET", "/pieces-out?size=0")
        assert client.response(number).body == b""


def test_trailers_need_no_window(server):
    # 6.9
    with open_with_window(server, 0, grants=False) as client:
        number = client.request("GET", "/trailers-out", ("te", "trailers"))
        client.sync()
        client.grant(number, 2**20)
        assert client.response(number).trailers


@pytest.mark.parametrize("path", ["/large?size=50", "/pieces-out?size=50", "/pulled?size=50"])
def test_window_of_one_byte_at_a_time(server, path):
    with open_with_window(server, 1) as client:
        response = client.get(path)
        assert response.body == raw.pattern(50)


def test_larger_initial_window_applies_to_open_streams(manual):
    # 6.9.2
    number = manual.request("GET", LARGE)
    manual.until(lambda: manual.window == 0, "the window was not used")
    manual.grant(0, 200000)
    manual.streams[number].window += 1000
    manual.send(h2.settings((h2.INITIAL_WINDOW_SIZE, DEFAULT_WINDOW + 1000)))
    manual.sync()
    assert len(manual.streams[number].body) == DEFAULT_WINDOW + 1000


def test_smaller_initial_window_makes_windows_negative(manual):
    # 6.9.2
    number = manual.request("GET", LARGE)
    manual.until(lambda: manual.window == 0, "the window was not used")
    manual.grant(0, 200000)
    manual.send(h2.settings((h2.INITIAL_WINDOW_SIZE, 1000)))
    manual.sync()
    manual.streams[number].window = 1000 - DEFAULT_WINDOW + (DEFAULT_WINDOW - 1000)
    manual.send(h2.window_update(number, DEFAULT_WINDOW - 1000))  # now 0
    manual.sync()
    assert len(manual.streams[number].body) == DEFAULT_WINDOW
    manual.grant(number, 1)
    manual.sync()
    assert len(manual.streams[number].body) == DEFAULT_WINDOW + 1


def test_initial_window_does_not_change_the_connection(manual):
    # 6.9.2: only WINDOW_UPDATE does
    manual.send(h2.settings((h2.INITIAL_WINDOW_SIZE, 2**20)))
    manual.initial_window = 2**20
    number = manual.request("GET", LARGE)
    manual.sync()
    assert len(manual.streams[number].body) == DEFAULT_WINDOW


def test_blocked_stream_does_not_hold_up_others(server):
    with open_with_window(server, 10, grants=False) as client:
        blocked = client.request("GET", LARGE)
        client.sync()
        for _ in range(5):
            number = client.request("GET", "/hello")
            client.sync()
            client.grant(number, 100)
            assert client.response(number).body == b"Hello, world\n"
        assert len(client.streams[blocked].body) == 10


def test_window_update_of_0_resets_stream(client):
    # 6.9
    number = client.request("POST", "/echo", end=False)
    client.send(h2.window_update(number, 0))
    client.expect_reset(number, "PROTOCOL_ERROR")


def test_window_update_of_0_for_connection_ends_it(client):
    # 6.9
    client.send(h2.window_update(0, 0))
    client.expect_goaway("PROTOCOL_ERROR")


def test_window_above_maximum_resets_stream(client):
    # 6.9.1
    number = client.request("POST", "/echo", end=False)
    client.send(h2.window_update(number, h2.MAX_WINDOW))
    client.expect_reset(number, "FLOW_CONTROL_ERROR")


def test_window_above_maximum_for_connection_ends_it(client):
    # 6.9.1
    client.send(h2.window_update(0, h2.MAX_WINDOW))
    client.expect_goaway("FLOW_CONTROL_ERROR")


def test_windows_of_the_maximum_are_accepted(client):
    # 6.9.1
    number = client.request("POST", "/echo", end=False)
    client.send(h2.window_update(number, h2.MAX_WINDOW - DEFAULT_WINDOW),
                h2.window_update(0, h2.MAX_WINDOW - DEFAULT_WINDOW), h2.data(number, b"x", True))
    assert client.response(number).body == b"x"


def test_initial_window_that_overflows_a_stream_ends_connection(client):
    # 6.9.2
    number = client.request("POST", "/echo", end=False)
    client.send(h2.window_update(number, 2**20),
                h2.settings((h2.INITIAL_WINDOW_SIZE, h2.MAX_WINDOW)))
    client.expect_goaway("FLOW_CONTROL_ERROR")


def test_larger_frames_of_the_client_are_used(server):
    # 4.2: SETTINGS_MAX_FRAME_SIZE allows, and does not demand, larger frames
    with Client(server.port, (h2.MAX_FRAME_SIZE, 2**20), (h2.INITIAL_WINDOW_SIZE, 2**20)) as client:
        client.send(h2.window_update(0, 2**20))
        client.window += 2**20
        assert client.get("/large?size=500000").body == raw.pattern(500000)


def test_first_data_frames_are_small(server):
    # A browser begins with the first bytes of a page before a frame of 16 KiB is complete.
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 2**20)) as client:
        number = client.request("GET", LARGE)
        client.response(number)
        sizes = client.streams[number].sizes
        assert sizes[0] <= 4096 and max(sizes) <= h2.DEFAULT_FRAME_SIZE
        assert max(sizes) > 4096


# ---- windows of the server ----


def test_upload_beyond_the_windows_is_read(client):
    body = raw.pattern(900000)
    response = client.response(client.request("POST", "/digest", body=body))
    assert response.body == fnv(body)


def test_streamed_upload_beyond_the_windows_is_read(client):
    body = raw.pattern(900000)
    assert client.response(client.request("POST", "/pieces-echo", body=body)).body == body


def send_until_blocked(client, number, size):
    """Sends DATA within the windows until the server extends none; returns the number of bytes."""
    sent = 0
    while sent < size:
        client.sync()
        space = min(client.send_window, client.send_windows[number], 16384)
        if space <= 0:
            break
        client.send(h2.data(number, bytes(space)))
        client.send_window -= space
        client.send_windows[number] -= space
        sent += space
    return sent


def test_paused_body_bounds_the_upload(server, client):
    # The window follows the speed of the reader.
    number = client.request("POST", "/pieces-digest?pause", end=False)
    sent = send_until_blocked(client, number, 16 * 2**20)
    assert sent < 2**20
    server.request("GET", "/pieces-go-on")
    assert send_until_blocked(client, number, 300000) >= 300000
    client.send(h2.data(number, b"", end=True))
    assert client.response(number).status == 200


def test_window_grows_while_the_body_is_read(start):
    server = start(http2_stream_window=65535, http2_connection_window=400000)
    with Client(server.port) as client:
        client.sync()
        number = client.request("POST", "/digest", end=False)
        largest = 0
        for _ in range(60):
            send_within_stream(client, number, 16384)
            client.sync()
            largest = max(largest, client.send_windows[number])
        assert 300000 < largest <= 400000
        client.send(h2.data(number, b"", end=True))
        assert client.response(number).body == fnv(bytes(60 * 16384))


def test_paused_upload_does_not_hold_up_another(server, client):
    number = client.request("POST", "/pieces-digest?pause", end=False)
    send_until_blocked(client, number, 16 * 2**20)
    body = raw.pattern(300000)
    assert client.response(client.request("POST", "/digest", body=body)).body == fnv(body)
    server.request("GET", "/pieces-go-on")
    client.send(h2.data(number, b"", end=True))
    assert client.response(number).status == 200


def test_data_above_window_of_stream_is_error(client):
    # 6.9.1
    number = client.request("POST", "/pieces-digest?late", end=False)
    client.sync()
    client.send_window = 2**31  # of the connection: checked by the next test
    size = client.send_windows[number]
    frames = [h2.data(number, bytes(16384)) for _ in range(size // 16384 + 2)]
    client.send(*frames)
    stream = client.streams[number]
    client.until(lambda: stream.reset or client.goaway, "no error")
    assert "FLOW_CONTROL_ERROR" in (stream.reset, client.goaway and client.goaway[1])


def test_data_above_window_of_connection_ends_it(client):
    # 6.9.1
    client.sync()
    numbers = [client.request("POST", "/pieces-digest?late", end=False) for _ in range(60)]
    client.sync()
    window = client.send_window
    for number in numbers:
        space = client.send_windows[number]
        while space > 0 and window > -32768:
            size = min(space, 16384)
            try:
                client.send(h2.data(number, bytes(size)))
            except (ConnectionResetError, BrokenPipeError):
                break
            space -= size
            window -= size
    assert window <= -16384, "the streams cannot exceed the window of the connection"
    client.expect_goaway("FLOW_CONTROL_ERROR")


def test_padding_counts_and_is_given_back(client):
    # 6.9.1: the whole payload counts
    number = client.request("POST", "/digest", end=False)
    client.sync()
    for _ in range(600):
        client.until(lambda: min(client.send_window, client.send_windows[number]) >= 257,
                     "no window")
        client.send(h2.data(number, b"x", padding=255))
        client.send_window -= 257
        client.send_windows[number] -= 257
    client.send(h2.data(number, b"", end=True))
    assert client.response(number).body == fnv(b"x" * 600)


def test_refused_uploads_give_their_window_back(client):
    # 6.9: DATA of a stream that is closed counts for the connection
    for _ in range(100):
        number = client.request("POST", "/small-body", end=False)
        client.sync()
        space = min(client.send_window, client.send_windows[number], 16384)
        assert space == 16384, "the window of the connection was not given back"
        client.send(h2.data(number, bytes(space)))
        client.send_window -= space
        client.until(lambda: client.streams[number].ended, "no response")
        assert client.streams[number].status == 413
        if not client.streams[number].reset:
            client.send(h2.reset(number))
    assert client.get().status == 200


def send_within_stream(client, number, size):
    """DATA of that many bytes, for which the windows must have space."""
    while size > 0:
        client.sync()
        space = min(client.send_window, client.send_windows[number], 16384, size)
        assert space > 0, "a window was not given back"
        client.send(h2.data(number, bytes(space)))
        client.send_window -= space
        client.send_windows[number] -= space
        size -= space


def test_reset_uploads_give_their_window_back(client):
    # 6.9: also what no handler has read
    for _ in range(8):
        number = client.request("POST", "/pieces-digest?pause", end=False)
        send_within_stream(client, number, 200000)
        client.send(h2.reset(number))
    assert client.get().status == 200


def test_uploads_refused_late_give_their_window_back(server, client):
    for _ in range(8):
        number = client.request("POST", "/echo", ("x-undecided", "1"), end=False)
        send_within_stream(client, number, 200000)
        server.request("GET", "/decide?refuse")
        client.until(lambda: client.streams[number].ended, "no response")
        assert client.streams[number].status == 401
        if not client.streams[number].reset:
            client.send(h2.reset(number))
    assert client.get().status == 200


def test_paused_uploads_leave_the_rest_of_the_window_to_others(start):
    server = start(http2_stream_window=65535, http2_connection_window=100000)
    with Client(server.port) as client:
        paused = client.request("POST", "/pieces-digest?late", end=False)
        send_within_stream(client, paused, 65535)  # more than half of the connection's
        body = raw.pattern(300000)
        assert client.response(client.request("POST", "/digest", body=body)).body == fnv(body)


def test_data_after_reset_of_client_gives_window_back(client):
    # 5.1, 6.9: frames in transit on a stream that the server has reset
    client.sync()
    for _ in range(30):
        number = client.request("POST", "/echo", ("X-Upper", "malformed"), end=False)
        space = min(client.send_window, 16384)
        assert space == 16384, "the window of the connection was not given back"
        client.send(h2.data(number, bytes(space), end=True))
        client.send_window -= space
        client.sync()
        assert client.streams[number].reset or client.streams[number].ended
