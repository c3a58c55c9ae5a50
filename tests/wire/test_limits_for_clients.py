"""Rate limits, size limits, entity tags of bodies and signed cookies, with real clients."""

import asyncio
import base64
import json
import subprocess

import aiohttp
import httpx
import pytest

from program import Program, clean_environment
from wire_server import SAFETY_TIMEOUT


@pytest.fixture
def run():
    running = []

    def starter(name):
        running.append(Program(name, "0"))
        return running[-1]

    yield starter
    for program in running:
        assert program.stop() == 0, program.log()


def client_of(program):
    return httpx.Client(base_url=program.url, trust_env=False, timeout=SAFETY_TIMEOUT)


# Rate limits


def test_rate_limit_fields_predict_rejection(run):
    program = run("limits")
    with client_of(program) as client:
        left = []
        while True:
            response = client.get("/api/time")
            policies = response.headers["RateLimit-Policy"].split(", ")
            assert policies == ['"each";q=5;w=60', '"all";q=1000;w=60'
                                ] or policies == ['"all";q=1000;w=60', '"each";q=5;w=60']
            items = dict(item.split(";", 1) for item in response.headers["RateLimit"].split(", "))
            if response.status_code == 429:
                break
            assert response.status_code == 200 and "Retry-After" not in response.headers
            left.append(int(items['"each"'].split(";")[0].removeprefix("r=")))
        assert left == [4, 3, 2, 1, 0]
        # The time of Retry-After is not before the time of t
        # (draft-ietf-httpapi-ratelimit-headers-10 section 4.3).
        assert 1 <= int(response.headers["Retry-After"]) <= 12
        assert items['"each"'] == f"r=0;t={response.headers['Retry-After']}"
        assert response.text == "429 Too Many Requests\n"
        # A key counts as another client, on the same connection.
        assert client.get("/api/time", headers={"X-Api-Key": "mine"}).status_code == 200


def test_rate_limit_counts_connections_of_one_address(run):
    program = run("limits")

    async def request_all():
        connector = aiohttp.TCPConnector(limit=20)
        async with aiohttp.ClientSession(program.url, connector=connector) as session:

            async def fetch():
                async with session.get("/api/time") as response:
                    return response.status

            return await asyncio.gather(*(fetch() for _ in range(20)))

    statuses = asyncio.run(request_all())
    assert sorted(statuses) == [200] * 5 + [429] * 15


def test_rate_limit_rejects_node(run):
    program = run("limits")
    script = """
    (async () => {
        const seen = [];
        for (let i = 0; i < 7; i++) {
            const answer = await fetch(process.argv[1] + "api/time");
            seen.push([answer.status, answer.headers.get("retry-after") !== null]);
            await answer.text();
        }
        console.log(JSON.stringify(seen));
    })();
    """
    done = subprocess.run(["node", "-e", script, program.url], capture_output=True, text=True,
                          timeout=3 * SAFETY_TIMEOUT, env=clean_environment())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[200, False]] * 5 + [[429, True]] * 2


# Size limits


def test_size_limit_does_not_read_too_large_upload(run):
    program = run("limits")
    with program.connect() as connection:
        connection.send(
            b"POST /api/count HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\nExpect: "
            b"100-continue\r\n\r\n")
        response = connection.response("POST")
        assert response.status == 413 and response.interim == []


@pytest.mark.parametrize("size, status", [(1000, "200"), (1001, "413")])
@pytest.mark.parametrize("framing", [[], ["-H", "Transfer-Encoding: chunked"]])
def test_size_limit_accepts_upload_up_to_limit(run, tmp_path, size, status, framing):
    program = run("limits")
    (tmp_path / "body").write_bytes(b"x" * size)
    done = subprocess.run([
        "curl", "-s", "--noproxy", "*", "-o", tmp_path / "out", "-w", "%{http_code}", *framing,
        "--data-binary", f"@{tmp_path}/body", f"{program.url}api/count"
    ], capture_output=True, text=True, timeout=3 * SAFETY_TIMEOUT)
    assert done.stdout == status


# Entity tags


def test_body_etag_gets_304_from_caching_client(run):
    program = run("body_etag")
    with client_of(program) as client:
        first = client.get("/list")
        tag = first.headers["ETag"]
        assert first.status_code == 200 and len(first.json()) == 20
        again = client.get("/list", headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        assert "Content-Type" not in again.headers and again.headers["ETag"] == tag
        assert client.head("/list").headers["ETag"] == tag
        other = client.get("/list", headers={"If-None-Match": '"other"'})
        assert (other.status_code, other.content) == (200, first.content)
        assert client.get("/list", headers={"If-Match": '"other"'}).status_code == 412


def test_body_etag_with_curl_etag_file(run, tmp_path):
    program = run("body_etag")
    tags = tmp_path / "tags"
    tags.write_text("")
    statuses = []
    for _ in range(2):
        done = subprocess.run([
            "curl", "-s", "--noproxy", "*", "--etag-compare", tags, "--etag-save", tags, "-o",
            tmp_path / "out", "-w", "%{http_code} %{size_download}", f"{program.url}list"
        ], capture_output=True, text=True, timeout=3 * SAFETY_TIMEOUT)
        statuses.append(done.stdout)
    assert statuses == ["200 193", "304 0"]


# Signed cookies


def test_signed_cookie_session_of_browser(run):
    program = run("signed_cookie")
    with client_of(program) as client:
        assert client.get("/").status_code == 401
        assert client.post("/login", data={"user": "J\u00fcrgen; \"x\""}).status_code == 303
        assert client.get("/").text == "hello, J\u00fcrgen; \"x\"\n"
        cookie, = client.cookies.jar
        assert cookie.has_nonstandard_attr("HttpOnly") and cookie.get_nonstandard_attr(
            "SameSite") == "Lax"
        client.post("/logout")
        assert not list(client.cookies.jar)
        assert client.get("/").status_code == 401


def test_signed_cookie_modified_is_ignored(run):
    program = run("signed_cookie")
    with client_of(program) as client:
        client.post("/login", data={"user": "ada"})
        value = client.cookies["user"]
    data = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
    assert data[8:-32] == b"ada"
    forged = base64.urlsafe_b64encode(data[:8] + b"eve" + data[11:]).rstrip(b"=").decode()
    for sent, status in ((value, 200), (forged, 401), (value[:-1], 401), (value + "A", 401),
                         ("", 401), (value.swapcase(), 401)):
        assert program.request("/", f"Cookie: user={sent}").status == status, sent
    assert program.request("/", f"Cookie: other={value}").status == 401
    other = run("signed_cookie")  # with its own key
    assert other.request("/", f"Cookie: user={value}").status == 401
