"""Priorities of HTTP/2: the field Priority and PRIORITY_UPDATE frames (RFC 9218). Numbers in
comments are its sections.

A first response uses up the window of the connection, so that others are queued. Each extension of
the window then shows which stream the server prefers.
"""

import http2_client as h2
import pytest
from http2_client import Client

SIZE = 40000


@pytest.fixture
def blocked(server):
    """A client with large windows of streams, and none of the connection."""
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 2**20), grants=False) as client:
        client.sync()
        client.response(client.request("GET", f"/large?size={h2.DEFAULT_WINDOW}"))
        assert client.window == 0
        yield client


def queue(client, *priorities):
    """One large response for each priority; returns the streams, all of which wait."""
    numbers = []
    for value in priorities:
        fields = [("priority", value)] if value is not None else []
        numbers.append(client.request("GET", f"/large?size={SIZE}", *fields))
    client.sync()
    assert all(not client.streams[number].body for number in numbers)
    return numbers


def served(client, size, numbers):
    """Extends the window; returns the number of new bytes of each stream."""
    before = [len(client.streams[number].body) for number in numbers]
    client.grant(0, size)
    client.sync()
    return [len(client.streams[number].body) - old for number, old in zip(numbers, before)]


@pytest.mark.parametrize("first, second", [
    ("u=5", "u=1"), ("u=7", "u=6"), (None, "u=2"), ("u=4", None), ("u=1", "u=0"), ("u=4", "i"),
    ("u=7, i", "u=6, i"), ("", "u=2"), ("i, u=5", "u=4"), ("u=4;x=1", "x=\"y\", u=3"),
    ("u=4, u=5", "u=5, u=4"),
])
def test_lower_urgency_value_comes_first(blocked, first, second):
    # 4.1: 0 is the most urgent, 3 the default; the last of repeated members counts
    numbers = queue(blocked, first, second)
    assert served(blocked, 10000, numbers) == [0, 10000]
    assert served(blocked, SIZE - 10000 + 500, numbers) == [500, SIZE - 10000]
    blocked.grant(0, SIZE)
    for number in numbers:
        assert len(blocked.response(number).body) == SIZE


@pytest.mark.parametrize("value", [
    "u=8", "u=-1", "u=1.5", "u=\"1\"", "u=?1", "u", "u=a", "x", "U=0", "u=(0)", "u=0 i", "u=0,",
    "=", "u=0;", "\x7f", "u=99999999999999999999", "u=0, b=:"
])
def test_invalid_priority_has_default_urgency(blocked, value):
    # 4: unknown, out of range or wrong type: ignored; 8.3.1 of RFC 8941: invalid: the whole field
    if value == "\x7f":
        value = "u=0, \"\\x\""
    numbers = queue(blocked, value, "u=2", "u=4")
    assert served(blocked, SIZE, numbers) == [0, SIZE, 0]
    assert served(blocked, SIZE, numbers) == [SIZE, 0, 0]


def test_non_incremental_streams_are_sent_one_after_the_other(blocked):
    # 10: in the order of their identifiers
    numbers = queue(blocked, None, None, None)
    assert served(blocked, SIZE, numbers) == [SIZE, 0, 0]
    assert served(blocked, SIZE + 100, numbers) == [0, SIZE, 100]


def test_incremental_streams_share_the_connection(blocked):
    # 10
    numbers = queue(blocked, "i", "i", "i")
    for _ in range(2):
        shares = served(blocked, 48000, numbers)
        assert min(shares) > 0, shares
    assert sum(len(blocked.streams[number].body) for number in numbers) == 96000


def test_incremental_is_a_boolean(blocked):
    # 4.2
    numbers = queue(blocked, "i=?0", "i=?0")
    assert served(blocked, 20000, numbers) == [20000, 0]


def test_update_raises_urgency(blocked):
    # 7.1
    numbers = queue(blocked, "u=2", "u=5")
    blocked.send(h2.priority_update(numbers[1], "u=1"))
    assert served(blocked, 10000, numbers) == [0, 10000]


def test_update_within_response_changes_the_order(blocked):
    # 7.1
    numbers = queue(blocked, "u=2", "u=3")
    assert served(blocked, 10000, numbers) == [10000, 0]
    blocked.send(h2.priority_update(numbers[0], "u=7"))
    assert served(blocked, 10000, numbers) == [0, 10000]
    blocked.send(h2.priority_update(numbers[0], "u=0"))
    assert served(blocked, 10000, numbers) == [10000, 0]


def test_update_without_parameters_restores_defaults(blocked):
    # 7: the frame replaces all parameters
    numbers = queue(blocked, "u=1", "u=2")
    blocked.send(h2.priority_update(numbers[0], ""))
    assert served(blocked, 10000, numbers) == [0, 10000]


def test_update_before_its_request_is_kept(blocked):
    # 7.1: may arrive first, and then replaces the field
    future = blocked.next_stream + 2
    blocked.send(h2.priority_update(future, "u=1"))
    numbers = queue(blocked, "u=2", "u=6")
    assert numbers[1] == future
    assert served(blocked, 10000, numbers) == [0, 10000]


def test_last_update_before_its_request_wins(blocked):
    # 7.1
    future = blocked.next_stream + 2
    blocked.send(h2.priority_update(future, "u=7"), h2.priority_update(future, "u=1"))
    numbers = queue(blocked, "u=2", "u=6")
    assert served(blocked, 10000, numbers) == [0, 10000]


@pytest.mark.parametrize("wrong", [
    h2.priority_update(0, "u=1"), h2.priority_update(1, "u=1", carrier=1),
    h2.priority_update(2, "u=1"),
], ids=["stream-0", "on-a-stream", "push-stream"])
def test_invalid_update_ends_connection(client, wrong):
    # 7.1
    client.request("POST", "/echo", end=False)
    client.send(wrong)
    client.expect_goaway("PROTOCOL_ERROR")


def test_update_for_closed_stream_is_ignored(client):
    # 7.1
    assert client.get().status == 200
    client.send(h2.priority_update(1, "u=1"))
    assert client.get().status == 200


def test_deprecated_priority_frames_do_not_matter(blocked):
    # RFC 9113 5.3.2
    numbers = queue(blocked, None, None)
    blocked.send(h2.priority(numbers[0], depends_on=numbers[1], weight=1),
                 h2.priority(numbers[1], weight=256, exclusive=True))
    assert served(blocked, 10000, numbers) == [10000, 0]


def test_server_announces_no_deprecated_priorities(client):
    # 2.1
    client.sync()
    assert client.peer.get(h2.NO_RFC7540_PRIORITIES) == 1


def test_urgent_stream_overtakes_one_that_is_being_sent(blocked):
    numbers = queue(blocked, "u=3")
    assert served(blocked, 10000, numbers) == [10000]
    numbers += queue_after(blocked, "u=0")
    assert served(blocked, 10000, numbers) == [0, 10000]


def test_urgent_stream_overtakes_one_that_the_client_reads_slowly(server):
    # The system accepts megabytes for a fast connection, which nothing can overtake.
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 2**30), grants=False,
                receive_buffer=65536) as client:
        client.send(h2.window_update(0, 2**30))
        client.window += 2**30
        slow = client.streams[client.request("GET", "/large?size=16000000", ("priority", "u=5"))]
        client.until(lambda: len(slow.body) > 4000000, "no data")
        before = len(slow.body)
        urgent = client.request("GET", "/hello", ("priority", "u=0"))
        client.until(lambda: client.streams[urgent].ended, "no response")
        assert len(slow.body) - before < 800000


def queue_after(client, value):
    number = client.request("GET", f"/large?size={SIZE}", ("priority", value))
    client.sync()
    return [number]


def test_blocked_urgent_stream_lets_others_pass(server):
    # 10: what cannot be sent does not hold up the rest
    with Client(server.port, (h2.INITIAL_WINDOW_SIZE, 10), grants=False) as client:
        client.sync()
        urgent = client.request("GET", f"/large?size={SIZE}", ("priority", "u=0"))
        client.sync()
        other = client.request("GET", "/hello", ("priority", "u=7"))
        client.sync()
        client.grant(other, 100)
        assert client.response(other).body == b"Hello, world\n"
        assert len(client.streams[urgent].body) == 10
