"""Directory listings, read by real parsers: each link resolves to its file, whatever its name, and
the page is valid HTML."""

import datetime
import html.parser
import json
import os
import select
import urllib.parse

import html5lib

import pytest

import raw
from static_server import root, serve, write  # noqa: F401 (fixtures)

NASTY = [
    b"plain", b"with space", b"  two  spaces  ", b"100%", b"%41", b"%2e%2e", b"#1", b"what?",
    b"a?b#c%d", b"a:b", b"javascript:alert(1)", b"//host", b"<script>alert(1)</script>",
    b"</a></td>", b"&amp;", b"&lt;", b"quote\"", b"apostrophe'", b"\"onmouseover=x", b"back\\slash",
    b"new\nline", b"carriage\rreturn", b"tab\there", b"escape\x1b[31m", b"del\x7f", b"bell\x07",
    "grüße".encode(), "日本語".encode(), "🐙".encode(), "right\u202eleft".encode(), b"\xff\xfe",
    b"cut\xc3", b"long\xc0\xaf", b"half\xed\xa0\x80", b"a+b", b"a&b=c", b"a;b", b"semi;colon",
    b"{{x}}", b"a" * 255, "ü".encode() * 127
]
NASTY = [name.replace(b"/", b"_") for name in NASTY]


class Page(html.parser.HTMLParser):
    """A page: its links, the links and texts of the table rows, and a check that elements are
    closed in order."""

    VOID = {"meta", "br", "link", "img", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.links, self.all_links, self.open, self.seen = [], [], [], []
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
            self.all_links.append(attributes["href"])
        if tag == "a" and "tbody" in self.open:
            self.links.append([attributes["href"], ""])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "a" in self.open and "tbody" in self.open:
            self.links[-1][1] += data


def listing(server, target):
    response = server.request(target)
    assert response.status == 200
    assert response.get("Content-Type") == "text/html; charset=utf-8"
    assert response.get("Cache-Control") == "no-cache"
    text = response.body.decode("utf-8", errors="strict")
    # raises an exception for what the standard calls a parse error
    html5lib.HTMLParser(strict=True).parse(text)
    return Page(text)


def resolve(base, link):
    """The target that a browser would request."""
    return urllib.parse.urlsplit(urllib.parse.urljoin("http://localhost" + base, link))


@pytest.mark.parametrize("directory", ["", "sub", "sub/nasty #?%41 <folder>\n"])
def test_pitfall_listing_links_resolve_to_files(root, serve, directory):
    """Guards against a listing with links that special characters break."""
    for name in NASTY:
        write(root, os.path.join(os.fsencode(directory), name), b"content of " + name)
    target = "/" + "".join(urllib.parse.quote(part) + "/" for part in directory.split("/") if part)
    server = serve("--listing")
    page = listing(server, target)
    assert page.seen.count("script") == 1
    found = []
    with server.connect() as connection:
        for link, _ in page.links:
            if link == "../" or link.endswith("/"):
                continue
            parts = resolve(target, link)
            assert (parts.scheme, parts.netloc, parts.query,
                    parts.fragment) == ("http", "localhost", "", "")
            body = connection.request("GET", parts.path).body
            assert body.startswith(b"content of ")
            found.append(body[len(b"content of "):])
    assert sorted(found) == sorted(NASTY)


def test_listing_shows_names_unchanged(root, serve):
    for name in NASTY:
        write(root, name)
    texts = [text for _, text in listing(serve("--listing"), "/").links]
    for name in NASTY:
        try:
            text = name.decode()
        except UnicodeDecodeError:
            continue
        if text.isprintable():
            assert text in texts
    assert "right[U+202E]left" in texts
    assert not [
        text for text in texts if any(
            ord(character) < 32 or ord(character) == 127 for character in text)
    ]


def test_listing_of_subdirectories(root, serve):
    write(root, "sub folder/inner/file", b"x")
    write(root, "file", b"x")
    server = serve("--listing")
    assert [link for link, _ in listing(server, "/").links] == ["./sub%20folder/", "./file"]
    assert [link for link, _ in listing(server, "/sub%20folder/").links] == ["../", "./inner/"]
    assert resolve("/sub%20folder/inner/", "../").path == "/sub%20folder/"


def test_index_file_has_precedence_over_listing(root, serve):
    write(root, "index.html", b"index")
    assert serve("--listing").request("/").body == b"index"


def test_listing_has_hidden_names_only_if_served(root, serve):
    write(root, ".hidden", b"x")
    write(root, "shown", b"x")
    assert [text for _, text in listing(serve("--listing"), "/").links] == ["shown"]
    assert sorted(text for _, text in listing(serve("--listing", "--hidden"), "/").links) == [
        ".hidden", "shown"
    ]


def test_head_of_listing_has_no_body(root, serve):
    write(root, "file", b"x")
    server = serve("--listing")
    with server.connect() as connection:
        head, get = connection.request("HEAD", "/"), connection.request("GET", "/")
        other = ("Date", "Content-Security-Policy")  # which has a nonce
        assert [field for field in head.fields if field[0] not in other
                ] == [field for field in get.fields if field[0] not in other]


def test_listing_of_missing_directory_gets_404(root, serve):
    assert serve("--listing").request("/missing/").status == 404


def test_long_listing_arrives_whole(root, serve):
    for number in range(2000):
        write(root, f"file with a rather long name, number {number:04}", b"")
    server = serve("--listing")
    with server.connect(receive_buffer=4096) as connection:
        connection.send(raw.request("GET", "/"))
        server.request("/missing")
        page = Page(connection.response().body.decode())
    assert [text for _, text in page.links
            ] == [f"file with a rather long name, number {number:04}" for number in range(2000)]


def test_listing_page_links_are_served(root, serve):
    """The links of the path, the sort orders, the style sheet, the archive and the rows."""
    for name in NASTY:
        write(root, b"sub/deeper folder/" + name)
    write(root, "sub/deeper folder/README", b"text")
    server = serve("--listing", "--archive")
    with server.connect() as connection:
        todo, seen = ["/"], set()
        while todo:
            target = todo.pop()
            response = connection.request("GET", target)
            assert response.status == 200, target
            seen.add(target)
            if response.get("Content-Type").startswith("text/html"):
                links = [
                    urllib.parse.urljoin("http://x" + target, link)[8:]
                    for link in Page(response.body.decode()).all_links
                ]
                todo += [link for link in links if link not in seen and link not in todo]
    assert "/sub/deeper%20folder/?sort=size&order=desc" in seen and "/?format=tar" in seen


@pytest.mark.parametrize(
    "name", [*NASTY, b"a\xef\xb7\x90b\xef\xbf\xbf", b"\xc2\x85", b"--!>", b"]]>", b"<!--"])
def test_listing_of_any_directory_name_is_valid_html(root, name, request):
    """The name is in the title and in the path. One server serves all directories."""
    server = request.getfixturevalue("serve")("--listing")
    write(root, name + b"/inner folder/x")
    with server.connect() as connection:
        target = "/" + urllib.parse.quote_from_bytes(name) + "/inner%20folder/"
        response = connection.request("GET", target)
        text = response.body.decode("utf-8", errors="strict")
        html5lib.HTMLParser(strict=True).parse(text)
        up = [link for link in Page(text).all_links if link == "../../"]
        assert response.status == 200 and len(up) == 1


def test_listing_format_by_query(root, serve):
    when = datetime.datetime(2024, 2, 29, 12, 30, 1, tzinfo=datetime.timezone.utc)
    os.utime(write(root, "b.bin", bytes(2000)), (0, when.timestamp()))
    write(root, "a/x")
    server = serve("--listing")
    response = server.request("/?format=json", "Accept: text/html")
    assert (response.status, response.get("Content-Type"),
            response.get("Vary")) == (200, "application/json", "Accept")
    directory, file = json.loads(response.body)
    assert file == {
        "name": "b.bin", "href": "./b.bin", "type": "file", "size": 2000,
        "mtime": "2024-02-29T12:30:01Z"
    }
    assert (directory["name"], directory["href"], directory["type"], "size"
            in directory) == ("a", "./a/", "directory", False)
    response = server.request("/?format=text", "Accept: application/json")
    assert (response.get("Content-Type"), response.body) == ("text/plain; charset=utf-8",
                                                             b"a/\nb.bin\n")
    assert server.request("/?format=html",
                          "Accept: application/json").body.startswith(b"<!DOCTYPE html>")
    assert server.request("/?format=tar").status == 403
    for unknown in ("/?format=xml", "/?format=", "/?x=1", "/?sort=age&order=up"):
        assert server.request(unknown, "Accept: text/plain").body == b"a/\nb.bin\n"
    write(root, "index.html", b"index")
    assert server.request("/?format=json").body == b"index"


@pytest.mark.parametrize(
    "accept, kind",
    [([], "text/html"), (["*/*"], "text/html"), (["application/json"], "application/json"),
     (["text/plain"], "text/plain"),
     (["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], "text/html"),
     (["text/*"], "text/html"), (["text/html;q=0.5, application/json"], "application/json"),
     (["application/json;q=0.5", "text/plain;q=0.7"], "text/plain"), (["image/png"], "text/html"),
     (["application/x-tar"], "text/html"), (["text/html;q=0, */*"], "application/json"), ])
def test_listing_format_by_accept(root, serve, accept, kind):
    write(root, "file")
    response = serve("--listing").request("/", *[f"Accept: {value}" for value in accept])
    assert response.status == 200 and response.get("Content-Type").startswith(
        kind) and response.get("Vary") == "Accept"


def test_listing_json_and_text_have_any_name(root, serve):
    for name in NASTY:
        write(root, name, b"content of " + name)
    server = serve("--listing")
    listed = json.loads(server.request("/?format=json").body.decode("utf-8", errors="strict"))
    with server.connect() as connection:
        bodies = [connection.request("GET", "/" + entry["href"][2:]).body for entry in listed]
    assert sorted(bodies) == sorted(b"content of " + name for name in NASTY)
    assert {entry["name"]
            for entry in listed} == {name.decode("utf-8", errors="replace")
                                     for name in NASTY}
    lines = server.request("/?format=text").body.decode("utf-8",
                                                        errors="strict").splitlines(keepends=True)
    assert len([line for line in lines if line.endswith("\n")]) == len(NASTY)


def test_listing_sort_orders(root, serve):
    for number, (name, size) in enumerate((("b", 30), ("a", 10), ("c", 20))):
        os.utime(write(root, name, bytes(size)), (0, 1_000_000_000 + number))
    server = serve("--listing")
    for query, wanted in (("sort=name&order=desc", "cba"), ("sort=size",
                                                            "acb"), ("sort=size&order=desc", "bca"),
                          ("sort=date", "bac"), ("order=desc&sort=date", "cab"), ("", "abc")):
        assert server.request(f"/?format=text&{query}").body.decode().replace("\n", "") == wanted
        assert [text for _, text in listing(server, f"/?{query}").links] == list(wanted)


def test_listing_sorts_numbers_by_value(root, serve):
    names = ["file1", "File2", "file10", "Äpfel", "apfel 2", "zebra"]
    for name in names:
        write(root, name)
    assert serve("--listing").request("/?format=text").body.decode().split("\n")[:-1] == [
        "Äpfel", "apfel 2", "file1", "File2", "file10", "zebra"
    ]


def test_listing_omits_compressed_siblings(root, serve):
    """FILE.br, FILE.gz and FILE.zst, where they are served in place of FILE."""
    for name in ("app.js", "app.js.br", "app.js.gz", "app.js.zst", "data.tar.gz", "folder/x",
                 "folder.gz", ".gz"):
        write(root, name, b"x")
    expected = ["folder/", "app.js", "data.tar.gz", "folder.gz"]
    assert serve("--listing",
                 "--precompressed").request("/?format=text").body.decode().split() == expected
    names = serve("--listing").request("/?format=text").body.decode().split()
    assert sorted(names) == sorted([*expected, "app.js.br", "app.js.gz", "app.js.zst"])


def test_listing_filter(root, serve):
    """Every format has only the names that contain the text, from any number of entries."""
    for name in ("Café 10.txt", "cafe.txt", "tea.txt", "sub cafe/x", ".cafe"):
        write(root, name)
    server = serve("--listing", "--listing-max", "3")
    for query in ("filter=CAFE", "filter=caf%C3%A9", "filter=cafe&sort=name"):
        expected = ["sub cafe/", "Café 10.txt", "cafe.txt"]
        response = server.request(f"/?format=text&{query}")
        assert response.body.decode().split("\n")[:-1] == expected
        assert response.get("Listing-Truncated") is None
        assert len(json.loads(server.request(f"/?format=json&{query}").body)) == 3
        assert len(listing(server, f"/?{query}").links) == 3
    assert server.request("/?format=text&filter=").get("Listing-Truncated") == "?1"
    assert server.request("/?format=text&filter=" + "x" * 5000).body == b""
    for name in NASTY:
        listing(server, "/?filter=" + urllib.parse.quote(name))


def test_listing_script_needs_nonce(root, serve):
    """Each page has another one, so the policy allows no other script."""
    write(root, "file")
    server = serve("--listing")
    nonces = set()
    for _ in range(2):
        response = server.request("/")
        page = html5lib.parse(response.body.decode(), namespaceHTMLElements=False)
        script = page.find(".//script")
        nonces.add(script.get("nonce"))
        assert (f"script-src 'nonce-{script.get('nonce')}'"
                in response.get("Content-Security-Policy"))
        source = server.request("/" + script.get("src"))
        assert source.get("Content-Type") == "text/javascript; charset=utf-8"
        assert "immutable" in source.get("Cache-Control")
    assert len(nonces) == 2 and all(len(nonce) == 32 for nonce in nonces)


README = """# Hello <script>alert(1)</script>

Some **bold** text, a [file](data.txt), a [trap](javascript:alert(1)) and an ![image](cat.png).

<iframe src=//x.test></iframe>

| a | b |
|---|--:|
| 1 | 2 |

- [ ] open
  1. deeper

```
<script>
```
"""


def test_listing_readme_is_markdown_without_active_content(root, serve):
    write(root, "README.md", README.encode())
    response = serve("--listing").request("/")
    text = response.body.decode()
    html5lib.HTMLParser(strict=True).parse(text)
    article = html5lib.parse(text, namespaceHTMLElements=False).find(".//article")
    assert article.find("h3").text == "Hello alert(1)"
    assert [link.get("href") for link in article.iter("a")] == ["data.txt"]
    assert [image.get("src") for image in article.iter("img")] == ["cat.png"]
    assert article.find(".//td[@class='right']").text == "2"
    assert article.find(".//pre/code").text == "<script>\n"
    assert not list(article.iter("script")) and not list(article.iter("iframe"))
    assert "default-src 'none'" in response.get("Content-Security-Policy")


def test_listing_style_sheet_is_external(root, serve):
    """The policy of security_headers.h allows style sheets of the site, and no inline styles."""
    write(root, "file")
    server = serve("--listing")
    page = server.request("/").body.decode()
    assert "<style" not in page and "style=" not in page
    link = next(
        element.get("href")
        for element in html5lib.parse(page, namespaceHTMLElements=False).iter("link"))
    sheet = server.request("/" + link)
    assert (sheet.status, sheet.get("Content-Type")) == (200, "text/css; charset=utf-8")
    assert "immutable" in sheet.get("Cache-Control") and b"prefers-color-scheme: dark" in sheet.body
    assert serve("--no-listing").request("/" + link[:-1]).status == 403


def test_listing_entry_limit(root, serve):
    for number in range(30):
        write(root, f"file {number}")
    server = serve("--listing", "--listing-max", "30")
    assert server.request("/").get("Listing-Truncated") is None
    write(root, "one more")
    for kind in ("html", "json", "text"):
        assert server.request(f"/?format={kind}").get("Listing-Truncated") == "?1"
    assert len(json.loads(server.request("/?format=json").body)) == 30


def test_listing_conditional_requests(root, serve):
    """RFC 9110 sections 13.1.1 and 13.1.2: a listing exists, and has no entity tag."""
    write(root, "file")
    server = serve("--listing", "--archive")
    for kind in ("html", "json", "text", "tar"):
        for method in ("GET", "HEAD"):
            known = server.request(f"/?format={kind}", "If-None-Match: *", method=method)
            assert (known.status, known.body, known.get("Vary"),
                    known.get("Cache-Control")) == (304, b"", "Accept", "no-cache")
            assert server.request(f"/?format={kind}", 'If-None-Match: "a"', "If-Match: *",
                                  method=method).status == 200
            assert server.request(f"/?format={kind}", 'If-Match: "a"', method=method).status == 412
    assert server.request("/missing/", "If-None-Match: *").status == 404


def test_truncated_listing_omits_last_entries(root, serve):
    for number in range(50):
        write(root, f"f{number:02}", b"x" * (number * 7 % 50))
    server = serve("--listing", "--listing-max", "5")
    for query, wanted in (("sort=size&order=desc", [7, 14, 21, 28,
                                                    35]), ("sort=size", [0, 43, 36, 29, 22]),
                          ("sort=name", range(5)), ("order=desc", range(49, 44, -1))):
        names = server.request(f"/?format=text&{query}").body.decode().split()
        assert names == [f"f{number:02}" for number in wanted]


# Under a sanitizer everything takes several times longer.
ENTRIES = 10_000 if "asan" in os.environ.get("UVHTTP_BUILD_DIR", "") else 100_000


def make_entries(root, count):
    directory = os.path.join(root, "large")
    os.mkdir(directory)
    first = write(root, "large/file with number 000000")
    for number in range(1, count):  # only names matter, and links are created faster than files
        if number % 20_000 == 0:
            first = write(root, f"large/file with number {number:06}")
        else:
            os.link(first, os.path.join(directory, f"file with number {number:06}"))


@pytest.mark.http1
def test_large_listing_does_not_block_others(root, serve):
    """While 100,000 entries are read, sorted and sent, other requests get responses. The memory is
    that of the names and two slices."""
    make_entries(root, ENTRIES)
    write(root, "small", b"small")
    server = serve("--listing", "--listing-max", "1000000")
    with server.connect() as large, server.connect() as other:
        other.request("GET", "/small")
        large.send(raw.request("GET", "/large/?format=json"))
        before = 0
        while not select.select([large.socket], [], [], 0)[0]:  # until its first byte arrives
            assert other.request("GET", "/small").body == b"small"
            before += 1
        large.line()
        meanwhile = 0
        for _ in range(50):  # most of the listing cannot be sent: the client does not read
            assert other.request("GET", "/small").body == b"small"
            meanwhile += 1
        assert before >= 10 and meanwhile == 50
    response = server.request("/large/?format=json")
    assert response.get("Content-Length") is None
    names = [entry["name"] for entry in json.loads(response.body)]
    assert names == [f"file with number {number:06}" for number in range(ENTRIES)]


def test_disconnect_during_long_listing(root, serve):
    for number in range(4000):
        write(
            root,
            f"file with a rather long name, so that there are several slices, number {number:04}")
    server = serve("--listing")
    for read in (0, 1, 100_000):
        with server.connect(receive_buffer=4096) as connection:
            connection.send(raw.request("GET", "/"))
            while read > 0:
                read -= len(connection.receive())
            connection.reset()
    assert len(listing(server, "/").links) == 4000


@pytest.mark.http1
def test_long_listing_for_http_1_0_and_1_1(root, serve):
    for number in range(2000):
        write(
            root,
            f"file with a rather long name, so that there are several slices, number {number:04}")
    server = serve("--listing")
    with server.connect() as connection:
        connection.send(raw.request("GET", "/?format=text", version="HTTP/1.0"))
        response = connection.response()
        assert response.body.count(b"\n") == 2000
    with server.connect() as connection:
        head = connection.request("HEAD", "/")
        assert head.status == 200 and head.body == b"" and connection.request(
            "GET", "/small").status == 404
