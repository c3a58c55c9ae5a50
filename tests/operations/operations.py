#!/usr/bin/python3
"""./dev operations: three instances on hosts of their own, behind HAProxy with health checks, under
load by wrk and by clients that check every response: rolling restart, rolling upgrade, reloads,
and an instance that is killed.

Prints what each scenario has served and lost; the exit code is 1 if a request fails that must not.
Needs root for the hosts (network namespaces); otherwise they are loopback addresses."""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from clients import LARGE, pattern
from hosts import Network

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLAIN, SECURE, SOCKETS = 8000, 8443, 8001  # ports of the front
HTTP, HTTPS, WS = 8080, 8444, 8081  # ports of an instance
SITE = """server: {{workers: 2, drain_delay: 2, drain_grace: 2, drain_timeout: 20}}
pid_file: pid
health: true
listen: ["http://{address}:{http}", "https://{address}:{https}"]
tls: {{certificates: [{{certificate: {certificate}}}]}}
proxy_protocol: {front}
access_log: access.log
sites:
  - routes:
      - {{path: /, respond: {{body: "hello\\n"}}}}
      - {{path: /files/, static: files}}
      - {{path: /in/, static: in, uploads: true}}
"""
HAPROXY = """global
  maxconn 4000
defaults
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout tunnel 60s
  timeout check 1s
  retries 3
  option redispatch
  default-server inter 200ms fall 1 rise 1
frontend plain
  mode http
  bind {front}:{plain}
  default_backend instances
backend instances
  mode http
  option httpchk GET /readyz
{plain_servers}
frontend secure
  mode tcp
  bind {front}:{secure}
  default_backend secure_instances
backend secure_instances
  mode tcp
  option httpchk GET /readyz
{secure_servers}
frontend sockets
  mode http
  bind {front}:{sockets}
  default_backend socket_instances
backend socket_instances
  mode http
  option httpchk GET /readyz
{socket_servers}
"""


def wait(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"operations: never happened: {what}")
        time.sleep(0.05)


class Instance:
    """The program with its site, and an application with WebSockets, on one host."""
    def __init__(self, host, directory, programs, front):
        self.host, self.directory, self.programs = host, directory, programs
        for name in ("in", "files"):
            (directory / name).mkdir(parents=True)
        (directory / "files/large").write_bytes(pattern(LARGE)[:LARGE])
        certificate = directory / "both.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=ops.test", "-keyout", "key.pem", "-out", "certificate.pem"],
                       cwd=directory, check=True, capture_output=True)
        certificate.write_text((directory / "certificate.pem").read_text() +
                               (directory / "key.pem").read_text())
        (directory / "site.yaml").write_text(
            SITE.format(address=host.address, http=HTTP, https=HTTPS, certificate=certificate,
                        front=front))
        self.log = open(directory / "log", "ab")
        self.start()

    def start(self):
        pid_file = self.directory / "pid"
        self.site = self.host.start(self.programs["site"], "run", "site.yaml",
                                    cwd=self.directory, stdout=self.log, stderr=self.log)
        self.app = self.host.start(self.programs["app"], WS, cwd=self.directory, stdout=self.log,
                                   stderr=self.log)
        wait(lambda: self.site.poll() is not None or pid_file.exists() and pid_file.read_text(),
             "the instance starts")
        if self.site.poll() is not None:
            raise SystemExit((self.directory / "log").read_text())

    @property
    def pid(self):
        return int((self.directory / "pid").read_text())

    def restart(self):
        pid = self.pid
        os.kill(pid, signal.SIGTERM)
        self.app.send_signal(signal.SIGTERM)
        self.app.wait()
        self.wait_for_end(pid)
        self.start()

    def wait_for_end(self, pid):
        self.site.poll()
        wait(lambda: not pathlib.Path(f"/proc/{pid}").exists() or
             self.site.poll() is not None and self.site.pid == pid, "the old process ends")

    def upgrade(self):
        pid = self.pid
        os.kill(pid, signal.SIGUSR2)
        path = self.directory / "pid"
        wait(lambda: path.exists() and path.read_text().strip() not in ("", str(pid)),
             "the new process serves")
        self.wait_for_end(pid)

    def reload(self):
        os.kill(self.pid, signal.SIGHUP)
        self.app.send_signal(signal.SIGHUP)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.app.kill()
        self.app.wait()
        self.site.wait()

    def stop(self):
        for pid in (self.pid, self.app.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Site:
    def __init__(self, network, directory, programs):
        self.network, self.directory = network, directory
        front = network.front.address
        self.instances = [
            Instance(host, directory / f"host{i}", programs, front)
            for i, host in enumerate(network.hosts)
        ]

        def servers(port, options):
            return "\n".join(f"  server host{i} {host.address}:{port} check {options}"
                             for i, host in enumerate(network.hosts))

        (directory / "haproxy.cfg").write_text(
            HAPROXY.format(front=front, plain=PLAIN, secure=SECURE, sockets=SOCKETS,
                           plain_servers=servers(HTTP, "send-proxy-v2 check-send-proxy"),
                           secure_servers=servers(
                               HTTPS, f"send-proxy-v2 check-send-proxy port {HTTP}"),
                           socket_servers=servers(WS, "")))
        self.balancer = network.front.start("haproxy", "-q", "-f", directory / "haproxy.cfg")
        time.sleep(1)  # its first checks

    def load(self, seconds):
        """wrk and the checking clients, which end by themselves."""
        front = self.network.front
        clients = front.start(sys.executable, "-B", HERE / "clients.py",
                              *(f"{front.address}:{port}" for port in (PLAIN, SECURE, SOCKETS)),
                              seconds, stdout=subprocess.PIPE, text=True)
        wrk = front.start("wrk", "-t1", "-c16", f"-d{seconds}s", "--timeout", "30s",
                          f"http://{front.address}:{PLAIN}/", stdout=subprocess.PIPE, text=True)
        return clients, wrk

    def stop(self):
        self.balancer.terminate()
        self.balancer.wait()
        for instance in self.instances:
            instance.stop()


def wrk_result(text):
    done = int(re.search(r"(\d+) requests in", text)[1])
    errors = re.search(r"Socket errors: (.*)", text)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return {"done": done, "failures": ([errors[1]] if errors else []) +
            ([f"{bad[1]} responses"] if bad else [])}


def measure(site, seconds, act):
    """Runs a scenario under load; `act(end)` runs until the load ends. {client: result}"""
    clients, wrk = site.load(seconds)
    act(time.monotonic() + seconds)
    result = json.loads(clients.communicate()[0])
    result["wrk"] = wrk_result(wrk.communicate()[0])
    return result


def in_turn(site, action, pause):
    def act(end):
        done = 0
        while time.monotonic() + 8 < end:
            action(site.instances[done % len(site.instances)])
            done += 1
            time.sleep(pause)
        print(f"  {done} times")
    return act


def reload_each_second(site):
    def act(end):
        count = 0
        while time.monotonic() + 1 < end:
            for instance in site.instances:
                instance.reload()
            count += 1
            time.sleep(1)
        print(f"  {count} times, on each host")
    return act


def kill_one(site):
    def act(end):
        time.sleep((end - time.monotonic()) / 3)
        site.instances[0].kill()
        time.sleep(3)
        site.instances[0].start()
    return act


def report(name, result, allowed):
    """Prints a scenario; True if at most `allowed` requests failed."""
    lost = [failure for one in result.values() for failure in one["failures"]]
    served = sum(one["done"] for one in result.values())
    counts = ", ".join(f"{kind} {one['done']}" for kind, one in result.items())
    print(f"  served {served:,} ({counts}); failed {len(lost)}")
    for failure in lost[:5]:
        print(f"    {failure}")
    closed = result["websocket"]["closed"]
    if closed > 0:
        print(f"  {closed} WebSockets were closed by a server that stops")
    right = len(lost) <= allowed and all(one["done"] > 0 for one in result.values())
    right = right and not (name == "reload" and closed > 0)
    if not right:
        print(f"  FAILED: {name}")
    return right


def main():
    parser = argparse.ArgumentParser(prog="./dev operations", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30, help="of each scenario (default: 30)")
    parser.add_argument("scenario", nargs="*", help="restart, upgrade, reload or kill")
    options = parser.parse_args()
    binaries = pathlib.Path(os.environ.get("UVHTTP_BUILD_DIR", ROOT / "build/release")) / "dist/bin"
    programs = {"site": binaries / "uvhttp", "app": binaries / "operations_instance"}
    network = Network(3)
    print("hosts: " + ("network namespaces on a bridge" if network.isolated else
                       f"loopback addresses, since namespaces cannot be made ({network.why})"))
    scenarios = {
        "restart": lambda site: in_turn(site, Instance.restart, 1),
        "upgrade": lambda site: in_turn(site, Instance.upgrade, 1),
        "reload": reload_each_second,
        "kill": kill_one,
    }
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        try:
            site = Site(network, pathlib.Path(directory), programs)
            for name, act in scenarios.items():
                if options.scenario and name not in options.scenario:
                    continue
                print(f"{name}: {options.seconds} s", flush=True)
                result = measure(site, options.seconds, act(site))
                # those in flight on the killed host: one of each client, and some of wrk's
                wrong += not report(name, result, 8 if name == "kill" else 0)
            site.stop()
        finally:
            network.close()
    print("every scenario passed" if wrong == 0 else f"{wrong} scenarios failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
