#!/usr/bin/python3
"""Writes src/codec/text/name_order_table.inc, the letters that names of files are sorted by, from
the Unicode data of Python.

    tools/make_name_order_table.py

A character is sorted as its simple lower-case form without accents: the first character of its
canonical decomposition, case-folded. The table has the scripts with two cases: Latin, Greek,
Cyrillic and Armenian. All other characters are sorted by their code points.
"""

import pathlib
import unicodedata

TABLE = pathlib.Path(__file__).resolve().parent.parent / "src/codec/text/name_order_table.inc"
RANGES = (range(0x80, 0x590), range(0x1E00, 0x2000))

HEAD = """\
/* Made by tools/make_name_order_table.py from Unicode {version}. Changes belong into that script.
 * Read by name_order.c. */

/* Code points in order, each with the one it is sorted as. */
static const uint16_t letters[][2] = {{
"""


def base(character):
    return unicodedata.normalize("NFD", character)[0]


def main():
    pairs = [(code, ord(base(base(chr(code)).casefold()))) for codes in RANGES for code in codes]
    pairs = [(code, key) for code, key in pairs if code != key]
    lines = []
    for at in range(0, len(pairs), 5):
        row = (f"{{0x{code:04x}, 0x{key:04x}}}," for code, key in pairs[at:at + 5])
        lines.append("    " + " ".join(row) + "\n")
    TABLE.write_text(HEAD.format(version=unicodedata.unidata_version) + "".join(lines) + "};\n")
    print(f"{len(pairs)} letters")


if __name__ == "__main__":
    main()
