#!/usr/bin/python3
"""Writes src/codec/fields/mime_table.inc, the media types by extension, from the database mime-db.

    npm pack mime-db@1.54.0 && tar xzf mime-db-1.54.0.tgz
    tools/make_mime_table.py package

mime-db (https://github.com/jshttp/mime-db, MIT) is what IANA has registered, and what Apache httpd
and nginx add to it. Only the facts are taken: which extension has which type. Where it names
several types for one, what IANA has registered goes before the others, and
"application/octet-stream" behind them; where that leaves several, or another type is better for a
web server, OVERRIDES says which, and why.
"""

import json
import pathlib
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "src/codec/fields/mime_table.inc"
LONGEST = 15  # bytes of an extension, EXTENSION_SIZE of mime.c less one
SOURCES = ("iana", None, "nginx", "apache")  # None: added by mime-db itself

# A browser shows plain text. The types that others give source code ("text/x-c") are registered
# nowhere, and browsers save such files; types like "application/x-httpd-php" make some think that
# it is to be run.
PLAIN_TEXT = """
    asm bash bat c cc cfg clj cmake cmd conf cpp cs csh cts cxx d dart diff el erl ex exs f f77 f90
    for fs go gradle groovy h hh hpp hs hxx ini java jl jsonc kt log lua mk ml nix p pas patch php
    pl pm properties proto ps1 py r rb rs rst s scala scm sh svelte swift
    tcl tex text tsx txt vue zig zsh
""".split()

OVERRIDES = {
    # Registered, but not (yet, or under this extension) in the database.
    "br": "application/x-brotli",  # of a file that is handed out as such; as a coding it is no type
    "deb": "application/vnd.debian.binary-package",
    "dll": "application/vnd.microsoft.portable-executable",
    "exe": "application/vnd.microsoft.portable-executable",
    "flac": "audio/flac",  # RFC 9639
    "gpg": "application/pgp-encrypted",
    "jfif": "image/jpeg",
    "m4v": "video/mp4",
    "mka": "audio/matroska",  # RFC 9559
    "mkv": "video/matroska",  # RFC 9559
    "ndjson": "application/x-ndjson",
    "jsonl": "application/x-ndjson",  # the same format under another name
    "tbz2": "application/x-bzip2",
    "tgz": "application/gzip",
    "txz": "application/x-xz",
    "tzst": "application/zstd",
    "vcf": "text/vcard",  # RFC 6350
    "yaml": "application/yaml",  # RFC 9512
    "yml": "application/yaml",
    "zst": "application/zstd",  # RFC 8878
    # Several are registered, or none.
    "3gpp": "video/3gpp",  # as .3gp
    "ac": "application/pkix-attr-cert",
    "asc": "application/pgp-signature",  # beside a download, which is what a server has
    "bdoc": "application/bdoc",
    "cur": "image/x-icon",
    "iso": "application/octet-stream",
    "jpm": "image/jpm",
    "jpgm": "image/jpm",
    "mp4": "video/mp4",  # "application/mp4" is for those without pictures
    "mpg4": "video/mp4",
    "mpp": "application/vnd.ms-project",
    "org": "text/plain",  # of Emacs; Lotus Organizer's files are on no server
    "rpm": "application/x-rpm",
    "rtf": "application/rtf",
    "sub": "text/plain",  # subtitles
    "wav": "audio/wav",
    "wmz": "application/x-msmetafile",
    "msi": "application/x-msi",
    "m3u": "audio/mpegurl",
    "xml": "application/xml",
    "xsl": "application/xslt+xml",
    # The same extension for different things.
    "key": "application/vnd.apple.keynote",
    "mts": "video/mp2t",  # as .ts
    "pem": "application/x-pem-file",  # may hold a key, a request or a certificate
    # the segments of HLS, which players refuse under another type; no browser runs TypeScript
    "ts": "video/mp2t",
    # What browsers expect.
    "cjs": "text/javascript",
    "ico": "image/x-icon",  # what they and the WHATWG's MIME Sniffing Standard call it
    "js": "text/javascript",  # RFC 9239
    **{extension: "text/plain"
       for extension in PLAIN_TEXT},
}


def with_charset(name):
    """Text is UTF-8 today, and what says nothing is guessed by browsers, by the reader's language
    or worse.

    Not for JSON, which is UTF-8 and has no such parameter (RFC 8259 section 11), and not for XML
    (SVG, feeds, XHTML), which says its encoding itself, is UTF-8 if it does not, and would be
    misread if the parameter said something else (RFC 7303 section 3.2).
    """
    return f"{name}; charset=utf-8" if name.startswith(
        "text/") and not name.endswith("+xml") else name


def choose(extension, candidates):
    if extension in OVERRIDES:
        return OVERRIDES[extension]
    named = [(source, name) for source, name in candidates if name != "application/octet-stream"]
    for source in SOURCES:
        found = [name for own, name in named if own == source]
        if len(found) > 1:
            sys.exit(
                f"{extension} has several types: {', '.join(found)}; OVERRIDES has to say which")
        if found:
            return found[0]
    return "application/octet-stream"


def read(folder):
    """The version of the database, and its types by extension."""
    version = json.loads((folder / "package.json").read_text())["version"]
    candidates = {extension: [] for extension in OVERRIDES}
    for name, entry in json.loads((folder / "db.json").read_text()).items():
        for extension in entry.get("extensions", ()):
            candidates.setdefault(extension, []).append((entry.get("source"), name))
    types = {}
    for extension, found in sorted(candidates.items()):
        if len(extension) <= LONGEST:
            types[extension] = with_charset(choose(extension, found))
    return version, types


def write(version, types):
    starts, size = [], 0
    lines = [
        f"/* Made by tools/make_mime_table.py from mime-db {version} "
        f"(https://github.com/jshttp/mime-db, MIT),",
        " * which has its facts from IANA, Apache httpd and nginx. Changes belong into that "
        "script. Read by",
        " * mime.c. */", "", "/* Extension and type, in the order of strcmp. */",
        "static const char pairs[] =",
    ]
    for extension, name in types.items():
        lines.append(f'    "{extension}\\0" "{name}\\0"')
        starts.append(size)
        size += len(extension) + len(name) + 2
    lines[-1] += ";"
    lines += ["", "/* Where the extensions begin. */", "static const uint16_t starts[] = {"]
    for at in range(0, len(starts), 12):
        lines.append("    " + " ".join(f"{start}," for start in starts[at:at + 12]))
    lines.append("};")
    if size > 0xFFFF:
        sys.exit(f"the table has {size} bytes, which is more than 16 bits can count")
    TABLE.write_text("\n".join(lines) + "\n")
    print(f"{len(types)} extensions, {size + 2 * len(starts)} bytes")


def main():
    if len(sys.argv) != 2:
        sys.exit(
            "usage: tools/make_mime_table.py FOLDER, with the db.json and package.json of mime-db")
    write(*read(pathlib.Path(sys.argv[1])))


if __name__ == "__main__":
    main()
