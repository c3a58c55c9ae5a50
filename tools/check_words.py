#!/usr/bin/python3
"""Checks that lines have at most 100 columns, and that comments and texts use the field's terms.

It searches words in comments, string literals and the text of HTML pages, and in the prose of
Markdown pages. Names, quotations and samples of code are excluded.
"""

import re

import csource

COLUMNS = 100
SCRIPTS = re.compile(r".*\.(py|sh|cmake)|CMakeLists\.txt|dev|run")
# Directories and files whose comments are checked, and those whose strings are texts, not data.
STRINGS_OF = re.compile(r"(include|src|app|examples|bench|docs|tools)/|dev$")
COMMENTS_OF = re.compile(STRINGS_OF.pattern + r"|(cmake|\.ci|tests/bench)/|CMakeLists\.txt$")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", "bench/**/*.md")
# Pages written by tools, with texts of the suites they run.
PAGES_BUT = ("docs/conformance",)
# String literals that a standard defines, with the standard.
STRINGS_ALLOWED = {
    "Gone": "reason phrase of 410, RFC 9110 section 15.5.11",
}
# Words to avoid, and the terms instead.
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
NAME = re.compile(r"\b\w+_\w+\b|`[^`]*`|\$\w+|\$?\{[^{}]*\}")
INCLUDE = re.compile(r"#\s*include\s*\Z")
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\b\w+_\w+\b|\w+\.\w+|\.\w+ = [^;,}]*")
# Tokens of languages: comments, with adjacent line comments as one, and strings.
STRING = r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
LINES = r"(?:{0}[^\n]*\n[ \t]*)*{0}[^\n]*"
SLASHES = re.compile(LINES.format("//") + r"|/\*.*?\*/" + STRING, re.S)
HASHES = re.compile(LINES.format(r"(?<!\S)#(?!!)") + STRING, re.S)
PYTHON = re.compile(LINES.format(r"#(?!!)") + r'|""".*?"""|\b[rbRB]{1,2}(?=["\'])(?:' + STRING[1:]
                    + ")" + STRING, re.S)
DASHES = re.compile(LINES.format("--") + STRING, re.S)
HTML = re.compile(r"<!--.*?-->|" + LINES.format(r"(?<![:\w\"'])//"), re.S)
HTML_CODE = re.compile(r"<(script|style|code)\b.*?</\1>", re.S)
HTML_TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
TOKENS = {
    **dict.fromkeys((".c", ".h", ".cpp", ".hpp", ".inc", ".go", ".rs", ".js", ".mjs", ".css"),
                    SLASHES),
    **dict.fromkeys((".txt", ".yaml", ".toml"), HASHES),
    ".py": PYTHON, ".lua": DASHES, ".html": HTML,
}
MARKER = re.compile(r"(?m)^\s*(?:\*|//[/!]?|#|--) ?")


def language(path):
    """Returns the pattern of tokens for a file, or None."""
    return TOKENS.get(path.suffix, HASHES if SCRIPTS.fullmatch(path.name) else None)


def comments(tokens):
    for token in tokens:
        if token.group().startswith(("/", "#", "-", "<", '"""')):
            text = token.group().removeprefix('"""').removesuffix('"""')
            lines = MARKER.sub("", text).splitlines()
            yield token.start(), "\n".join(line for line in lines if not line.startswith("    "))


def strings(text, tokens):
    """String literals, adjacent ones as one, without the paths of includes."""
    start, end, whole = 0, -1, ""
    for token in tokens:
        literal = token.group()
        if literal[0] != '"' or literal.startswith('"""') or INCLUDE.search(text, 0, token.start()):
            continue
        if end >= 0 and not text[end:token.start()].strip(" \n\\f"):
            whole += literal[1:-1]
        else:
            if end >= 0:
                yield start, whole
            start, whole = token.start(), literal[1:-1]
        end = token.end()
    if end >= 0:
        yield start, whole


def is_text(path, string):
    """False for words that are data: in Python a text has several words."""
    return string not in STRINGS_ALLOWED and (path.suffix != ".py" or " " in string)


def texts(path, text):
    """Yields the positions and texts to check, without names, quotations and code."""
    name = path.as_posix()
    if not COMMENTS_OF.match(name):
        return
    tokens = list(language(path).finditer(text))
    for start, comment in comments(tokens):
        yield start, QUOTED.sub("", re.sub(r"\s+", " ", comment))
    if path.suffix == ".html":
        plain = HTML_CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), text)
        yield from ((found.start(), found.group()) for found in HTML_TEXT.finditer(plain))
    elif STRINGS_OF.match(name):
        for start, string in strings(text, tokens):
            if is_text(path, string):
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


def long_lines(path, text):
    """Yields numbers and lengths of long lines in C, C++, Python and scripts."""
    if path.suffix in (".c", ".h", ".cpp", ".hpp") or SCRIPTS.fullmatch(path.name):
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS:
                yield number, len(line)


def check(root):
    violations = []
    for path in filter(language, csource.project_files(root)):
        text = csource.read(root, path)
        violations += [f"{path}:{number}: {length} columns, of at most {COLUMNS}"
                       for number, length in long_lines(path, text)]
        for start, checked in texts(path, text):
            line = csource.line_of(text, start)
            for match in WORD.finditer(checked):
                violations.append(f"{path}:{line}: '{match[1]}': {term(match[1])}")
    for path in pages(root):
        for number, line in prose(csource.read(root, path)):
            for match in WORD.finditer(line):
                violations.append(f"{path}:{number}: '{match[1]}': {term(match[1])}")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
