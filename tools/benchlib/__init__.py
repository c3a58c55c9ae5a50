"""Measuring: what every benchmark command of tools/ is built from.

cpu          CPU time of a server's processes
wrk          one load run and its result
verify       is the answer right? And how many bytes has it?
servers      start and stop of the servers under test
works        what is asked for, and the files for it
rounds       the order of the runs, and their medians
peers        the parsers that ours is compared with
environment  where and with what it was measured
table        figures as text

Each module raises Refused for whatever would make a figure worthless.
"""


class Refused(Exception):
    """A figure would mean nothing; the text says why."""
