"""Real clients: curl, Python's httpx and aiohttp, Node's fetch and http.Agent, Go's net/http."""

import asyncio
import os
import pathlib
import subprocess

import raw
import pytest
from installed import installed

pytestmark = pytest.mark.release_only  # independent clients; one build suffices
CLIENTS = pathlib.Path(__file__).parent / "clients"


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, timeout=120, check=False, **options)
    assert result.returncode == 0, (f"{command}: exit code "
                                    f"{result.returncode}\n{result.stderr.decode()}")
    return result.stdout


def curl(server, *arguments, path="/hello"):
    return run(installed("curl", "curl"), "--silent", "--show-error", "--max-time", "60",
               "--noproxy", "*", *arguments, f"http://127.0.0.1:{server.port}{path}")


# ---- curl ----


def test_curl_get(server):
    assert curl(server) == b"Hello, world\n"


def test_curl_head(server):
    head = curl(server, "--head")
    assert head.startswith(
        b"HTTP/1.1 200 OK\r\n") and b"\r\nContent-Length: 13\r\n" in head and head.endswith(
            b"\r\n\r\n")


def test_curl_reuses_connection(server):
    url = f"http://127.0.0.1:{server.port}/hello"
    connects = curl(server, "--write-out", "%{num_connects}\n", url, url, url)
    assert connects.replace(b"Hello, world\n", b"").split() == [b"1", b"0", b"0", b"0"]


def test_curl_uploads_file(server, tmp_path):
    # For large uploads curl sends Expect: 100-continue.
    path = tmp_path / "upload"
    path.write_bytes(raw.pattern(900000))
    assert curl(server, "--upload-file", str(path), "--expect100-timeout", "60",
                path="/echo") == raw.pattern(900000)


def test_curl_upload_from_pipe_is_chunked(server):
    assert curl(server, "--upload-file", "-", path="/echo") == b""
    result = run(installed("curl", "curl"), "-sS", "--noproxy", "*", "-T", "-",
                 f"http://127.0.0.1:{server.port}/echo", input=raw.pattern(500000))
    assert result == raw.pattern(500000)


def test_curl_data_with_chunked_coding(server):
    body = curl(server, "--data-binary", "a=b&c=d", "--header", "Transfer-Encoding: chunked",
                path="/echo")
    assert body == b"a=b&c=d"


def test_curl_too_large_upload_gets_413(server, tmp_path):
    path = tmp_path / "upload"
    path.write_bytes(raw.pattern(5000000))
    for extra in ([], ["--header", "Expect:"], ["--header", "Transfer-Encoding: chunked"]):
        status = curl(server, "--request", "POST", "--upload-file", str(path), "--output",
                      "/dev/null", "--write-out", "%{http_code}", *extra, path="/small-body")
        assert status == b"413"


def test_curl_parallel_requests(server, tmp_path):
    names = ",".join(str(i) for i in range(100))
    run(installed("curl", "curl"), "-sS", "--noproxy", "*", "--parallel", "--parallel-max", "20",
        "--output", f"{tmp_path}/#1", f"http://127.0.0.1:{server.port}/large?size={{{names}}}777")
    for i in range(100):
        size = int(f"{i}777")
        assert (tmp_path / str(i)).read_bytes() == raw.pattern(size)


def test_curl_with_http_1_0(server):
    assert curl(server, "--http1.0") == b"Hello, world\n"
    assert curl(server, "--http1.0", "--header", "Connection: keep-alive") == b"Hello, world\n"
    assert curl(server, "--http1.0", "--data", "abc", path="/echo") == b"abc"


def test_curl_offering_http_2_uses_http_1_1(server):
    assert curl(server, "--http2", "--write-out", "%{http_version}") == b"Hello, world\n1.1"
    assert curl(server, "--http2", "--data", "abc", path="/echo") == b"abc"


def test_curl_with_tls_on_plain_port_fails_at_once(server):
    result = subprocess.run([
        installed("curl", "curl"), "-sS", "--noproxy", "*", "--insecure", "--max-time", "60",
        f"https://127.0.0.1:{server.port}/hello"
    ], capture_output=True, timeout=90, check=False)
    assert result.returncode == 35, result


def test_curl_follows_redirect(server):
    assert curl(server, "--location", path="/redirect") == b"Hello, world\n"


def test_curl_slow_download(server):
    body = curl(server, "--limit-rate", "8M", path="/large?size=6000000")
    assert body == raw.pattern(6000000)


# ---- Python ----


def test_httpx_requests(server):
    import httpx

    before = server.stats()["total_connections"]
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        for i in range(50):
            assert client.get(f"/users/{i}").text == f"user id=[{i}]"
        assert client.post("/echo", content=raw.pattern(200000)).content == raw.pattern(200000)
        assert client.put("/echo", content=(raw.pattern(5000)
                                            for _ in range(40))).content == raw.pattern(5000) * 40
        assert client.head("/hello").headers["content-length"] == "13"
        assert client.get("/redirect", follow_redirects=True).text == "Hello, world\n"
        assert client.get("/cookies").cookies["b"] == "2"
        with client.stream("GET", "/large?size=3000000") as response:
            assert b"".join(response.iter_bytes()) == raw.pattern(3000000)
        assert client.delete("/hello").status_code == 405
        assert client.get("/status/204").status_code == 204
    # All requests used one connection. The other one is that of the stats request.
    assert server.stats()["total_connections"] == before + 2


def test_httpx_asynchronous_pool(server):
    import httpx

    async def crowd():
        limits = httpx.Limits(max_connections=10)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", limits=limits,
                                     trust_env=False) as client:
            responses = await asyncio.gather(*(client.get(f"/users/{i}", timeout=60)
                                               for i in range(200)))
            assert [response.text
                    for response in responses] == [f"user id=[{i}]" for i in range(200)]

    asyncio.run(crowd())


def test_aiohttp_requests(server):
    import aiohttp

    async def chunks():
        for _ in range(40):
            yield raw.pattern(5000)

    async def crowd():
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=10)) as session:
            base = f"http://127.0.0.1:{server.port}"

            async def text(i):
                async with session.get(f"{base}/users/{i}") as response:
                    return await response.text()

            assert await asyncio.gather(*(text(i) for i in range(200))
                                        ) == [f"user id=[{i}]" for i in range(200)]
            async with session.post(base + "/echo", data=chunks()) as response:
                assert await response.read() == raw.pattern(5000) * 40
            async with session.post(base + "/echo", data=raw.pattern(100000),
                                    expect100=True) as response:
                assert await response.read() == raw.pattern(100000)
            async with session.get(base + "/large?size=3000000") as response:
                assert await response.read() == raw.pattern(3000000)
            async with session.head(base + "/hello") as response:
                assert response.headers["Content-Length"] == "13"

    asyncio.run(crowd())


# ---- Node and Go ----


def test_node_requests(server):
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    output = run(installed("node", "nodejs"), str(CLIENTS / "fetch.mjs"),
                 f"http://127.0.0.1:{server.port}", env=environment)
    assert output == b"ok\n"


def test_go_requests(server, tmp_path):
    environment = {
        "HOME": str(tmp_path), **os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off",
        "GOFLAGS": "", "NO_PROXY": "*"
    }
    program = tmp_path / "client"
    run(installed("go", "golang-go"), "build", "-o", str(program), str(CLIENTS / "client.go"),
        env=environment)
    assert run(str(program), f"http://127.0.0.1:{server.port}", env=environment) == b"ok\n"
