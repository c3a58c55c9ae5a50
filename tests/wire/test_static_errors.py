"""Error pages of static files without a page of their own."""

import html5lib
import pytest

from static_server import root, serve, write  # noqa: F401 (fixtures)

BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def page_of(response):
    html5lib.HTMLParser(strict=True).parse(response.body.decode("utf-8", errors="strict"))
    return html5lib.parse(response.body.decode(), namespaceHTMLElements=False)


def links_of(page):
    return [(link.get("href"), "".join(link.itertext())) for link in page.iter("a")]


def test_missing_file_has_a_page_for_browsers(root, serve):
    write(root, "a/b/x")
    response = serve().request("/a/b/<missing>%2e", BROWSER)
    assert (response.status, response.get("Content-Type"),
            response.get("Vary")) == (404, "text/html; charset=utf-8", "Accept")
    assert "default-src 'none'" in response.get("Content-Security-Policy")
    page = page_of(response)
    assert "".join(page.find(".//h1").itertext()) == "404 Not Found"
    assert links_of(page) == [("../../", "/"), ("../", "a"), ("./", "b"),
                              ("../../", "Back to the start")]
    assert b"&lt;missing&gt;." in response.body


def test_denied_directory_has_a_page_for_browsers(root, serve):
    write(root, "a/b/x")
    response = serve().request("/a/b/", BROWSER)
    assert response.status == 403
    page = page_of(response)
    assert links_of(page) == [("../../", "/"), ("../", "a"), ("../../", "Back to the start")]
    assert links_of(page_of(serve().request("/", BROWSER))) == []


@pytest.mark.parametrize("accept", [None, "*/*", "text/plain", "application/json", "image/png",
                                    "text/html;q=0.5, text/plain"])
def test_programs_get_one_line(root, serve, accept):
    fields = [] if accept is None else [f"Accept: {accept}"]
    response = serve().request("/missing", *fields)
    assert (response.status, response.body) == (404, b"404 Not Found\n")
    assert (response.get("Vary"), response.get("Content-Security-Policy")) == ("Accept", None)


def test_error_page_has_the_style_sheet_of_listings(root, serve):
    """Whatever the directory has: an index file would be sent for the URL of a directory."""
    write(root, "index.html", b"index")
    server = serve()
    link = page_of(server.request("/a/missing", BROWSER)).find(".//link").get("href")
    sheet = server.request("/a/missing" + link)
    assert (sheet.status, sheet.get("Content-Type")) == (200, "text/css; charset=utf-8")
    assert server.request("/a/missing" + link[:-1]).status == 404


def test_configured_error_page_has_precedence(root, serve):
    write(root, "404.html", b"own page")
    response = serve("--error-pages", "404=/404.html").request("/missing", BROWSER)
    assert (response.status, response.body) == (404, b"own page")


def test_head_of_error_page_has_no_body(root, serve):
    response = serve().request("/missing", BROWSER, method="HEAD")
    assert (response.status, response.body) == (404, b"")
    assert response.get("Content-Type") == "text/html; charset=utf-8"


def test_error_page_of_the_longest_path(root, serve):
    target = "/" + "a/" * 100 + "%3C" * 2000
    response = serve().request(target, BROWSER)
    assert response.status == 404
    page_of(response)
