#!/usr/bin/python3
"""Checks that lines have at most 100 columns, and that comments and texts use the field's terms.

Words are searched in comments of the library and the program, except in quotation marks, backticks,
names and samples of code, in string literals, except in names, and in the prose of pages.
"""

import re

import csource

COLUMNS = 100
LINES_OF = ("include", "src", "app", "examples", "bench", "tests")
SCRIPTS = re.compile(r".*\.(py|sh|cmake)|CMakeLists\.txt|dev|run")
WORDS_OF = ("include", "src", "app")
STRINGS_OF = ("include", "src", "app")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md")
# Pages written by tools, with texts of the suites they run.
PAGES_BUT = ("docs/conformance",)
# String literals that a standard defines, with the standard.
STRINGS_ALLOWED = {
    "Gone": "reason phrase of 410, RFC 9110 section 15.5.11",
}
# What is not to be written, and the term instead.
WORDS = {
    r"behind (it|them|him)": "after, or following",
    r"stands? (for|in|alone|behind|before)": "means, replaces, is before, ...",
    r"told of|told by": "notified of",
    r"gone": "disconnected, closed, invalid",
    r"answers?(?! all)": "response, or reply",
    r"asked for": "requested",
    r"pieces?": "chunk, or part",
    r"folders?": "directory",
    r"greet\w*": "client handshake",
    r"obey\w*": "apply",
    r"stirred": "changed",
    r"unheld|lets? go": "unref",
    r"somebody|nobody|whoever": "name the caller",
    r"kept back": "denied",
    r"takes? off": "start load",
    r"of edges|by edges": "edge-triggered",
}
WORD = re.compile(r"(?<![\w*.>-])(" + "|".join(WORDS) + r")(?![\w/])", re.I)
NAME = re.compile(r"\b\w+_\w+\b|`[^`]*`")
INCLUDE = re.compile(r"#\s*include\s*\Z")
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\b\w+_\w+\b|\w+\.\w+|\.\w+ = [^;,}]*")


def comments(text):
    for token in csource.TOKEN.finditer(text):
        if token.group()[0] == "/":
            lines = re.sub(r"(?m)^\s*\* ?", "", token.group()).splitlines()
            yield token.start(), "\n".join(line for line in lines if not line.startswith("    "))


def strings(text):
    """String literals, adjacent ones as one, without the paths of includes."""
    start, end, whole = 0, -1, ""
    for token in csource.TOKEN.finditer(text):
        if token.group()[0] != '"' or INCLUDE.search(text, 0, token.start()):
            continue
        if end >= 0 and not text[end:token.start()].strip(" \n\\"):
            whole += token.group()[1:-1]
        else:
            if end >= 0:
                yield start, whole
            start, whole = token.start(), token.group()[1:-1]
        end = token.end()
    if end >= 0:
        yield start, whole


def texts(path, text):
    """What is checked of a file: its positions, and the texts without what is not checked."""
    if path.parts[0] in WORDS_OF:
        for start, comment in comments(text):
            yield start, QUOTED.sub("", re.sub(r"\s+", " ", comment))
    if path.parts[0] in STRINGS_OF:
        for start, string in strings(text):
            if string not in STRINGS_ALLOWED:
                yield start, NAME.sub("", re.sub(r"\\[nrt]", " ", string))


def prose(page):
    """Lines of a page with their numbers, without code, links' targets and quotations."""
    code = False
    for number, line in enumerate(page.splitlines(), 1):
        code ^= line.startswith("```")
        if not code and not line.startswith(("```", "    ")):
            yield number, re.sub(r"`[^`]*`|\"[^\"]*\"|\]\([^)]*\)", "", line)


def pages(root):
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            path = path.relative_to(root)
            if not path.as_posix().startswith(PAGES_BUT):
                yield path


def term(word):
    return next(new for old, new in WORDS.items() if re.fullmatch(old, word, re.I))


def check(root):
    violations = []
    scripts = [path for path in csource.project_files(root) if SCRIPTS.fullmatch(path.name)]
    for path in csource.c_files(root, LINES_OF) + scripts:
        text = csource.read(root, path)
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS:
                violations.append(f"{path}:{number}: {len(line)} columns, of at most {COLUMNS}")
        for start, checked in texts(path, text):
            line = text.count("\n", 0, start) + 1
            for match in WORD.finditer(checked):
                violations.append(f"{path}:{line}: '{match[1]}': {term(match[1])}")
    for path in pages(root):
        for number, line in prose(csource.read(root, path)):
            for match in WORD.finditer(line):
                violations.append(f"{path}:{number}: '{match[1]}': {term(match[1])}")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__.splitlines()[0])
