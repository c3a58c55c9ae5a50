#!/usr/bin/python3
"""Checks that lines have at most 100 columns, and that comments use the field's terms.

Words are looked for in comments of the library and the program; text in quotation marks or
backticks, names and samples of code are left out.
"""

import re

import csource

COLUMNS = 100
LINES_OF = ("include", "src", "app", "examples", "bench", "tests")
SCRIPTS = re.compile(r".*\.(py|sh|cmake)|CMakeLists\.txt|dev|run")
WORDS_OF = ("include", "src", "app")
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
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\b\w+_\w+\b|\w+\.\w+|\.\w+ = [^;,}]*")


def comments(text):
    for token in csource.TOKEN.finditer(text):
        if token.group()[0] == "/":
            lines = re.sub(r"(?m)^\s*\* ?", "", token.group()).splitlines()
            yield token.start(), "\n".join(line for line in lines if not line.startswith("    "))


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
        for start, comment in comments(text) if path.parts[0] in WORDS_OF else ():
            line = text.count("\n", 0, start) + 1
            for match in WORD.finditer(QUOTED.sub("", re.sub(r"\s+", " ", comment))):
                violations.append(f"{path}:{line}: '{match[1]}': {term(match[1])}")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__.splitlines()[0])
