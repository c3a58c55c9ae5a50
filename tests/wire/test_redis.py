"""Topics of several servers with a broker: Debian's redis-server, which each test starts for
itself, with two or more of our servers. The tests cover which messages are exchanged, how often,
and the loss of the broker."""

import json
import os
import shutil
import signal
import socket
import subprocess

import pytest

import raw
from topics_server import TopicsServer, eventually
from wire_server import SAFETY_TIMEOUT, built, free_port


class Broker:
    """A redis-server on a unix socket, or on a given loopback port. It can be stopped and restarted
    at the same address."""
    def __init__(self, directory, port=None, config=""):
        self.directory, self.port, self.config = directory, port, config
        self.path = str(directory / "redis.sock")
        self.process = None
        self.start()

    def start(self):
        program = shutil.which("redis-server")
        assert program, "redis-server is missing: install redis-server"
        self.process = subprocess.Popen([
            program, "-", "--port",
            str(self.port or 0), "--bind", "127.0.0.1", "--unixsocket", self.path, "--save", "",
            "--appendonly", "no", "--dir",
            str(self.directory)
        ], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.process.stdin.write(self.config.encode())
        self.process.stdin.close()
        eventually(
            lambda: self.command("PING", ready=False) in
            ("PONG", "NOAUTH Authentication required."), "the broker replies")

    def command(self, *words, ready=True):
        result = subprocess.run(["redis-cli", "-s", self.path, *words], capture_output=True,
                                text=True, timeout=SAFETY_TIMEOUT)
        assert not ready or result.returncode == 0, result.stderr
        return result.stdout.strip()

    def publishes(self):
        for line in self.command("INFO", "commandstats").splitlines():
            if line.startswith("cmdstat_publish:"):
                return int(line.split("calls=")[1].split(",")[0])
        return 0

    def channels(self):
        return sorted(self.command("PUBSUB", "CHANNELS").split())

    def globs(self):
        return int(self.command("PUBSUB", "NUMPAT"))

    def stop(self):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def broker(tmp_path):
    running = Broker(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def start():
    running = []

    def starter(broker, workers=1, connected=True, **variables):
        where = {"redis_port": broker.port} if broker.port else {"redis_path": broker.path}
        server = TopicsServer(workers, **where, **variables)
        running.append(server)
        if connected:
            eventually(lambda: numbers(server)["connected"], "the server is connected")
        return server

    yield starter
    for one in running:
        one.stop()


def numbers(server):
    with raw.Connection(server.port) as connection:
        return json.loads(connection.request("GET", "/redis").body)


def join(broker, server, *patterns):
    """A member whose subscriptions the broker has received."""
    member = server.join()
    for pattern in patterns:
        before = (broker.channels(), broker.globs(), server.count(pattern))
        member.subscribe(pattern)
        if before[2] == 0:
            eventually(lambda: (broker.channels(), broker.globs()) != before[:2],
                       f"the broker has received {pattern}")
    return member


def test_messages_are_exchanged_once_in_both_directions(broker, start):
    first, second = start(broker, workers=2), start(broker)
    here, there = join(broker, first, "room/7"), join(broker, second)
    there.subscribe("room/7")
    eventually(lambda: broker.command("PUBSUB", "NUMSUB", "uvhttp:room/7").split()[-1] == "2",
               "both have subscribed")
    here.send_texts("pub room/7 hello", "pub room/7 again", "bin room/7 \u00e4")
    assert there.get_all(3) == ["hello", "again", "\u00e4".encode()]
    there.send_texts("pub room/7 back")
    assert here.get() == "back"
    first.publish("room/7", "to all")
    assert here.get() == there.get() == "to all"
    here.assert_nothing_else()
    there.assert_nothing_else()


def test_one_publish_per_message(broker, start):
    first, second = start(broker, workers=2), start(broker, workers=2)
    publisher = join(broker, first, "room")
    others = [second.join("room") for _ in range(20)]
    eventually(lambda: broker.command("PUBSUB", "NUMSUB", "uvhttp:room").split()[-1] == "2",
               "both have subscribed")
    members = [first.join("room") for _ in range(20)]
    before = broker.publishes()
    publisher.send_texts("many room 50")
    for member in members + others:
        assert member.get_all(50) == [f"room {i}" for i in range(50)]
    eventually(lambda: numbers(first)["published"] == 50, "the broker has replied")
    assert broker.publishes() - before == 50
    assert numbers(second) | {"received": 50, "published": 0} == numbers(second)


def test_patterns_become_globs_without_duplicates(broker, start):
    """A glob's '*' matches '/', too, and more than the pattern: other messages are not delivered.
    Several matching channels cause several copies, of which one is delivered."""
    first, second = start(broker), start(broker)
    one = join(broker, second, "room/+")
    below = join(broker, second, "room/#")
    several = join(broker, second, "room/7", "+/7", "#")
    special = join(broker, second, "a*b/[c]/+")
    publisher = first.join()
    publisher.send_texts("pub room/7/typing deep", "pub rooms/1 other", "pub room alone",
                         "pub room/7 seven", "pub a*b/[c]/d odd", "pub axb/c/d even")
    assert one.get() == "seven"
    assert below.get_all(3) == ["deep", "alone", "seven"]
    assert several.get_all(6) == ["deep", "other", "alone", "seven", "odd", "even"]
    assert special.get() == "odd"
    for member in (one, below, several, special):
        member.assert_nothing_else()


def test_broker_has_only_needed_subscriptions(broker, start):
    server = start(broker, workers=2)
    first, second = join(broker, server, "a", "b/+"), server.join("a", "b/#")
    assert broker.channels() == ["uvhttp:a"]
    eventually(lambda: broker.globs() == 2, "both globs are subscribed")
    first.unsubscribe("a")
    first.leave()
    eventually(lambda: broker.globs() == 1, "one glob is unsubscribed")
    assert broker.channels() == ["uvhttp:a"]
    second.unsubscribe("a")
    eventually(lambda: broker.channels() == [], "the glob is unsubscribed")
    second.subscribe("a")
    eventually(lambda: broker.channels() == ["uvhttp:a"], "the glob is subscribed again")


def test_other_programs_publish(broker, start):
    server = start(broker)
    member = join(broker, server, "news")
    for payload in ("no envelope", "t x\n", "x me 1\nno kind", "t me -1\nno number", "t \n", ""):
        broker.command("PUBLISH", "uvhttp:news", payload)
    broker.command("PUBLISH", "uvhttp:news", "t me 1\nhello")
    broker.command("PUBLISH", "uvhttp:news", "t me 2\nhello")
    assert member.get_all(2) == ["hello", "hello"]


def test_broker_restart(broker, start):
    first, second = start(broker), start(broker)
    member = join(broker, second, "room", "globs/+")
    broker.stop()
    eventually(lambda: not numbers(first)["connected"] and not numbers(second)["connected"],
               "the servers are disconnected")
    for i in range(10):
        first.publish("room", f"waited {i}")
    assert numbers(first)["waiting"] > 0
    assert "redis: the connection for publishing was lost" in first.log()
    broker.start()
    eventually(lambda: broker.channels() == ["uvhttp:room"] and broker.globs() == 1,
               "the subscriptions are restored")
    first.publish("room", "behind")
    got = []
    while not got or got[-1] != "behind":
        got.append(member.get())
    # The queued messages are sent when the first server has reconnected. The second one may
    # reconnect later.
    assert got[:-1] == [f"waited {i}" for i in range(10)][-len(got) + 1:] or len(got) == 1
    first.publish("globs/1", "too")
    assert member.get() == "too"
    assert numbers(first)["dropped"] == 0
    assert "redis: the connection for publishing is ready" in first.log()


def test_queue_is_limited_and_drops_oldest(broker, start):
    first, second = start(broker, redis_queue=10000), start(broker)
    member = join(broker, second, "room")
    broker.stop()
    eventually(lambda: not numbers(first)["connected"], "the server is disconnected")
    for i in range(100):
        first.publish("room", f"{i} " + "x" * 1000)
    assert numbers(first)["waiting"] <= 10000
    assert numbers(first)["dropped"] == 91
    assert ("10000 bytes is full, dropping the oldest messages: 1 so far" in first.log())
    broker.start()
    eventually(lambda: numbers(first)["published"] == 9, "the rest has been published")
    assert numbers(first)["waiting"] == 0
    assert "redis: 91 messages were lost" in first.log()
    eventually(lambda: broker.channels() == ["uvhttp:room"], "the subscriptions are restored")
    first.publish("room", "new")
    got = member.get()
    while got != "new":
        got = member.get()


def test_server_starts_without_broker(broker, start):
    broker.stop()
    server = start(broker, connected=False)
    member = server.join("room")
    server.publish("room", "here")
    assert member.get() == "here"
    eventually(lambda: "redis: the connection for subscribing failed" in server.log(),
               "the error is logged")
    eventually(lambda: numbers(server)["attempts"] >= 6, "the server retries")
    broker.start()
    eventually(lambda: broker.channels() == ["uvhttp:room"], "the server is connected")


def test_redis_user_and_password(tmp_path, start):
    broker = Broker(
        tmp_path, port=free_port(),
        config="user default off\nuser chat on >secret &uvhttp:* +@all\nuser poor on >secret "
        "resetchannels +@all\n")
    try:
        right = start(broker, redis_user="chat", redis_password="secret")
        member = right.join("room")
        right.publish("room", "x")
        assert member.get() == "x"
        eventually(lambda: numbers(right)["published"] == 1, "the message is published")
        wrong = start(broker, connected=False, redis_user="chat", redis_password="guess")
        eventually(lambda: "redis: the connection for publishing failed: WRONGPASS" in wrong.log(),
                   "the error is logged")
        assert "guess" not in wrong.log()
        none = start(broker, connected=False)
        eventually(lambda: "NOAUTH" in none.log(), "the error is logged")
        poor = start(broker, redis_user="poor", redis_password="secret")
        member = poor.join("room")
        poor.publish("room", "x")
        assert member.get() == "x"
        member.subscribe("room/+")
        for line in ("a message on uvhttp:room was rejected: NOPERM",
                     "the subscription to uvhttp:room was rejected: NOPERM",
                     "the subscription to uvhttp:room/* was rejected, using the one to all "
                     "channels instead: NOPERM",
                     "the subscription to uvhttp:* was rejected: NOPERM"):
            eventually(lambda line=line: f"redis: {line}" in poor.log(), line)
    finally:
        broker.stop()


def test_broker_host_name(tmp_path, start):
    broker = Broker(tmp_path, port=free_port())
    try:
        server = start(broker, redis_host="localhost")
        join(broker, server, "room")
        unknown = start(broker, connected=False, redis_host="no-such-host.invalid")
        eventually(lambda: "redis: the connection for publishing failed" in unknown.log(),
                   "the error is logged")
    finally:
        broker.stop()


def test_silent_broker_times_out(tmp_path, start):
    """It accepts connections and never replies, as a broker in a broken network."""
    broker = Broker(tmp_path, port=free_port())
    broker.process.send_signal(signal.SIGSTOP)
    try:
        server = start(broker, connected=False)
        eventually(lambda: "failed: no reply" in server.log(), "the error is logged")
    finally:
        broker.process.send_signal(signal.SIGCONT)
        broker.stop()


def test_stop_sends_queued_messages(broker, start):
    first, second = start(broker), start(broker)
    member = join(broker, second, "left")
    first.join()
    first.stop()  # its member's `close` callback publishes
    assert member.get().startswith("left 1")


ACCESS = ("user default off\nuser admin on nopass allchannels +@all\nuser chat on >secret "
          "resetchannels &uvhttp:* +publish +subscribe +unsubscribe +psubscribe +punsubscribe "
          "+ping\n")


def test_patterns_with_access_list(tmp_path, start):
    """Redis allows exactly the glob of its access list, no narrower one. So that glob is subscribed
    while it is needed. Messages of other topics are not delivered."""
    broker = Broker(tmp_path, port=free_port(), config=ACCESS)
    user = {"redis_user": "chat", "redis_password": "secret"}
    try:
        first, second = start(broker, **user), start(broker, **user)
        member, publisher = second.join("room/+", "lobby/#", "news"), first.join()
        eventually(
            lambda: broker.command("--user", "admin", "--pass", "", "PUBSUB", "NUMPAT") == "1",
            "the glob of all channels is subscribed")
        publisher.send_texts("pub other/1 no", "pub room/7 seven", "pub room/7/8 no",
                             "pub lobby all", "pub news once")
        assert member.get_all(3) == ["seven", "all", "once"]
        member.assert_nothing_else()
        assert numbers(second)["received"] == 3
        assert ("redis: the subscription to uvhttp:room/* was rejected, using the one to all "
                "channels instead: NOPERM") in second.log()
        everything = second.join("#")
        publisher.send_texts("pub room/7 again")
        assert member.get() == everything.get() == "again"
        for pattern in ("room/+", "lobby/#"):
            member.unsubscribe(pattern)
        publisher.send_texts("pub room/7 third")
        assert everything.get() == "third"
        everything.unsubscribe("#")
        eventually(
            lambda: broker.command("--user", "admin", "--pass", "", "PUBSUB", "NUMPAT") == "0",
            "the glob is unsubscribed")
        member.assert_nothing_else()
    finally:
        broker.stop()


def test_next_address_is_tried(tmp_path, start):
    broker = Broker(tmp_path, port=free_port())
    try:
        server = start(broker, redis_host="two.test")
        join(broker, server, "room")
        assert "failed" not in server.log()
    finally:
        broker.stop()


def test_rejected_connection_is_retried_soon(tmp_path, start):
    broker = Broker(tmp_path, port=free_port())
    broker.stop()
    try:
        server = start(broker, connected=False)
        eventually(lambda: numbers(server)["attempts"] >= 4, "the server retries")
        assert "Connection refused" in server.log() and "no reply" not in server.log()
        broker.start()
        eventually(lambda: numbers(server)["connected"], "the server is connected")
    finally:
        broker.stop()


def test_reset_connection_is_reopened(tmp_path, start):
    """The broker ends with unread messages, so the system resets its connections."""
    broker = Broker(tmp_path, port=free_port())
    try:
        server = start(broker)
        os.kill(broker.process.pid, signal.SIGSTOP)
        server.publish("room", "nobody reads it")
        broker.stop()
        eventually(lambda: not numbers(server)["connected"], "the server is disconnected")
        assert "no reply" not in server.log()
    finally:
        broker.stop()


def test_name_lookup_does_not_delay_stop(tmp_path, start):
    """Neither the stop of a server, nor the free of a server that could not start."""
    broker = Broker(tmp_path, port=free_port())
    try:
        server = start(broker, connected=False, redis_host="slow.test")
        eventually(lambda: numbers(server)["attempts"] == 2, "the name lookup has started")
        environment = {
            **os.environ, "UVHTTP_REDIS_HOST": "slow.test", "UVHTTP_REDIS_PORT": str(broker.port),
            "UVHTTP_LISTEN_PORT": str(server.port)
        }
        result = subprocess.run([built("topics_server"), "1"], env=environment, capture_output=True,
                                text=True, timeout=3 * SAFETY_TIMEOUT)
        assert result.returncode == 1, result.stderr
        assert "EADDRINUSE" in result.stderr and "left" not in result.stderr, result.stderr
        server.stop()
    finally:
        broker.stop()


def test_burst_is_not_lost(broker, start):
    """More in one loop iteration than the queue for a disconnected broker holds."""
    server = start(broker)
    server.publish("burst", "x" * (64 << 10), times=100)
    eventually(lambda: numbers(server)["published"] + numbers(server)["dropped"] == 100,
               "all messages are handled")
    assert numbers(server)["dropped"] == 0


def test_too_large_message_drops_no_others(broker, start):
    server = start(broker, redis_queue=10000)
    broker.stop()
    eventually(lambda: not numbers(server)["connected"], "the server is disconnected")
    for _ in range(5):
        server.publish("room", "small")
    server.publish("room", "x" * 20000)
    assert numbers(server)["dropped"] == 1
    assert "a message was not published to other machines" in server.log()
    broker.start()
    eventually(lambda: numbers(server)["published"] == 5, "the others have been published")
    assert numbers(server)["dropped"] == 1


class Subscriber:
    """A direct connection to the broker."""
    def __init__(self, broker, channel):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SAFETY_TIMEOUT)
        self.socket.connect(broker.path)
        self.socket.sendall(f"SUBSCRIBE {channel}\r\n".encode())
        self.bytes = b""
        while not self.bytes.endswith(b":1\r\n"):
            self.bytes += self.socket.recv(1 << 16)

    def wait_for(self, count):
        while self.bytes.count(b"$7\r\nmessage\r\n") < count:
            self.bytes += self.socket.recv(1 << 16)


def test_stop_delivers_last_messages(broker, start):
    """More than the socket accepts at once, and with unread replies."""
    server, subscriber = start(broker), Subscriber(broker, "uvhttp:last")
    server.publish("last", "x" * 1000, times=1000)
    server.stop()
    subscriber.wait_for(1000)
    assert "were lost" not in server.log()


def test_messages_lost_at_stop_are_logged(broker, start):
    server = start(broker)
    broker.process.send_signal(signal.SIGSTOP)
    try:
        server.publish("last", "x", times=10)
        server.stop()
    finally:
        broker.process.send_signal(signal.SIGCONT)
    assert ("redis: 10 messages were lost at shutdown: the broker did not reply" in server.log())


def test_rejected_ping_is_not_counted_as_message(tmp_path, start):
    broker = Broker(tmp_path, port=free_port(), config=ACCESS)
    try:
        server = start(broker, redis_user="chat", redis_password="secret", redis_ping=1)
        broker.command("--user", "admin", "--pass", "", "ACL", "SETUSER", "chat", "-ping")
        eventually(
            lambda: "rejected_calls=" in
            (info := pings(broker)) and int(info.split("rejected_calls=")[1].split(",")[0]) >= 4,
            "pings are rejected")
        server.publish("room", "x", times=3)
        eventually(lambda: numbers(server)["published"] == 3, "the messages are published")
        assert numbers(server)["dropped"] == 0
        assert "was rejected" not in server.log()
    finally:
        broker.stop()


def pings(broker):
    lines = broker.command("--user", "admin", "--pass", "", "INFO", "commandstats").splitlines()
    return next((line for line in lines if line.startswith("cmdstat_ping:")), "")
