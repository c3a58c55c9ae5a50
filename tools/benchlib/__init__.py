"""Modules of the commands of tools/bench.py.

command      runs a command: options, temporary directory, exit code
session      the runs of a benchmark, and their results
works        the requests to measure; run_ws has those of WebSocket
contender    a server to measure; http_peers and websocket_peers list them
http_load    one run with wrk or tls_load; websocket_load for WebSocket; idle for memory
verify       checks responses before and after each run
cpu, environment, programs, report, routes, servers, table, tls, wrk

Each module raises Refused for an error that would make a figure invalid.
"""


class Refused(Exception):
    """A figure would be invalid; the text is the reason."""
