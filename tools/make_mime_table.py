#!/usr/bin/python3
"""Writes src/codec/fields/mime_table.inc, the media types by extension, from the database mime-db.

    npm pack mime-db@1.54.0 && tar xzf mime-db-1.54.0.tgz
    tools/make_mime_table.py package

mime-db (https://github.com/jshttp/mime-db, MIT) has the types registered by IANA, and additions of
Apache httpd and nginx. Only the facts are used: the type of each extension. If an extension has
several types, the one registered by IANA takes precedence, and "application/octet-stream" is last.
If several remain, or another type is better for a web server, OVERRIDES has the type with a reason.
"""

import json
import pathlib
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "src/codec/fields/mime_table.inc"
LONGEST = 15  # bytes of an extension, EXTENSION_SIZE of mime.c less one
SOURCES = ("iana", None, "nginx", "apache")  # None: added by mime-db itself

# Browsers show plain text. Other types for source code ("text/x-c") are not registered, and
# browsers save such files. Types like "application/x-httpd-php" suggest execution.
PLAIN_TEXT = """
    asm bash bat c cc cfg clj cmake cmd conf cpp cs csh cts cxx d dart diff el erl ex exs f f77 f90
    for fs go gradle groovy h hh hpp hs hxx ini java jl jsonc kt log lua mk ml nix p pas patch php
    pl pm properties proto ps1 py r rb rs rst s scala scm sh svelte swift
    tcl tex text tsx txt vue zig zsh
""".split()

OVERRIDES = {
    # Registered, but not (yet, or under this extension) in the database.
    "br": "application/x-brotli",  # of a file; as a content coding it is no type
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
    "asc": "application/pgp-signature",  # servers have it with downloads
    "bdoc": "application/bdoc",
    "cur": "image/x-icon",
    "iso": "application/octet-stream",
    "jpm": "image/jpm",
    "jpgm": "image/jpm",
    "mp4": "video/mp4",  # "application/mp4" is for files without video
    "mpg4": "video/mp4",
    "mpp": "application/vnd.ms-project",
    "org": "text/plain",  # of Emacs; files of Lotus Organizer are rare
    "rpm": "application/x-rpm",
    "rtf": "application/rtf",
    "sub": "text/plain",  # subtitles
    "wav": "audio/wav",
    "wmz": "application/x-msmetafile",
    "msi": "application/x-msi",
    "m3u": "audio/mpegurl",
    "xml": "application/xml",
    "xsl": "application/xslt+xml",
    # Extensions with different meanings.
    "key": "application/vnd.apple.keynote",
    "mts": "video/mp2t",  # as .ts
    "pem": "application/x-pem-file",  # may hold a key, a request or a certificate
    # segments of HLS, which players refuse with another type; browsers do not run TypeScript
    "ts": "video/mp2t",
    # Types that browsers expect.
    "cjs": "text/javascript",
    "ico": "image/x-icon",  # also in the WHATWG's MIME Sniffing Standard
    "js": "text/javascript",  # RFC 9239
    **dict.fromkeys(PLAIN_TEXT, "text/plain"),
}


HEAD = """\
/* Made by tools/make_mime_table.py from mime-db {version} (https://github.com/jshttp/mime-db, MIT),
 * which has its facts from IANA, Apache httpd and nginx. Changes belong into that script. Read by
 * mime.c. */

/* Extension and type, in the order of strcmp. */
static const char pairs[] ="""


def with_charset(name):
    """Adds charset=utf-8 to text types. Without it browsers guess the encoding.

    JSON is UTF-8 and has no such parameter (RFC 8259 section 11). XML (SVG, feeds, XHTML) declares
    its encoding, with UTF-8 as the default, and the parameter would override the declaration (RFC
    7303 section 3.2).
    """
    is_text = name.startswith("text/") and not name.endswith("+xml")
    return f"{name}; charset=utf-8" if is_text else name


def choose(extension, candidates):
    if extension in OVERRIDES:
        return OVERRIDES[extension]
    named = [(source, name) for source, name in candidates if name != "application/octet-stream"]
    for source in SOURCES:
        found = [name for own, name in named if own == source]
        if len(found) > 1:
            sys.exit(f"{extension} has several types: {', '.join(found)}; add it to OVERRIDES")
        if found:
            return found[0]
    return "application/octet-stream"


def read(directory):
    """Returns the version of the database, and its types by extension."""
    version = json.loads((directory / "package.json").read_text())["version"]
    candidates = {extension: [] for extension in OVERRIDES}
    for name, entry in json.loads((directory / "db.json").read_text()).items():
        for extension in entry.get("extensions", ()):
            candidates.setdefault(extension, []).append((entry.get("source"), name))
    types = {}
    for extension, found in sorted(candidates.items()):
        if len(extension) <= LONGEST:
            types[extension] = with_charset(choose(extension, found))
    return version, types


def write(version, types):
    starts, size = [], 0
    lines = [HEAD.format(version=version)]
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
        sys.exit("usage: tools/make_mime_table.py DIRECTORY (with db.json and package.json of "
                 "mime-db)")
    write(*read(pathlib.Path(sys.argv[1])))


if __name__ == "__main__":
    main()
