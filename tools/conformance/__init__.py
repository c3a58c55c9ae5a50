"""Conformance: what `./dev conformance` is built from.

suite        Autobahn|Testsuite, installed from public registries, and its processes
results      its JSON as counts for each group, what failed, and the page about it
"""
