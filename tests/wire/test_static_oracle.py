"""Ranges and conditional requests compared with an independent implementation: Go's
http.ServeContent (clients/oracle.go).

Random requests with Range and all conditional fields, valid and invalid, are sent to `uvhttp serve`
and to the oracle, with the same directory and the same entity tags. Where the responses differ, a
rule explains the difference: it cites a section of RFC 9110 and rewrites the request to an
equivalent one that Go handles the same way. If Go's response to the rewritten request still
differs, the test fails and prints them all.

The requests are the same in every run. UVHTTP_ORACLE_SEED and UVHTTP_ORACLE_COUNT select others,
and more.
"""

import calendar
import collections
import os
import random
import re
import socket
import subprocess
import time

import pytest

import byte_ranges
import raw
from static_server import KIB, root, serve, write  # noqa: F401 (fixtures)
from test_clients import CLIENTS, installed, run

SEED = int(os.environ.get("UVHTTP_ORACLE_SEED", "9110"))
COUNT = int(os.environ.get("UVHTTP_ORACLE_COUNT", "24000"))
# Number of concurrent requests: few enough to fit into the buffers of a socket, so that neither
# side can block.
BATCH = 50
MODIFIED = 784111777  # Sun, 06 Nov 1994 08:49:37 GMT
SIZES = {
    "empty": 0, "one": 1, "few": 300, "memory": 10000, "edge": 16 * KIB, "file": 16 * KIB + 1,
    "large": 30000
}
KIND = "application/octet-stream"
NEAR, MOST = 80, 64  # include/uvhttp/static.h

Request = collections.namedtuple("Request", "method name lines")  # lines: (field name, value) pairs
Response = collections.namedtuple("Response", "status fields body")
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DATES = ("If-Modified-Since", "If-Unmodified-Since")
LISTS = ("If-Match", "If-None-Match")

# ---- Random requests ----


def fixdate(seconds):
    t = time.gmtime(seconds)
    return (f"{DAYS[t.tm_wday][:3]}, {t.tm_mday:02} {MONTHS[t.tm_mon - 1]} {t.tm_year:04} "
            f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02} GMT")


def some_date(rng):
    seconds = MODIFIED + rng.choice([
        0, 0, 0, 1, -1, 60, -3600, 86400, -86400, 10 ** 9, -7 * 10 ** 8,
        rng.randint(-10 ** 7, 10 ** 7)
    ])
    t = time.gmtime(seconds)
    clock = f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
    day, month = DAYS[t.tm_wday], MONTHS[t.tm_mon - 1]
    date = rng.choice([
        fixdate(seconds), f"{day}, {t.tm_mday:02}-{month}-{t.tm_year % 100:02} {clock} GMT",
        f"{day[:3]} {month} {t.tm_mday:2} {clock} {t.tm_year}"
    ])
    if rng.random() < 0.75:
        return date
    return rng.choice([
        date.replace("GMT", "UTC"),
        date.replace("GMT", "CET"),
        date.replace("GMT", "+0000"),
        date.replace(" GMT", ""),
        date.lower(),
        date.upper(), date + " x", "x" + date,
        date.replace(" ", "  "),
        date.replace(clock, clock[:-2] + "60"),
        date.replace(":", "."),
        date.replace(clock, clock.lstrip("0")),
        date.replace(clock, clock + ".5"),
        date.replace(clock, "24" + clock[2:]),
        date.replace(month, "Feb").replace("06", "30"),
        date.replace(day[:3], "Tue",
                     1), "Sunday, 06-Nov-69 08:49:37 GMT", "Sunday, 06-Nov-70 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun Nov 06 08:49:37 1994", "0", "-1", "", "now", '"x"',
        str(MODIFIED), date + ", " + date
    ])


def some_tag(rng, tag):
    return rng.choice([
        tag, tag, tag, "W/" + tag, '"x"', 'W/"x"', '""', '"*"', tag[:-1] + 'x"', '"a,b"', '"a b"',
        "*", "x", '"x', 'x"', "w/" + tag, "W/", '"', tag + tag, f"{tag} {tag}", "'x'", '"\xe4"'
    ])


def some_tags(rng, tag):
    if rng.random() < 0.15:
        return rng.choice(
            ["*", "", " ", ",", "*,", ",*", "* ,*", "* x", "**", f"*, {tag}", f"{tag}, *"])
    separators = [", ", ",", " ,", ",,", " , ,\t", "\t,"
                  ] + ([" ", ";"] if rng.random() < 0.2 else [])
    text = some_tag(rng, tag)
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        text += rng.choice(separators) + some_tag(rng, tag)
    return rng.choice(["", "", "", ",", ", "]) + text + rng.choice(["", "", "", ",", " , "])


def some_position(rng, size):
    if rng.random() < 0.7:
        return max(
            0,
            rng.choice([
                0, 1, size // 2, size - 1, size, size + 1,
                rng.randint(0, size + 1),
                rng.randint(0, size + 1)
            ]))
    return rng.choice([
        99, 2 ** 31, 2 ** 32, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1, 2 ** 64, 10 ** 30,
        rng.randint(0, 40000)
    ])


def some_spec(rng, size):
    kind = rng.random()
    first = some_position(rng, size)
    if kind < 0.6:
        last = rng.choice([
            first, first + rng.randint(0, 200),
            some_position(rng, size),
            max(first, some_position(rng, size))
        ])
        return f"{first}-{last}"
    return f"{first}-" if kind < 0.8 else f"-{rng.choice([0, 1, first, rng.randint(0, 200)])}"


def some_range(rng, size):
    count = rng.choice([1, 1, 1, 1, 2, 2, 3, 4, 6, rng.randint(60, 70)])
    short = rng.random() < 0.5  # some of which fit into the file without overlap
    specs = [some_spec(rng, size) for _ in range(count)]
    if short or count > 50:
        starts = [rng.randint(0, max(0, size - 1)) for _ in range(count)]
        specs = [f"{start}-{start + rng.choice([0, 0, 5, 60])}" for start in starts]
    text = "bytes=" + rng.choice([",", ",", ", ", " , ", ",\t,"]).join(specs)
    if rng.random() < 0.8:
        return text
    at = rng.randint(0, len(text))
    return rng.choice([
        text.replace("bytes", "BYTES"),
        text.replace("bytes", "Bytes"),
        text.replace("bytes", "lines"),
        text.replace("bytes=", ""),
        text.replace("=", " = "),
        text.replace("=", "= "),
        text.replace("-", " - "),
        text.replace("-", "--"),
        text.replace("=", ":"),
        text.replace("-", "-+"),
        text.replace("bytes=", "bytes=+"),
        text.replace("=", "=0"),
        text.replace("-", "", 1), text + ",", text + ",x", text + ",-",
        text.replace("=", "=,"),
        text.replace(",", ";"), "bytes=", "bytes=,", "bytes=-", "bytes", "", "none", text + "-",
        text[:at] + rng.choice("0123456789-, x\t=.") + text[at:], text[:at] + text[at + 1:]
    ]).strip(" \t")


def some_request(rng, tags):
    name = rng.choice(list(SIZES))
    lines = []
    for field, chance, value in [("Range", 0.7, lambda: some_range(rng, SIZES[name])),
                                 ("If-Match", 0.2, lambda: some_tags(rng, tags[name])),
                                 ("If-None-Match", 0.2, lambda: some_tags(rng, tags[name])),
                                 ("If-Modified-Since", 0.2, lambda: some_date(rng)),
                                 ("If-Unmodified-Since", 0.2, lambda: some_date(rng)),
                                 ("If-Range", 0.25, lambda: some_date(rng)
                                  if rng.random() < 0.4 else some_tag(rng, tags[name]))]:
        for _ in range((rng.random() < chance) + (rng.random() < 0.02)):
            lines.append((rng.choice([field, field, field.lower()]), value().strip(" \t")))
    rng.shuffle(lines)
    return Request("HEAD" if rng.random() < 0.15 else "GET", name, lines)


# ---- Rules: why a response differs from Go's ----


def value_of(request, field):
    """The value of its first line, or None."""
    return next((value for name, value in request.lines if name.lower() == field.lower()), None)


def with_value(request, field, value):
    """The request with one line of that field, or without the field."""
    lines = [line for line in request.lines if line[0].lower() != field.lower()]
    return request._replace(lines=lines if value is None else lines + [(field, value)])


def repeated_lines_form_one_list(request, _):
    """5.3: lines of one name form one list. Go uses the first line."""
    for field in {name.lower() for name, _ in request.lines}:
        values = [value for name, value in request.lines if name.lower() == field]
        if len(values) > 1:
            request = with_value(request, field, ", ".join(values))
    return request


TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')


def tags_are_a_list(request, _):
    """5.6.1, 8.8.3, 13.1.1, 13.1.2: tags are separated by commas, and "*" is alone. After an
    invalid member nothing matches. A field without tags matches nothing. Go needs no comma, accepts
    "*" anywhere, and ignores an empty field."""
    for field in LISTS:
        value = value_of(request, field)
        if value is None or value == "*":
            continue
        known, rest = [], value.lstrip(" \t,")
        while found := TAG.match(rest):
            known.append(found[0])
            following = rest[found.end():].lstrip(" \t")
            if following and following[0] != ",":
                break
            rest = following.lstrip(" \t,")
        request = with_value(request, field, ", ".join(known) or '"matches-nothing"')
    return request


CLOCK = r"(\d\d):(\d\d):(\d\d)"
MONTH = "(" + "|".join(MONTHS) + ")"
DATE_FORMS = [  # the groups of year, month, day
    (re.compile(rf"(?:{'|'.join(day[:3] for day in DAYS)}), (\d\d) {MONTH} (\d\d\d\d) {CLOCK} GMT"),
     (3, 2, 1), 4),
    (re.compile(rf"(?:{'|'.join(DAYS)}), (\d\d)-{MONTH}-(\d\d) {CLOCK} GMT"), (3, 2, 1), 4),
    (re.compile(rf"(?:{'|'.join(day[:3] for day in DAYS)}) {MONTH} (\d\d| \d) {CLOCK} (\d\d\d\d)"),
     (6, 1, 2), 3)
]


def parse_date(text):
    """Seconds, or None if the text is no HTTP-date (RFC 9110 section 5.6.7)."""
    for form, groups, clock in DATE_FORMS:
        found = form.fullmatch(text)
        if not found:
            continue
        year, month, day = int(found[groups[0]]), MONTHS.index(found[groups[1]]) + 1, int(
            found[groups[2]])
        hour, minute, second = (int(found[clock + i]) for i in range(3))
        if year < 100 and len(found[groups[0]]) == 2:
            year += 2000 if year < 70 else 1900
        if not 1 <= day <= calendar.monthrange(year,
                                               month)[1] or hour > 23 or minute > 59 or second > 60:
            return None
        return calendar.timegm((year, month, day, hour, minute, second))
    return None


def dates_are_of_three_forms(request, _):
    """5.6.7, 13.1.3, 13.1.4: a date in none of the three forms is ignored; case matters; a second
    may be 60; a two-digit year is less than 50 years in the future. Go accepts other time zones,
    short hours, fractions and any case, and no leap seconds."""
    for field in DATES:
        value = value_of(request, field)
        if value is not None:
            seconds = parse_date(value)
            request = with_value(request, field, None if seconds is None else fixdate(seconds))
    return request


def if_range_has_one_validator(request, _):
    """13.1.5: one entity tag or date. Go uses the beginning of the value, and ignores an empty
    one."""
    value = value_of(request, "If-Range")
    if value is None or TAG.fullmatch(value):
        return request
    seconds = parse_date(value)
    if seconds is None:
        return with_value(request, "Range", None)
    return with_value(request, "If-Range", fixdate(seconds))


def ranges_are_for_get(request, _):
    """14.2: a Range with a method other than GET is ignored. Go responds to HEAD with 206."""
    return request if request.method == "GET" else with_value(request, "Range", None)


SPEC = re.compile(r"(\d*)-(\d*)")


def parse_specs(value):
    """[(first, last)] with None for an absent number, or None if the value is no byte range set."""
    if value[:6].lower() != "bytes=":
        return None
    specs = []
    for element in value[6:].split(","):
        element = element.strip(" \t")
        found = SPEC.fullmatch(element)
        if element == "":
            continue
        if not found or element == "-":
            return None
        first, last = (int(number) if number else None for number in found.groups())
        if first is not None and last is not None and first > last:
            return None
        specs.append((first, last))
    return specs or None


def ranges_are_well_formed(request, _):
    """14.1, 14.1.1, 14.2: the unit ignores case. A Range with another unit is ignored, a malformed
    one may be. Go responds with 416, but accepts white space and signs within a range."""
    value = value_of(request, "Range")
    if value is None:
        return request
    return with_value(request, "Range", "bytes=" + value[6:] if parse_specs(value) else None)


def numbers_have_no_bound(request, _):
    """14.1.2: a last position beyond the end means the last byte, however large. For Go a number of
    more than 63 bits is malformed."""
    value = value_of(request, "Range")
    specs = parse_specs(value) if value is not None else None
    if not specs or all((number or 0) < 2 ** 63 for spec in specs for number in spec):
        return request
    texts = [
        "-".join("" if number is None else str(min(number, 2 ** 63 - 1))
                 for number in spec)
        for spec in specs
    ]
    return with_value(request, "Range", "bytes=" + ",".join(texts))


def resolve(spec, size):
    """(first, last) in a file of that size, or None."""
    first, last = spec
    if first is None:
        return (max(0, size - last), size - 1) if last > 0 else None
    return (first, size - 1 if last is None else min(last, size - 1)) if first < size else None


def empty_suffix_is_unsatisfiable(request, size):
    """14.1.2: "-0" is unsatisfiable. Go sends a part without data."""
    value = value_of(request, "Range")
    specs = parse_specs(value) if value is not None else None
    if not specs or size == 0 or (None, 0) not in specs:
        return request
    texts = [
        "-".join("" if number is None else str(number)
                 for number in spec)
        for spec in specs
        if spec != (None, 0)
    ]
    return with_value(request, "Range", "bytes=" + ",".join(texts or [f"{size}-"]))


def an_empty_file_has_no_ranges(request, size):
    """14.2: a Range may be ignored. Old versions of Go respond with 416 for an empty file."""
    return with_value(request, "Range", None) if size == 0 else request


def length_of_parts(ranges, size):
    heads = sum(
        len(f"\r\n--{'b' * 16}\r\nContent-Type: {KIND}\r\nContent-Range: bytes "
            f"{first}-{last}/{size}\r\n\r\n") + last - first + 1 for first, last in ranges)
    return heads - len("\r\n") + len(f"\r\n--{'b' * 16}--\r\n")


def near_ranges_are_coalesced(request, size):
    """15.3.7.2: ranges that overlap or are near to each other may be coalesced, in the order of
    their first members. 14.2, 17.15: many ranges, and ranges larger than the file in total, may be
    ignored. Go sends them unchanged unless their sum exceeds the file."""
    value = value_of(request, "Range")
    specs = parse_specs(value) if value is not None else None
    if not specs or len(specs) == 1:
        return request
    if len(specs) > MOST:
        return with_value(request, "Range", None)
    # (first, last, index in the request), in file order
    groups = []
    for (first, last), index in sorted(
        (found, index) for index, spec in enumerate(specs) if (found := resolve(spec, size))):
        if groups and first - groups[-1][1] - 1 < NEAR:
            groups[-1] = (groups[-1][0], max(groups[-1][1], last), min(groups[-1][2], index))
        else:
            groups.append((first, last, index))
    ranges = [group[:2] for group in sorted(groups, key=lambda group: group[2])]
    if len(ranges) > 1 and length_of_parts(ranges, size) > size:
        return with_value(request, "Range", None)
    return with_value(
        request, "Range",
        "bytes=" + (",".join(f"{first}-{last}" for first, last in ranges) or f"{size}-"))


RULES = [
    repeated_lines_form_one_list, tags_are_a_list, dates_are_of_three_forms,
    if_range_has_one_validator, ranges_are_for_get, ranges_are_well_formed, numbers_have_no_bound,
    an_empty_file_has_no_ranges, empty_suffix_is_unsatisfiable, near_ranges_are_coalesced
]


def explained(request, used):
    """The request for which Go must send the same response. Counts the rules that are used."""
    for rule in RULES:
        changed = rule(request, SIZES[request.name])
        if sorted(changed.lines) != sorted(request.lines):
            used[rule.__name__] += 1
        request = changed
    return request


# ---- Responses ----


class Peer:
    """A connection that pipelines many requests."""
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=raw.SAFETY_TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", buffering=1 << 18)

    def request(self, requests):
        self.socket.sendall(b"".join(
            raw.request(one.method, "/" +
                        one.name, *(f"{name}: {value}"
                                    for name, value in one.lines))
            for one in requests))
        return [self.response(one.method) for one in requests]

    def response(self, method):
        status = self.file.readline()
        assert status.startswith(b"HTTP/1.1 "), f"no status line: {status!r}"
        status, fields = int(status[9:12]), {}
        while (line := self.file.readline()) != b"\r\n":
            name, value = line[:-2].decode("latin-1").split(": ", 1)
            assert name.lower() not in fields, line
            fields[name.lower()] = value
        length = int(fields.get("content-length", 0))
        body = b"" if method == "HEAD" or status == 304 else self.file.read(length)
        assert "transfer-encoding" not in fields and (method == "HEAD" or len(body) == length)
        return Response(status, fields, body)

    def close(self):
        self.file.close()
        self.socket.close()


def essence(response):
    """The parts of a response that both must agree on.

    304: Go omits Last-Modified, which 15.4.5 allows. 412 and 416: the text and the fields of the
    file may differ (15.5.13, 15.5.17). multipart/byteranges: boundaries, and so lengths, differ;
    the parts do not.
    """
    fields = response.fields
    if response.status == 304:
        return (304, fields["etag"])
    if response.status == 412:
        return (412, )
    if response.status == 416:
        return (416, fields.get("content-range"))
    of_file = tuple(fields.get(name) for name in ("etag", "last-modified", "accept-ranges"))
    if fields.get("content-type", "").startswith("multipart/"):
        assert "content-range" not in fields
        return (response.status, of_file, byte_ranges.parse(fields["content-type"], response.body))
    return (response.status, of_file, fields["content-type"], fields["content-length"],
            fields.get("content-range"), response.body)


def same(ours, theirs):
    """Our response must be correct. Go's may be incorrect (a part without data, parts in a response
    to HEAD), and is different then."""
    mine = essence(ours)
    try:
        return mine == essence(theirs)
    except AssertionError:
        return False


def show(request, ours, theirs, rewritten_request, instead):
    def text(response):
        return f"{response.status} {response.fields} {response.body[:60]!r}"

    return (f"\nseed {SEED}\n{request}\n  ours: {text(ours)}\n    Go: {text(theirs)}\n"
            f"and by the rules\n{rewritten_request}\n    Go: {text(instead)}")


@pytest.fixture
def oracle(tmp_path, root):
    """oracle(tags) starts the Go program with the root and returns its port."""
    environment = {
        "HOME": str(tmp_path), **os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off", "GOFLAGS": ""
    }
    program = tmp_path / "oracle"
    run(installed("go", "golang-go"), "build", "-o", str(program), str(CLIENTS / "oracle.go"),
        env=environment)
    running = []

    def start(tags):
        process = subprocess.Popen([str(program), root], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        running.append(process)
        process.stdin.write("".join(f"{name} {tag}\n" for name, tag in tags.items()).encode() +
                            b"\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield start
    for process in running:
        process.stdin.close()
        assert process.wait(timeout=raw.SAFETY_TIMEOUT) == 0
        process.stdout.close()


def test_responses_equal_those_of_go(root, serve, oracle):
    for name, size in SIZES.items():
        os.utime(write(root, name, raw.pattern(size)), ns=(0, MODIFIED * 10 ** 9 + 123456789))
    server = serve()
    tags = {name: server.request("/" + name).get("ETag") for name in SIZES}
    ours, theirs = Peer(server.port), Peer(oracle(tags))
    rng = random.Random(SEED)
    kinds, used, alike = collections.Counter(), collections.Counter(), 0
    for _ in range(0, COUNT, BATCH):
        requests = [some_request(rng, tags) for _ in range(BATCH)]
        differing = []
        for request, mine, other in zip(requests, ours.request(requests), theirs.request(requests)):
            several = mine.fields.get("content-type", "").startswith("multipart/")
            kinds[f"{mine.status} multipart" if several else str(mine.status)] += 1
            if not same(mine, other):
                differing.append((request, mine, other))
        alike += BATCH - len(differing)
        rewritten = [explained(request, used) for request, _, _ in differing]
        for (request, mine, other), instead, last in zip(differing, rewritten,
                                                         theirs.request(rewritten)):
            assert same(mine, last), show(request, mine, other, instead, last)
    ours.close()
    theirs.close()
    print(f"seed {SEED}: {COUNT} requests, {alike} answered alike at once; {dict(kinds)}; rules "
          f"used: {dict(used)}")
    # The requests cover every response, and every rule is used.
    assert set(kinds) == {"200", "206", "206 multipart", "304", "412", "416"} and min(
        kinds.values()) >= COUNT // 100, kinds
    assert alike >= COUNT // 4
    assert set(used) == {rule.__name__ for rule in RULES}, used
