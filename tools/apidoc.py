#!/usr/bin/python3
"""Converts public headers for the reference: tools/apidoc.py HEADER prints a header with its
comments in the syntax of Doxygen.

Comments in the headers are plain C comments. A comment belongs to the declaration after it, and to
further declarations that follow without an empty line. A comment after a declaration or field
belongs to that one. The first comment of a header describes the file, and so does a comment that is
followed by an empty line. Tables of the form X(NAME, ..., "text") become constants with their
texts. Used by tools/reference.py, and by tools/check_reference.py, which checks that all
declarations are documented.
"""

import dataclasses
import pathlib
import re
import sys

import csource

FUNCTION = re.compile(r"^(?:__attribute__\(\(.*?\)\)\s*)?UVHTTP_EXPORT\b[^;{]*?\b(\w+)\s*\(", re.S)
CALLBACK = re.compile(r"^typedef\b[^;{]*?\(\*(\w+)\)\s*\(", re.S)
TYPE = re.compile(r"^typedef\s+(struct|enum|union)\b.*?\b(\w+)\s*;\Z", re.S)
TABLE = re.compile(r"^#define (UVHTTP_\w+_MAP)\(X\)(.*?[^\\])\n", re.M | re.S)
ROW = re.compile(r'X\(((?:"(?:\\.|[^"\\])*"|[^()"])*)\)')
ENUM = re.compile(
    r"^#define (UVHTTP_\w+_ENUM)\(([^)]*)\) (.*)\n\s*(UVHTTP_\w+_MAP)\(\1\)\n#undef \1\n", re.M)
NAME = re.compile(r"\buvhttp_\w+\b")
CXX_ONLY = re.compile(r"^#ifdef __cplusplus\n.*?^#endif\n", re.M | re.S)


@dataclasses.dataclass
class Declaration:
    name: str
    kind: str  # function, callback, struct, enum, union
    line: int  # line number of its name, from 1
    documented: bool
    constants: tuple = ()  # of an enum


def tables(text):
    """Returns the tables of a header: {macro: [[cell, ...], ...]}, with strings without quotes."""
    found = {}
    for name, body in TABLE.findall(text):
        body = body.replace("\\\n", "")
        rows = [re.findall(r'"(?:\\.|[^"\\])*"|[^,\s][^,]*', row) for row in ROW.findall(body)]
        found[name] = [[cell.strip().strip('"').replace('\\"', '"') for cell in row]
                       for row in rows]
    return found


def with_tables_expanded(text):
    """Expands enums of tables to a line with a comment for each constant."""
    rows = tables(text)

    def expand(match):
        _, parameters, template, table = match.groups()
        parameters = [name.strip() for name in parameters.split(",")]
        lines = []
        for row in rows[table]:
            line = template
            for parameter, cell in zip(parameters, row):
                line = re.sub(rf"##{parameter}\b|\({parameter}\)|\b{parameter}##", cell, line)
            lines.append(f"    {line} /* {', '.join(row[1:])} */\n")
        return "".join(lines)

    return ENUM.sub(expand, text)


def is_blank(line):
    return line.strip() == ""


class Header:
    """Parses a public header line by line. `declarations` has its declarations, `text` the text for
    Doxygen."""
    def __init__(self, text, names=()):
        self.declarations = []
        self.names = set(names)
        self.file = csource.without_comments(text)
        self.lines = CXX_ONLY.sub(lambda match: "\n" * match.group().count("\n"),
                                  with_tables_expanded(text)).split("\n")
        self.code = csource.without_comments("\n".join(self.lines)).split("\n")
        self.out, self.about = [], []
        self.depth = 0
        self.statement = None  # the first line of an incomplete statement
        self.comment = None  # the comment before this and the following declarations
        self.printed = False  # the comment is already before the current declaration
        self.parse()
        self.text = "\n".join(doc(self.about, self.names, "@file") + self.out) + "\n"

    def parse(self):
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            end = self.comment_end(at)
            if line.lstrip().startswith("/*") and is_blank(self.code[end]):
                self.take_comment(at, end)
                at = end + 1
            elif is_blank(line):
                if self.statement is None:
                    self.comment = None
                self.out.append("")
                at += 1
            else:
                at = self.take_code(at, end)

    def comment_end(self, at):
        """Returns the last line of the comment that begins on this line, or this line."""
        start = self.lines[at].find("/*")
        if start < 0 or self.code[at][start:start + 1].strip():
            return at
        while "*/" not in self.lines[at][start:]:
            start, at = 0, at + 1
        return at

    def take_comment(self, at, end):
        text = comment_text("\n".join(self.lines[at:end + 1]))
        following = self.lines[end + 1] if end + 1 < len(self.lines) else ""
        if at == 0 or (self.depth == 0 and is_blank(following)):
            self.about += ([""] if self.about else []) + text
            self.out += [""] * (end + 1 - at)
            return
        # In a struct: a heading of fields that have their own comments.
        if self.depth > 0 and "/*" in following and not following.lstrip().startswith("/*"):
            self.out += [""] * (end + 1 - at)
            return
        self.out += doc(text, self.names)
        if self.depth == 0 and self.statement is None:
            self.comment, self.printed = text, True

    def take_code(self, at, end):
        line, code = self.lines[at], self.code[at]
        if code.startswith("#") and self.depth == 0:
            while self.lines[at].endswith("\\"):
                self.out.append(self.lines[at])
                at += 1
            self.out.append(self.lines[at])
            return at + 1
        if self.statement is None:
            self.statement = at
            own = any("/*" in line for line in self.lines[at:self.statement_end(at) + 1])
            commented = self.comment is not None and not self.printed
            if self.depth == 0 and commented and not (own and "{" not in code):
                self.out += doc(self.comment, self.names)
            self.printed = False
        start = line.find("/*")
        if start >= 0 and not code[start:].strip():
            self.out.append(line[:start].rstrip())
            self.out += doc(comment_text("\n".join([line[start:]] + self.lines[at + 1:end + 1])),
                            self.names, after=True)
        else:
            self.out.append(line)
            end = at
        self.depth += code.count("{") - code.count("}")
        if self.depth == 0 and code.rstrip().endswith(";"):
            self.declare(end)
            self.statement = None
        return end + 1

    def statement_end(self, at):
        depth = 0
        for i in range(at, len(self.code)):
            depth += self.code[i].count("{") - self.code[i].count("}")
            if depth == 0 and self.code[i].rstrip().endswith(";"):
                return self.comment_end(i)
        return at

    def declare(self, end):
        code = "\n".join(line for line in self.code[self.statement:end + 1]
                         if not line.startswith("#")).strip()
        after = "/*" in self.lines[end] or "*/" in self.lines[end]
        documented = self.comment is not None or after
        for kind, pattern in (("function", FUNCTION), ("callback", CALLBACK), (None, TYPE)):
            match = pattern.match(code)
            if match:
                name = match[match.lastindex]
                constants = tuple(re.findall(r"\bUVHTTP_\w+", code)) if match[1] == "enum" else ()
                self.declarations.append(
                    Declaration(name, kind or match[1], self.line_of(name), documented, constants))
                return

    def line_of(self, name):
        match = re.search(rf"\b{name}\b(?=\s*[();])", self.file)
        return csource.line_of(self.file, match.start())


def comment_text(comment):
    """Returns the lines of a comment without stars."""
    text = comment.strip().removeprefix("/*").removesuffix("*/").rstrip()
    first, *others = text.split("\n")
    return [first.removeprefix(" "), *(re.sub(r"^\s*\* ?", "", line) for line in others)]


def escaped(line, names):
    line = re.sub(r"[\\@<>#%&*`~$]|::", lambda match: "\\" + match.group(), line)
    # As an entity, because Doxygen does not process escapes between two quotes.
    line = line.replace('"', "&quot;")
    line = re.sub(r"\\`(.+?)\\`", r"<code>\1</code>", line)
    return NAME.sub(lambda match: ("#" if match.group() in names else "") + match.group(), line)


def doc(text, names, command="", after=False):
    """Converts a comment for Doxygen. Lines indented by four are code, by two verbatim. In the
    other text names become links."""
    out = ["/**<" if after else "/** " + command]
    block = None  # the end command of the current block
    for i, line in enumerate(text):
        heading = re.fullmatch(r"---- (.*) ----", line)
        indented = line.startswith("  ") or (block and line == "" and i + 1 < len(text)
                                             and text[i + 1].startswith("  "))
        code = line.startswith("    ") or line == ""
        if block and (not indented or (block == "@endcode" and not code)):
            out.append(block)
            block = None
        if indented and not block:
            out += ["", "@code{.c}" if code else "@verbatim"]
            block = "@endcode" if code else "@endverbatim"
        out.append(line[4 if block == "@endcode" else 2:] if indented else
                   f"<b>{escaped(heading[1], names)}</b>\n" if heading else escaped(line, names))
    return out + ([block] if block else []) + ["*/"]


def headers(root):
    """Returns the public C headers."""
    return sorted((root / "include").rglob("*.h"))


def declared(root):
    """Returns all declarations: {name: (Declaration, path relative to root)}."""
    found = {}
    for path in headers(root):
        for declaration in Header(path.read_text()).declarations:
            found[declaration.name] = (declaration, path.relative_to(root))
    return found


def documented_names(root):
    """Returns the names of all declarations with a comment."""
    return {name for name, (declaration, _) in declared(root).items() if declaration.documented}


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    include = next(parent for parent in path.parents if parent.name == "include")
    names = documented_names(include.parent)
    sys.stdout.write(Header(path.read_text(), names).text)


if __name__ == "__main__":
    main()
