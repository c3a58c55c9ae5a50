"""Compressed responses with independent clients: the example `compressed` with curl, aiohttp, httpx
and Node."""

import asyncio
import gzip
import json
import subprocess

import aiohttp
import httpx
import pytest

from program import Program, clean_environment
from wire_server import SAFETY_TIMEOUT

ITEMS = [{"id": i, "name": f"item {i}"} for i in range(200)]
TABLE = "".join(f"{i},{i * i},{i * i * i}\n" for i in range(1, 1001))
EVENTS = "".join(f"data: number {i}\n\n" for i in (1, 2, 3))


@pytest.fixture(scope="module")
def site():
    program = Program("compressed", "0")
    yield f"http://127.0.0.1:{program.port}"
    assert program.stop() == 0, program.log()


def command(*words, data=None):
    done = subprocess.run(words, input=data, capture_output=True, timeout=SAFETY_TIMEOUT,
                          env=clean_environment({"no_proxy": "*"}))
    assert done.returncode == 0, done.stderr
    return done.stdout


# Programs that decode each content coding.
UNDONE = {
    "gzip": gzip.decompress, "br": lambda data: command("brotli", "-dc", data=data),
    "zstd": lambda data: command("zstd", "-dc", data=data)
}


@pytest.mark.parametrize("coding", sorted(UNDONE))
@pytest.mark.parametrize("path", ["/items", "/table", "/numbers"])
def test_each_coding_is_decoded_by_its_program(site, path, coding):
    raw = command("curl", "-sS", "-H", f"Accept-Encoding: {coding}", f"{site}{path}")
    text = UNDONE[coding](raw).decode()
    if path == "/items":
        assert json.loads(text) == ITEMS
    else:
        assert text == (TABLE if path == "/table" else EVENTS)
    if path != "/numbers":
        assert len(raw) < len(text) * 0.6
        plain = command("curl", "-sS", f"{site}{path}").decode()
        assert plain == text


def test_curl_decodes_responses(site):
    head, body = command("curl", "-sS", "--compressed", "-D", "-",
                         f"{site}/items").decode().replace("\r", "").split("\n\n", 1)
    assert "\nContent-Encoding: " in head and '\nETag: W/"items-1"' in head and ("\nVary: Accept-"
                                                                                 "Encoding") in head
    assert json.loads(body) == ITEMS


def test_httpx_decodes_responses(site):
    with httpx.Client(trust_env=False) as client:
        responses = [
            client.get(f"{site}{path}", headers={"Accept-Encoding": "gzip"})
            for path in ("/items", "/table", "/numbers")
        ]
        assert [response.headers["Content-Encoding"] for response in responses] == ["gzip"] * 3
        assert responses[0].json(
        ) == ITEMS and responses[1].text == TABLE and responses[2].text == EVENTS
        plain = client.get(f"{site}/items", headers={"Accept-Encoding": "identity"})
        assert "Content-Encoding" not in plain.headers and plain.headers["ETag"] == '"items-1"'
        head = client.head(f"{site}/items", headers={"Accept-Encoding": "gzip"})
        assert head.headers["Content-Length"] == responses[0].headers["Content-Length"]


def test_aiohttp_decodes_responses(site):
    async def fetch():
        async with aiohttp.ClientSession(headers={"Accept-Encoding": "gzip"}) as session:
            async with session.get(f"{site}/table") as response:
                assert response.headers["Content-Encoding"] == "gzip" and response.headers[
                    "Transfer-Encoding"] == "chunked"
                assert await response.text() == TABLE
            async with session.get(f"{site}/items") as response:
                assert await response.json() == ITEMS

    asyncio.run(fetch())


def test_node_decodes_responses(site):
    script = f"""(async () => {{
        for (const path of ['/items', '/table', '/numbers']) {{
            const answer = await fetch('{site}' + path,
                {{headers: {{'Accept-Encoding': 'gzip, deflate, br'}}}})
            console.log(answer.headers.get('content-encoding'), (await answer.text()).length)
        }}
    }})()"""
    lines = command("node", "-e", script).decode().split("\n")
    items = len("[" + ",\n ".join(f'{{"id": {i}, "name": "item {i}"}}' for i in range(200)) + "]\n")
    assert lines[:3] == [f"br {items}", f"br {len(TABLE)}", f"br {len(EVENTS)}"]
