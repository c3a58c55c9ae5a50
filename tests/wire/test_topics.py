"""Topics on one worker and on two: delivery to subscribers, once and in order, the number of system
calls, and disconnects during delivery."""

import collections
import re
import subprocess

import pytest

from topics_server import TopicsServer, eventually


@pytest.fixture
def start():
    running = []

    def starter(*arguments, **variables):
        running.append(TopicsServer(*arguments, **variables))
        return running[-1]

    yield starter
    for one in running:
        one.stop()


@pytest.fixture(params=[1, 2], ids=["1 worker", "2 workers"])
def server(request, start):
    return start(request.param)


def on_both_workers(server, *patterns):
    """At least one member on each of two workers."""
    members = [server.join(*patterns) for _ in range(6)]
    assert len({member.worker() for member in members}) == 2
    return members


def test_patterns_match_topics(server):
    """Each pattern matches its topics. A message that matches several patterns of a member is
    delivered once."""
    members = {
        pattern: server.join(*pattern.split())
        for pattern in ("room/7", "room/+", "room/#", "#", "room/7 room/+ room/# # +/7", "room/8",
                        "+")
    }
    publisher = server.join()
    publisher.send_texts("pub room/7 seven", "pub room/8 eight", "pub room/7/typing typing",
                         "pub room room", "pub other other")
    expected = {
        "room/7": ["seven"], "room/+": ["seven",
                                        "eight"], "room/#": ["seven", "eight", "typing", "room"],
        "#": ["seven", "eight", "typing", "room",
              "other"], "room/8": ["eight"], "+": ["room", "other"]
    }
    expected["room/7 room/+ room/# # +/7"] = expected["#"]
    for pattern, member in members.items():
        assert member.get_all(len(expected[pattern])) == expected[pattern], pattern
        member.assert_nothing_else()


def test_publisher_is_excluded(server):
    first, second = server.join("room"), server.join("room")
    first.send_texts("pub room one")
    assert second.get() == "one"
    second.send_texts("pub room two")
    assert first.get() == "two"
    first.assert_nothing_else()
    second.assert_nothing_else()


def test_http_request_publishes_to_all(server):
    members = [server.join("news/+") for _ in range(4)]
    server.publish("news/a", "x", times=3)
    for member in members:
        assert member.get_all(3) == ["x"] * 3


def test_message_type_is_kept(server):
    publisher, member = server.join(), server.join("room")
    publisher.send_texts("bin room \u00e4", "pub room \u00e4")
    assert member.get_all(2) == ["\u00e4".encode(), "\u00e4"]


def test_messages_of_publisher_keep_order_on_all_workers(start):
    server = start(2)
    members = on_both_workers(server, "a", "b")
    publishers = [server.join() for _ in range(4)]
    for round_ in range(20):
        for publisher in publishers:
            publisher.send_texts(f"many {'ab'[round_ % 2]} 30")
    for member in members:
        got = member.get_all(4 * 20 * 30)
        # Each publisher counts to 29 twenty times, alternately for a and b. The messages of a
        # number and topic arrive as often as they were sent, and never before one that was sent
        # earlier.
        times = collections.Counter(got)
        assert set(times.values()) == {40} and len(times) == 60
        for topic in "ab":
            seen = collections.Counter()
            for text in got:
                name, number = text.split()
                if name == topic:
                    seen[int(number)] += 1
                    assert int(number) == 0 or seen[int(number)] <= seen[int(number) - 1]
        member.assert_nothing_else()


def test_subscriber_at_publish_gets_message(start):
    server = start(1)
    member, publisher = server.join(), server.join()
    # One packet, so one loop iteration: the message is sent after the member has left the topic,
    # and must arrive all the same.
    publisher.subscribe("room")
    member.subscribe("room")
    publisher.send_texts("kick room")
    assert member.get() == "bye"
    assert publisher.get() == "ok room"
    publisher.send_texts("pub room early", "sub room", "worker")
    assert publisher.get_all(2) == ["ok room", "0 worker"]


def test_later_subscriber_gets_no_earlier_message(start):
    server = start(1)
    first, second = server.join("room"), server.join()
    second.send_texts("pub other x", "many room 3", "sub room", "sub other")
    assert second.get_all(2) == ["ok room", "ok other"]
    assert first.get_all(3) == ["room 0", "room 1", "room 2"]
    second.assert_nothing_else()


def test_duplicate_subscription_and_limits(start):
    server = start(1, max_subscriptions=3)
    member = server.join("a", "a", "b/+", "c/#")
    assert member.request("sub d") == "UVHTTP_EFULL d"
    assert member.request("sub a") == "ok a"
    server.publish("a", "x")
    assert member.get() == "x"
    member.assert_nothing_else()
    member.unsubscribe("a")
    assert member.request("unsub a") == "UVHTTP_EINVAL a"
    member.subscribe("d")
    for bad in ("", "a#", "a/#/b", "+a", "x" * 256):
        assert member.request(f"sub {bad}") == f"UVHTTP_EINVAL {bad}"
    for bad in ("", "a/+", "#", "x" * 256):
        assert member.request(f"pub {bad} x") == f"UVHTTP_EINVAL {bad}"
    member.unsubscribe("d")
    member.subscribe("x" * 255)


@pytest.mark.parametrize("workers", [1, 2])
def test_presence_counts_subscribers(start, workers):
    server = start(workers, presence=1)
    watcher = server.join("presence")
    assert watcher.get() == "presence 1"
    members = [server.join("room/7") for _ in range(3)]
    assert sorted(watcher.get_all(3)) == ["room/7 1", "room/7 2", "room/7 3"]
    assert watcher.request("count room/7") == "3 room/7"
    assert watcher.request("count room/+") == "0 room/+"
    members[0].unsubscribe("room/7")
    members[1].leave()
    members[2].leave()
    assert sorted(watcher.get_all(3)) == ["room/7 0", "room/7 1", "room/7 2"]
    assert server.count("room/7") == 0


def test_thousand_subscribers(server):
    members = [server.join("all") for _ in range(1000)]
    assert server.count("all") == 1000
    server.publish("all", "x" * 100, times=5)
    for member in members:
        assert member.get_all(5) == ["x" * 100] * 5
    for member in members[::2]:
        member.leave()
    eventually(lambda: server.count("all") == 500, "half of the members are disconnected")
    members[1].send_texts("pub all y")
    for member in members[3::2]:
        assert member.get() == "y"
    members[1].assert_nothing_else()


@pytest.mark.parametrize("slow, others", [(0, 2), (1, 2), (2, 2)],
                         ids=["close", "drop newest", "drop oldest"])
def test_slow_consumer_does_not_delay_others(start, slow, others):
    server = start(1, slow=slow, max_queue=65536)
    lazy = server.join("room", receive_buffer=4096)
    members = [server.join("room", "left") for _ in range(others)]
    text = "x" * 10000
    for _ in range(100):
        server.publish("room", text, times=10)
        for member in members:
            for _ in range(10):
                got = member.get()
                if got.startswith("left"):
                    assert (got, slow) == ("left 1013", 0)
                    got = member.get()
                assert got == text
    if slow == 0:
        eventually(lambda: server.count("room") == others, "the slow member is dropped")
    else:
        assert server.count("room") == others + 1
        assert lazy.get() == text


def test_slow_consumers_share_queued_message(start):
    """The endpoint's memory has a queued message once, whichever member queues it first. The last
    one releases it."""
    server = start(2, slow=1, max_queue=500_000)
    observer = server.join()
    lazy = [server.join("room", receive_buffer=4096) for _ in range(8)]
    assert len({member.worker() for member in lazy}) == 2
    for _ in range(300):
        server.publish("room", "x" * 10_000, times=10)
    eventually(lambda: int(observer.request("memory").split()[0]) > 300_000,
               "the messages are queued")
    assert int(observer.request("memory").split()[0]) < 4 * 500_000
    for member in lazy:
        member.leave()
    eventually(lambda: observer.request("memory") == "0 memory", "all queues are empty")


def test_publish_and_disconnect_during_flush(start):
    """Members that are dropped during a flush publish in `close`, to members that are in the same
    flush or are dropped, too."""
    server = start(1, slow=0, max_queue=20000)
    members = [server.join("room", "left", receive_buffer=4096) for _ in range(20)]
    watcher = server.join("left")
    for _ in range(60):
        server.publish("room", "x" * 10000, times=50)
    seen = 0
    while seen < len(members):
        assert watcher.get() == "left 1013"
        seen += 1
    assert server.count("room") == 0


@pytest.mark.parametrize("compress", [1, 2], ids=["shared", "dedicated"])
@pytest.mark.parametrize("plain_first", [True, False])
def test_compressed_and_plain_members_get_same_messages(start, compress, plain_first):
    server = start(2, compress=compress)
    members = [server.join("room", compress=(i % 2 == 0) != plain_first) for i in range(8)]
    for i in range(3):
        text = f"{i} again " * 50
        server.publish("room", text)
        for member in members:
            assert member.get() == text
            assert member.was_compressed == member.compresses
        # With a message for one member between them, which may refer to that member's own window
        # only.
        for member in members:
            member.subscribe(f"{i}" + "again" * 30)
            assert member.was_compressed == member.compresses


def test_stop_with_messages_in_progress(server):
    members = [server.join("room") for _ in range(20)]
    for member in members:
        member.send_texts("many room 200")
    server.stop()


def calls_per_connection(trace):
    """The number of writes to each connection."""
    return collections.Counter(re.findall(r"\b(?:write|writev|sendto|sendmsg)\((\d+),", trace))


def test_one_write_per_subscriber_and_iteration(start, tmp_path):
    server = start(1)
    members = [server.join("room") for _ in range(20)]
    publisher = server.join()
    trace = tmp_path / "trace"
    tracer = subprocess.Popen([
        "strace", "-f", "-e", "trace=write,writev,sendto,sendmsg,accept4", "-o", trace, "-p",
        str(server.process.pid)
    ], stderr=subprocess.PIPE, text=True)
    assert "attached" in tracer.stderr.readline()
    publisher.send_texts("many room 200")
    for member in members:
        assert member.get_all(200) == [f"room {i}" for i in range(200)]
    tracer.terminate()
    tracer.wait()
    tracer.stderr.close()
    calls = calls_per_connection(trace.read_text())
    to_members = sorted(calls.values())
    assert len(calls) >= 20
    assert to_members[-1] <= 2, calls  # the message queue of the workers uses a descriptor, too
