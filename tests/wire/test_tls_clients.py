"""Real clients over TLS 1.2 and 1.3, all of which verify the certificate: curl, Python's ssl,
httpx, aiohttp and websockets, Node, Go, Java's HttpClient, and Chromium."""

import asyncio
import os
import pathlib
import shutil
import ssl
import subprocess
import urllib.request

import pytest

import raw
import tls
from installed import installed, installed_node, node_with_websocket
from wire_server import WireServer

pytestmark = pytest.mark.release_only  # independent clients; one build suffices
CLIENTS = pathlib.Path(__file__).parent / "clients"

import browser


@pytest.fixture(scope="module")
def authority():
    return tls.authority()


@pytest.fixture(scope="module", params=["1.2", "1.3"])
def secure(request, authority):
    """A server that uses one version, with a certificate of the authority; `url` is its URL."""
    running = WireServer(tls=tls.certificate("localhost", "127.0.0.1", ca=authority),
                         tls_version={"1.2": 1, "1.3": 2}[request.param])
    running.url, running.version = f"https://localhost:{running.port}", request.param
    running.ca = authority
    yield running
    running.stop()


def run(*command, environment=None):
    clean = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=120,
                          check=False, env={**clean, "NO_PROXY": "*", **(environment or {})})
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stderr.decode()}"
    return done.stdout


def test_curl_over_tls(secure, tmp_path):
    upload = tmp_path / "upload"
    upload.write_bytes(raw.pattern(900000))
    command = [installed("curl", "curl"), "-sS", "--max-time", "60", "--cacert", secure.ca]
    assert run(*command, secure.url + "/hello") == b"Hello, world\n"
    assert run(*command, "--upload-file", upload, secure.url + "/echo") == raw.pattern(900000)
    assert run(*command, secure.url + "/large?size=6000000") == raw.pattern(6000000)
    connects = run(*command, "-w", "%{num_connects}\n", *[secure.url + "/hello"] * 3)
    assert connects.replace(b"Hello, world\n", b"").split() == [b"1", b"0", b"0"]
    for option, version in (("--http2", b"2"), ("--http1.1", b"1.1")):
        assert run(*command, option, "-o", os.devnull, "-w", "%{http_version} %{ssl_verify_result}",
                   secure.url + "/hello") == version + b" 0"


def test_curl_rejects_unknown_authority(secure):
    done = subprocess.run(
        [installed("curl", "curl"), "-sS", "--noproxy", "*", secure.url + "/hello"],
        capture_output=True, check=False)
    assert done.returncode == 60


def test_python_urllib_over_tls(secure):
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=tls.context(ca=secure.ca, only=secure.version)))
    with opener.open(secure.url + "/large?size=1000000") as response:
        assert response.read() == raw.pattern(1000000)


def test_httpx_over_tls(secure):
    import httpx

    with httpx.Client(base_url=secure.url, verify=str(secure.ca), trust_env=False) as client:
        for i in range(20):
            assert client.get(f"/users/{i}").text == f"user id=[{i}]"
        assert client.post("/echo", content=raw.pattern(200000)).content == raw.pattern(200000)
        with client.stream("GET", "/large?size=3000000") as response:
            assert b"".join(response.iter_bytes()) == raw.pattern(3000000)


def test_aiohttp_over_tls(secure):
    import aiohttp

    async def crowd():
        context = tls.context(ca=secure.ca)
        async with aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=10, ssl=context)) as session:

            async def text(i):
                async with session.get(f"{secure.url}/users/{i}") as response:
                    return await response.text()

            assert await asyncio.gather(*(text(i) for i in range(100))
                                        ) == [f"user id=[{i}]" for i in range(100)]
            async with session.post(secure.url + "/echo", data=raw.pattern(500000)) as response:
                assert await response.read() == raw.pattern(500000)

    asyncio.run(crowd())


def test_python_websockets_over_tls(secure):
    import websockets

    async def talk():
        async with websockets.connect(
                secure.url.replace("https", "wss") + "/ws/echo", ssl=tls.context(ca=secure.ca),
                max_size=None) as ws:
            for data in ("text", b"bytes", raw.pattern(3000000)):
                await ws.send(data)
                assert await ws.recv() == data

    asyncio.run(talk())


def test_node_over_tls(secure):
    output = run(*installed_node(), CLIENTS / "fetch.mjs", secure.url,
                 environment={"NODE_EXTRA_CA_CERTS": str(secure.ca)})
    assert output == b"ok\n"


def test_node_websocket_over_tls(secure):
    script = (
        "const ws = new WebSocket(process.argv[1]); ws.onopen = () => ws.send('over TLS');"
        "ws.onmessage = (event) => { console.log(event.data); process.exit(0); }; ws.onerror = () "
        "=> process.exit(1);"
    )
    output = run(*node_with_websocket(), "-e", script,
                 secure.url.replace("https", "wss") + "/ws/echo",
                 environment={"NODE_EXTRA_CA_CERTS": str(secure.ca)})
    assert output == b"over TLS\n"


def test_go_over_tls(secure, tmp_path):
    # With a new home directory Go would compile its standard library each time.
    environment = {
        "HOME": os.environ.get("HOME", str(tmp_path)), "CGO_ENABLED": "0", "GO111MODULE": "off",
        "GOFLAGS": ""
    }
    program = tmp_path / "client"
    run(installed("go", "golang-go"), "build", "-o", program, CLIENTS / "client.go",
        environment=environment)
    assert run(program, secure.url,
               environment={**environment, "SSL_CERT_FILE": str(secure.ca)}) == b"ok\n"


def test_java_over_tls(secure, tmp_path):
    java, keytool = shutil.which("java"), shutil.which("keytool")
    if java is None or keytool is None:
        pytest.skip("Java is not installed; the set-up omits it for its size")
    store = tmp_path / "store"
    run(keytool, "-importcert", "-noprompt", "-alias", "ca", "-file", secure.ca, "-keystore", store,
        "-storepass", "secret")
    output = run(java, f"-Djavax.net.ssl.trustStore={store}",
                 "-Djavax.net.ssl.trustStorePassword=secret", CLIENTS / "Fetch.java", secure.url)
    assert output == b"ok\n"


def test_chromium_over_tls(secure, tmp_path):
    """A page, its requests, and a WebSocket. The key of the certificate is the trusted one."""
    if browser.find() is None:
        pytest.skip("no browser is installed")
    certificate = ssl.get_server_certificate(("localhost", secure.port))
    (tmp_path / "server.pem").write_text(certificate)
    public = tls.openssl("x509", "-in", tmp_path / "server.pem", "-pubkey", "-noout")
    der = tls.openssl("pkey", "-pubin", "-outform", "der", input=public)
    spki = tls.openssl("base64", "-A", input=tls.openssl("dgst", "-sha256", "-binary",
                                                         input=der)).decode().strip()
    opened = browser.Browser(f"--ignore-certificate-errors-spki-list={spki}")
    try:
        opened.open(f"{secure.url}/hello", 800, False)
        assert opened.evaluate("document.body.innerText.trim()") == "Hello, world"
        assert opened.evaluate(
            "fetch('/users/7').then(response => response.text())") == "user id=[7]"
        assert opened.evaluate("""new Promise((resolve, reject) => {
            const socket = new WebSocket(location.origin.replace('https', 'wss') + '/ws/echo');
            socket.onopen = () => socket.send('over wss');
            socket.onmessage = (event) => resolve(event.data);
            socket.onerror = () => reject(new Error('failed'));
        })""") == "over wss"
    finally:
        opened.close()
