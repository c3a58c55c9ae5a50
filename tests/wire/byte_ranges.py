"""A strict parser of multipart/byteranges bodies (RFC 9110 section 14.6, RFC 2046 section
5.1.1)."""

import re

TYPE = re.compile(r"multipart/byteranges; boundary=([0-9A-Za-z'()+_,./:=?-]{1,70})\Z")
RANGE = re.compile(r"bytes ([0-9]+)-([0-9]+)/([0-9]+)\Z")


def parse_range(value):
    """first, last, size of a Content-Range."""
    found = RANGE.match(value)
    assert found, f"not a Content-Range: {value!r}"
    first, last, size = map(int, found.groups())
    assert first <= last < size, value
    return first, last, size


def parse(content_type, body):
    """[(first, last, size, type, bytes)] in the order of the body."""
    found = TYPE.match(content_type)
    assert found, f"not multipart/byteranges with a boundary: {content_type!r}"
    delimiter = b"--" + found[1].encode()
    # The line end belongs to the delimiter. Nothing precedes it.
    if body.startswith(b"\r\n" + delimiter):
        body = body[2:]
    parts, at = [], 0
    while True:
        assert body.startswith(delimiter, at), f"no delimiter at {at}: {body[at:at + 60]!r}"
        at += len(delimiter)
        if body.startswith(b"--", at):
            assert body[at + 2:] == b"\r\n", f"after the end: {body[at + 2:][:60]!r}"
            break
        assert body.startswith(b"\r\n", at)
        end = body.index(b"\r\n\r\n", at)
        lines = [line.split(": ", 1) for line in body[at + 2:end].decode("latin-1").split("\r\n")]
        fields = {name.lower(): value for name, value in lines}
        assert set(fields) == {"content-type", "content-range"} and len(lines) == 2, lines
        first, last, size = parse_range(fields["content-range"])
        at = end + 4
        content = body[at:at + last - first + 1]
        assert len(content) == last - first + 1
        assert delimiter not in content
        parts.append((first, last, size, fields["content-type"], content))
        at += len(content)
        assert body.startswith(b"\r\n", at)
        at += 2
    assert parts
    return parts
