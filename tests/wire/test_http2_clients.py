"""Real clients of HTTP/2, with prior knowledge and over TLS: curl, nghttp, h2load, Python's h2 and
httpx, Node, Go, Java, Chromium. They are strict: a frame that RFC 9113 forbids fails them."""

import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess

import pytest

import browser
import raw
import tls
from installed import installed, installed_node
from wire_server import WireServer

pytestmark = pytest.mark.release_only  # independent clients; one build suffices
CLIENTS = pathlib.Path(__file__).parent / "clients"


@pytest.fixture(scope="module")
def authority():
    return tls.authority()


@pytest.fixture(scope="module", params=["plain", "tls"])
def target(request, authority):
    """A server with `url`; `ca` is None in plain text."""
    secure = request.param == "tls"
    running = WireServer(tls=tls.certificate("localhost", "127.0.0.1", ca=authority)
                         if secure else None)
    running.url = f"{'https' if secure else 'http'}://localhost:{running.port}"
    running.ca = authority if secure else None
    yield running
    running.stop()


def run(*command, environment=None, **options):
    clean = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=120,
                          check=False, env={**clean, "NO_PROXY": "*", **(environment or {})},
                          **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stderr.decode()}"
    return done.stdout


def curl(server, *arguments, path="/hello", **options):
    how = ["--http2-prior-knowledge"] if server.ca is None else ["--http2", "--cacert", server.ca]
    return run(installed("curl", "curl"), "-sS", "--max-time", "60", *how, *arguments,
               server.url + path, **options)


# ---- curl and nghttp2 ----


def test_curl_get(target):
    assert curl(target, "-w", "%{http_version}") == b"Hello, world\n2"


def test_curl_reuses_connection(target):
    url = target.url + "/hello"
    if target.url.startswith("http:"):
        pytest.skip("curl 7.88 fails to reuse a connection of prior knowledge with any server")
    connects = curl(target, "-w", "%{num_connects}\n", url, url, url)
    assert connects.replace(b"Hello, world\n", b"").split() == [b"1", b"0", b"0", b"0"]


def test_curl_uploads(target, tmp_path):
    path = tmp_path / "upload"
    path.write_bytes(raw.pattern(900000))
    assert curl(target, "--upload-file", path, path="/echo") == raw.pattern(900000)
    assert curl(target, "-T", "-", path="/echo", input=raw.pattern(500000)) == raw.pattern(500000)


def test_curl_too_large_upload_gets_413(target, tmp_path):
    path = tmp_path / "upload"
    path.write_bytes(raw.pattern(5000000))
    # curl 7.88 fails before it reads a response if the RST_STREAM after it has also arrived.
    status = curl(target, "-X", "POST", "-T", path, "-o", os.devnull, "-w", "%{http_code}",
                  "--retry", 5, "--retry-all-errors", "--retry-delay", 1, path="/small-body")
    assert status == b"413"


def test_curl_parallel_requests(target, tmp_path):
    if target.ca is None:
        pytest.skip("curl 7.88 mixes up parallel connections with prior knowledge")
    names = ",".join(str(i) for i in range(100))
    curl(target, "--parallel", "--parallel-max", "50", "-o", f"{tmp_path}/#1",
         path=f"/large?size={{{names}}}777")
    for i in range(100):
        assert (tmp_path / str(i)).read_bytes() == raw.pattern(int(f"{i}777"))


def test_curl_large_download(target):
    assert curl(target, path="/large?size=20000000") == raw.pattern(20000000)


def test_curl_upgrade_from_http1_is_ignored(server):
    # RFC 9113 3.1: the server stays with HTTP/1.1.
    assert run(installed("curl", "curl"), "-sS", "--http2", "-w", "%{http_version}",
               f"http://127.0.0.1:{server.port}/hello") == b"Hello, world\n1.1"


def test_nghttp_requests(target):
    nghttp = installed("nghttp", "nghttp2-client")
    output = run(nghttp, "-m", "20", "--no-verify-peer", f"{target.url}/large?size=3000")
    assert output == raw.pattern(3000) * 20
    statistics = run(nghttp, "-nvs", "--no-verify-peer", f"{target.url}/hello").decode()
    assert "recv SETTINGS" in statistics and ":status: 200" in statistics


def test_nghttp_uploads_with_trailers(target, tmp_path):
    path = tmp_path / "upload"
    path.write_bytes(raw.pattern(300000))
    output = run(installed("nghttp", "nghttp2-client"), "--no-verify-peer", "-d", path, "--trailer",
                 "x-check: after", "-H", ":method: POST", f"{target.url}/trailer")
    assert output == b"header=- trailer=after body=300000\n"


@pytest.mark.parametrize("streams", [1, 32, 100])
def test_h2load_requests_succeed(target, streams):
    output = run(installed("h2load", "nghttp2-client"), "-n", "3000", "-c", "10", "-m", streams,
                 f"{target.url}/hello").decode()
    assert re.search(r"requests: 3000 total, 3000 started, 3000 done, 3000 succeeded, 0 failed",
                     output), output


# ---- Python ----


def test_python_h2_requests(target):
    import h2.config
    import h2.connection
    import h2.events

    plain = socket.create_connection(("127.0.0.1", target.port), timeout=60)
    if target.ca:
        plain = tls.context(ca=target.ca, alpn=["h2"]).wrap_socket(plain,
                                                                   server_hostname="localhost")
    connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    connection.initiate_connection()
    bodies, ended, statuses = {}, set(), {}
    body = raw.pattern(20000)
    for i in range(40):
        number = connection.get_next_available_stream_id()
        fields = [(":method", "POST"), (":scheme", "http"), (":path", "/echo"),
                  (":authority", "localhost"), ("content-length", "1500")]
        connection.send_headers(number, fields)
        connection.send_data(number, body[i:i + 1500], end_stream=True)
        bodies[number] = b""
    while len(ended) < 40:
        plain.sendall(connection.data_to_send())
        received = plain.recv(65536)
        assert received, "the connection ended"
        for event in connection.receive_data(received):
            if isinstance(event, h2.events.ResponseReceived):
                statuses[event.stream_id] = dict(event.headers)[":status"]
            elif isinstance(event, h2.events.DataReceived):
                bodies[event.stream_id] += event.data
                connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                ended.add(event.stream_id)
            assert not isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated))
    plain.close()
    assert set(statuses.values()) == {"200"}
    assert [bodies[number] for number in sorted(bodies)] == [body[i:i + 1500] for i in range(40)]


def test_httpx_requests(target):
    import httpx

    verify = str(target.ca) if target.ca else True
    with httpx.Client(http1=target.ca is not None, http2=True, verify=verify, trust_env=False,
                      base_url=target.url) as client:
        for i in range(50):
            response = client.get(f"/users/{i}")
            assert response.text == f"user id=[{i}]" and response.http_version == "HTTP/2"
        assert client.post("/echo", content=raw.pattern(200000)).content == raw.pattern(200000)
        assert client.head("/hello").headers["content-length"] == "13"
        assert client.get("/redirect", follow_redirects=True).text == "Hello, world\n"
        with client.stream("GET", "/large?size=3000000") as response:
            assert b"".join(response.iter_bytes()) == raw.pattern(3000000)
        assert client.get("/status/204").status_code == 204


# ---- Node, Go, Java, Chromium ----


def test_node_http2_requests(target):
    environment = {"NODE_EXTRA_CA_CERTS": str(target.ca)} if target.ca else {}
    assert run(*installed_node(), CLIENTS / "http2.mjs", target.url,
               environment=environment) == b"ok\n"


@pytest.fixture(scope="module")
def go_client(tmp_path_factory):
    # With a new home directory Go would compile its standard library each time.
    program = tmp_path_factory.mktemp("go") / "client"
    environment = {
        "HOME": os.environ.get("HOME", str(program.parent)), "CGO_ENABLED": "0",
        "GO111MODULE": "off", "GOFLAGS": ""
    }
    run(installed("go", "golang-go"), "build", "-o", program, CLIENTS / "http2.go",
        environment=environment)
    return program


def test_go_http2_requests(target, go_client):
    # Go's HTTP/2 client speaks it over TLS only.
    if target.ca is None:
        pytest.skip("Go of Debian 12 has no prior knowledge")
    assert run(go_client, target.url, environment={"SSL_CERT_FILE": str(target.ca)}) == b"ok\n"


def test_java_http2_requests(target, tmp_path):
    # In plain text Java requests an upgrade, and stays with HTTP/1.1.
    java, keytool = shutil.which("java"), shutil.which("keytool")
    if java is None or keytool is None:
        pytest.skip("Java is not installed; the set-up omits it for its size")
    options = []
    if target.ca:
        store = tmp_path / "store"
        run(keytool, "-importcert", "-noprompt", "-alias", "ca", "-file", target.ca, "-keystore",
            store, "-storepass", "secret")
        options = [f"-Djavax.net.ssl.trustStore={store}",
                   "-Djavax.net.ssl.trustStorePassword=secret"]
    output = run(java, *options, CLIENTS / "Http2.java", target.url)
    assert output == (b"HTTP_2 ok\n" if target.ca else b"HTTP_1_1 ok\n")


def test_chromium_uses_http2(target, tmp_path):
    if browser.find() is None:
        pytest.skip("no browser is installed")
    if target.ca is None:
        pytest.skip("browsers speak HTTP/2 over TLS only")
    (tmp_path / "server.pem").write_text(ssl.get_server_certificate(("localhost", target.port)))
    public = tls.openssl("x509", "-in", tmp_path / "server.pem", "-pubkey", "-noout")
    der = tls.openssl("pkey", "-pubin", "-outform", "der", input=public)
    spki = tls.openssl("base64", "-A", input=tls.openssl("dgst", "-sha256", "-binary",
                                                         input=der)).decode().strip()
    opened = browser.Browser(f"--ignore-certificate-errors-spki-list={spki}")
    try:
        opened.open(f"{target.url}/hello", 800, False)
        assert opened.evaluate("document.body.innerText.trim()") == "Hello, world"
        assert opened.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol"
                               ) == "h2"
        assert opened.evaluate("""Promise.all(Array.from({length: 100}, (_, i) =>
            fetch(`/users/${i}`).then(response => response.text())
        )).then(texts => texts.every((text, i) => text === `user id=[${i}]`))""")
        assert opened.evaluate("""fetch('/echo', {method: 'POST', body: 'x'.repeat(300000)}).then(
            response => response.text()).then(text => text === 'x'.repeat(300000))""")
    finally:
        opened.close()
