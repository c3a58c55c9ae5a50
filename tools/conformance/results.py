"""Results of Autobahn|Testsuite: counts for each group of cases, cases that are not OK, and
docs/conformance/websocket.md."""

import json
import re

from . import command

GROUPS = {
    1: "framing", 2: "pings and pongs", 3: "reserved bits", 4: "opcodes", 5: "fragments",
    6: "UTF-8", 7: "closing", 9: "limits and speed", 10: "frames in parts", 12: "compression",
    13: "compression with parameters"}
# A case fails if its behaviour or its close behaviour is none of these.
PASSED = ("OK", "NON-STRICT", "INFORMATIONAL")
COLUMNS = (*PASSED, "UNIMPLEMENTED", "FAILED")

# Reasons for cases that are not OK, by number.
REASONS = (
    (r"3\.", "the reserved bit closes the connection before the previous echo is sent"),
    (r"4\.", "the unknown opcode closes the connection before the previous echo is sent"),
    (r"5\.", "the invalid frame closes the connection before the previous echo is sent"),
    (r"6\.4\.", "invalid UTF-8 is refused with the next check of the message, not with the invalid "
                "byte"),
    (r"7\.1\.6$", "256 KiB and a close frame are sent at once: the suite reports whether the echo "
                  "comes first, and accepts both"),
    (r"7\.13\.", "undefined close codes: the suite reports the behaviour, and accepts any"),
)


def order(case):
    return [int(part) for part in case.split(".")]


def reason_for(case):
    return next((text for pattern, text in REASONS if re.match(pattern, case)),
                "see the report of the case")


def column(behaviour):
    """Maps UNCLEAN, WRONG CODE and other close behaviours to FAILED."""
    return behaviour if behaviour in COLUMNS else "FAILED"


def worse(one, other):
    return max(one, other, key=lambda behaviour: COLUMNS.index(column(behaviour)))


def read(directory):
    """Reads the cases of one agent from the reports of wstest."""
    index = directory / "index.json"
    agents = json.loads(index.read_text()) if index.exists() else {}
    return next(iter(agents.values()), {})


class Results:
    """One run of the suite. `cases` is {"1.1.1": {"behavior": ..., "behaviorClose": ...}}, sorted
    by number."""
    def __init__(self, name, cases):
        self.name = name
        self.cases = {case: cases[case] for case in sorted(cases, key=order)}

    def counts(self):
        """Returns {group: {column: count}}. A case counts as the worse of behaviour and close."""
        counted = {}
        for case, found in self.cases.items():
            group = counted.setdefault(order(case)[0], dict.fromkeys(COLUMNS, 0))
            group[column(self.verdict(found))] += 1
        return counted

    @staticmethod
    def verdict(found):
        end = found["behaviorClose"]
        return found["behavior"] if end == "INFORMATIONAL" else worse(found["behavior"], end)

    def remarkable(self):
        """Returns [(case, verdict)] of all cases that are not OK."""
        verdicts = [(case, self.verdict(found)) for case, found in self.cases.items()]
        return [(case, verdict) for case, verdict in verdicts if verdict != "OK"]

    def failed(self):
        return [(case, verdict) for case, verdict in self.remarkable() if verdict not in PASSED]

    def table(self):
        counted = self.counts()
        rows = [(f"{group} {GROUPS.get(group, '')}".strip(), sum(counts.values()),
                 *counts.values()) for group, counts in counted.items()]
        totals = [sum(counts[name] for counts in counted.values()) for name in COLUMNS]
        return [("group", "cases", *COLUMNS), *rows, ("all", sum(totals), *totals)]


PAGE = """# Autobahn|Testsuite

Results of the public conformance suite for WebSocket: its fuzzing client against our echo server,
and its fuzzing server against our client, each with a compressor per worker (shared) and with
windows per connection (dedicated). Each case counts as the worse of its behaviour and its close
behaviour.

| | |
|---|---|
| date | {date} |
| uvhttp | {version} |
| suite | Autobahn\\|Testsuite {suite} with Autobahn {library}, {python} |
| command | `./dev conformance websocket --page` |

The command installs the suite into `build/conformance`: PyPy for Python 2.7 from Debian 11, the
rest from PyPI. It runs `ws_echo_server.c` and `ws_echo_client.c` of `tests/conformance`, fails when
a case fails, and writes this page. Reports of all cases with the bytes on the wire are in
`build/conformance/websocket`.
"""


def page(facts, runs):
    """Returns the page about several runs: [(title, Results)]."""
    parts = [PAGE.format(**facts)]
    for title, results in runs:
        parts.append(f"## {title}\n\n{command.markdown(*results.table(), numbers=True)}\n")
        remarks = [(case, verdict, reason_for(case)) for case, verdict in results.remarkable()]
        table = command.markdown(("case", "behaviour", "reason"), *remarks)
        parts.append(f"{table if remarks else 'Every case is OK.'}\n")
    return "\n".join(parts)
