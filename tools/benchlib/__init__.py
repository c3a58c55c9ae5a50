"""What the commands of tools/bench.py share.

command      options, folder, exit code: the one way every command runs
session      which runs are made, and their results
works        what is requested; websocket_works for WebSocket
contender    a server that is measured; http_peers and websocket_peers list them
http_load    one run with wrk or tls_load; websocket_load for WebSocket; idle for memory
verify       checks responses before and after each run
cpu, environment, tls, wrk, servers, table

Each module raises Refused for whatever would make a figure worthless.
"""


class Refused(Exception):
    """A figure would mean nothing; the text says why."""
