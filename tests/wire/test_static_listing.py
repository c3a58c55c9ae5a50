"""Folder listings, read back with a real HTML parser: whatever a name holds, its link leads to that file."""

import html.parser
import os
import urllib.parse

import pytest

import raw
from static_server import place, serve, write  # noqa: F401 (fixtures)

NASTY = [b"plain", b"with space", b"  two  spaces  ", b"100%", b"%41", b"%2e%2e", b"#1", b"what?", b"a?b#c%d", b"a:b", b"javascript:alert(1)",
         b"//host", b"<script>alert(1)</script>", b"</a></td>", b"&amp;", b"&lt;", b"quote\"", b"apostrophe'", b"\"onmouseover=x", b"back\\slash",
         b"new\nline", b"carriage\rreturn", b"tab\there", b"escape\x1b[31m", b"del\x7f", b"bell\x07", "grüße".encode(), "日本語".encode(),
         "🐙".encode(), "right\u202eleft".encode(), b"\xff\xfe", b"cut\xc3", b"long\xc0\xaf", b"half\xed\xa0\x80", b"a+b", b"a&b=c", b"a;b",
         b"semi;colon", b"{{x}}", b"a" * 255, "ü".encode() * 127]
NASTY = [name.replace(b"/", b"_") for name in NASTY]


class Page(html.parser.HTMLParser):
    """Links and texts of a page, and a check that every element is closed where it should be."""

    VOID = {"meta", "br", "link", "img"}

    def __init__(self, text):
        super().__init__()
        self.links, self.open, self.seen = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        attributes = dict(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "a":
            self.links.append([attributes["href"], ""])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "a" in self.open:
            self.links[-1][1] += data


def listing(server, target):
    response = server.ask(target)
    assert response.status == 200
    assert response.get("Content-Type") == "text/html; charset=utf-8"
    assert response.get("Cache-Control") == "no-cache"
    return Page(response.body.decode("utf-8", errors="strict"))


def resolve(base, link):
    """The target a browser would ask for."""
    return urllib.parse.urlsplit(urllib.parse.urljoin("http://localhost" + base, link))


@pytest.mark.parametrize("folder", ["", "sub", "sub/nasty #?%41 <folder>\n"])
def test_pitfall_every_link_leads_to_its_file(place, serve, folder):
    """A listing once broke on special characters."""
    for name in NASTY:
        write(place, os.path.join(os.fsencode(folder), name), b"content of " + name)
    target = "/" + "".join(urllib.parse.quote(part) + "/" for part in folder.split("/") if part)
    server = serve("--listing")
    page = listing(server, target)
    assert "script" not in page.seen
    found = []
    with server.connect() as connection:
        for link, _ in page.links:
            if link == "../" or link.endswith("/"):
                continue
            parts = resolve(target, link)
            assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("http", "localhost", "", "")
            body = connection.ask("GET", parts.path).body
            assert body.startswith(b"content of ")
            found.append(body[len(b"content of "):])
    assert sorted(found) == sorted(NASTY)


def test_names_are_shown_as_they_are(place, serve):
    for name in NASTY:
        write(place, name)
    texts = [text for _, text in listing(serve("--listing"), "/").links]
    for name in NASTY:
        try:
            text = name.decode()
        except UnicodeDecodeError:
            continue
        if text.isprintable() or "\u202e" in text:
            assert text in texts
    assert not [text for text in texts if any(ord(character) < 32 or ord(character) == 127 for character in text)]


def test_folders_and_their_links(place, serve):
    write(place, "sub folder/inner/file", b"x")
    write(place, "file", b"x")
    server = serve("--listing")
    assert [link for link, _ in listing(server, "/").links] == ["./sub%20folder/", "./file"]
    assert [link for link, _ in listing(server, "/sub%20folder/").links] == ["../", "./inner/"]
    assert resolve("/sub%20folder/inner/", "../").path == "/sub%20folder/"


def test_an_index_file_goes_before_the_listing(place, serve):
    write(place, "index.html", b"index")
    assert serve("--listing").ask("/").body == b"index"


def test_hidden_names_are_listed_only_when_served(place, serve):
    write(place, ".hidden", b"x")
    write(place, "shown", b"x")
    assert [text for _, text in listing(serve("--listing"), "/").links] == ["shown"]
    assert sorted(text for _, text in listing(serve("--listing", "--hidden"), "/").links) == [".hidden", "shown"]


def test_head_of_a_listing(place, serve):
    write(place, "file", b"x")
    server = serve("--listing")
    with server.connect() as connection:
        head, get = connection.ask("HEAD", "/"), connection.ask("GET", "/")
        assert [field for field in head.fields if field[0] != "Date"] == [field for field in get.fields if field[0] != "Date"]


def test_a_missing_folder_is_not_listed(place, serve):
    assert serve("--listing").ask("/missing/").status == 404


def test_a_long_listing_arrives_whole(place, serve):
    for number in range(2000):
        write(place, f"file with a rather long name, number {number:04}", b"")
    server = serve("--listing")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/"))
        server.ask("/missing")
        page = Page(connection.response().body.decode())
    assert [text for _, text in page.links] == [f"file with a rather long name, number {number:04}" for number in range(2000)]
