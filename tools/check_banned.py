#!/usr/bin/python3
"""Checks that nobody calls a function that writes without a limit, keeps hidden state, or waits for
time to pass, and the library none that runs on libuv's thread pool."""

import re

import csource

BANNED = {
    "strcpy": "it knows no size; use snprintf or memcpy with one",
    "strcat": "it knows no size; use snprintf",
    "strncpy": "it may leave the text without an end; use memcpy or snprintf",
    "sprintf": "it knows no size; use snprintf", "vsprintf": "it knows no size; use vsnprintf",
    "gets": "it knows no size; use fgets", "strtok": "it keeps hidden state; walk slices",
    "alloca": "the stack has no error return; use the arena",
    "atoi": "it cannot report an error; use strtol or base/number.h",
}
# In src/ only. libuv ends the process when the threads of its pool cannot be created.
POOLED = re.compile(r"(?<![\w.])(?<!->)(uv_queue_work|uv_fs_\w+)[ \t]*\(")
WAITING = {"sleep", "usleep", "nanosleep", "uv_sleep"}
CALL = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(sorted({*BANNED, *WAITING})) + r")[ \t]*\(")


def check(root):
    violations = []
    for path in csource.c_files(root):
        text = csource.without_comments(csource.read(root, path))
        for match in CALL.finditer(text):
            reason = BANNED.get(match[1], "wait for the event itself, not for time to pass")
            line = text.count("\n", 0, match.start()) + 1
            violations.append(f"{path}:{line}: {match[1]} is banned: {reason}")
        for match in POOLED.finditer(text) if str(path).startswith("src/") else ():
            line = text.count("\n", 0, match.start()) + 1
            violations.append(
                f"{path}:{line}: {match[1]} is banned: it needs libuv's thread pool; use "
                f"server/jobs.h"
            )
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__.splitlines()[0])
