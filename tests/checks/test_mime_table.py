"""The table of media types compared with other lists. Every difference is a decision, documented
here or in tools/make_mime_table.py."""

import mimetypes
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_mime_table  # noqa: E402  (from tools)

TABLE = dict(re.findall(r'"([^"\\]+)\\0" "([^"]+)\\0"', make_mime_table.TABLE.read_text()))

# Types for which Python has old or unregistered names, or equivalent ones.
PYTHON_DIFFERS = set("""
    3g2 3gp 3gpp csh dll exe ico js m3u man me mif mjs ms obj opus py pyo ra ram rdf roff sgm sgml
    sh srt t tcl tex tr vcf wav wsdl xml xsl
""".split())


def essence(name):
    return name.split(";")[0]


def test_table_has_types_of_web_sites():
    wanted = """7z aac apk apng avif bin bmp br bz2 cjs css csv eot epub flac geojson gif glb gltf
                gz heic htm html ico ics jpeg jpg js json jsonld jxl m3u8 m4a map md mid mjs mov mp3
                mp4 mpd ogg opus otf pdf png rss svg tar tiff toml ts ttc ttf txt vtt wasm wav webm
                webmanifest webp woff woff2 xhtml xml yaml zip zst"""
    assert [extension for extension in wanted.split() if extension not in TABLE] == []


def test_table_agrees_with_python():
    differing = []
    for extension, name in mimetypes.MimeTypes(filenames=()).types_map[True].items():
        ours = TABLE.get(extension[1:])
        if ours is not None and essence(ours) != name and extension[1:] not in PYTHON_DIFFERS:
            differing.append((extension, ours, name))
    assert differing == []


def test_table_agrees_with_system_on_registered_types():
    """Debian's /etc/mime.types is based on IANA's registry, too: for images, fonts, audio and video
    that browsers display."""
    path = pathlib.Path("/etc/mime.types")
    if not path.exists():
        pytest.skip("/etc/mime.types does not exist")
    known = set(make_mime_table.OVERRIDES) | PYTHON_DIFFERS
    listed, differing = {}, []
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        for extension in words[1:]:
            listed.setdefault(extension, set()).add(words[0])
    for extension, names in listed.items():
        kinds = {name.split("/")[0] for name in names}
        registered = all("/x-" not in name and "/vnd." not in name for name in names)
        if extension in TABLE and extension not in known and registered and kinds <= {
                "image", "font", "audio", "video"
        }:
            if essence(TABLE[extension]).lower() not in {name.lower() for name in names}:
                differing.append(extension)
    # Other formats with the same extension, and formats with two registered names ("audio/midi",
    # "audio/sp-midi").
    assert sorted(differing) == ["atx", "fli", "mid", "sid", "smv"]


@pytest.mark.parametrize("name, charset", [("text/html", True), ("text/javascript", True),
                                           ("application/json", False), ("image/svg+xml", False),
                                           ("application/xml", False), ("text/x+xml", False)])
def test_text_has_charset(name, charset):
    assert make_mime_table.with_charset(name) == (f"{name}; charset=utf-8" if charset else name)


def test_registered_types_are_preferred():
    choose = make_mime_table.choose
    assert choose("zz", [("apache", "a/x-z"), ("iana", "a/z")]) == "a/z"
    assert choose("zz", [("iana", "application/octet-stream"), ("apache", "a/x-z")]) == "a/x-z"
    assert choose("zz", [("iana", "application/octet-stream")]) == "application/octet-stream"
    assert choose("py", [("iana", "text/x-python")]) == "text/plain"
    with pytest.raises(SystemExit, match="zz has several types: a/y, a/z"):
        choose("zz", [("iana", "a/y"), ("iana", "a/z")])


def test_extension_length_is_limited():
    longest = int(
        re.search(r"EXTENSION_SIZE = (\d+)", (ROOT / "src/codec/fields/mime.c").read_text())[1]) - 1
    assert longest == make_mime_table.LONGEST
    assert max(map(len, TABLE)) <= longest
    assert set(make_mime_table.OVERRIDES) <= set(TABLE)
