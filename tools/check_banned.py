#!/usr/bin/python3
"""Checks that no code calls banned functions: writes without a limit, hidden state, sleeping, and
in the library functions of libuv's thread pool."""

import re

import csource

BANNED = {
    "strcpy": "it has no size limit; use snprintf or memcpy",
    "strcat": "it has no size limit; use snprintf",
    "strncpy": "it may omit the terminating NUL; use memcpy or snprintf",
    "sprintf": "it has no size limit; use snprintf",
    "vsprintf": "it has no size limit; use vsnprintf",
    "gets": "it has no size limit; use fgets", "strtok": "it has hidden state; use slices",
    "alloca": "it cannot report a stack overflow; use the arena",
    "atoi": "it cannot report an error; use strtol or base/number.h",
}
# In src/ only, because libuv aborts if it cannot create the threads of its pool.
POOLED = re.compile(r"(?<![\w.])(?<!->)(uv_queue_work|uv_fs_\w+)[ \t]*\(")
WAITING = {"sleep", "usleep", "nanosleep", "uv_sleep"}
CALL = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(sorted({*BANNED, *WAITING})) + r")[ \t]*\(")


def check(root):
    violations = []
    for path in csource.c_files(root):
        text = csource.without_comments(csource.read(root, path))
        for match in CALL.finditer(text):
            reason = BANNED.get(match[1], "wait for the event instead of sleeping")
            line = csource.line_of(text, match.start())
            violations.append(f"{path}:{line}: {match[1]} is banned: {reason}")
        for match in POOLED.finditer(text) if str(path).startswith("src/") else ():
            line = csource.line_of(text, match.start())
            violations.append(f"{path}:{line}: {match[1]} is banned: it needs libuv's thread pool; "
                              "use server/jobs.h")
    return violations


if __name__ == "__main__":
    csource.main(check, __doc__)
