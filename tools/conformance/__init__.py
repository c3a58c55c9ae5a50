"""Modules of `./dev conformance`.

command      options, certificates, servers and tables that the commands share
suite        installs Autobahn|Testsuite from public registries, and runs it
results      counts its results, lists failures, and writes the page
sslyze       installs sslyze from PyPI
h2spec       builds h2spec with Go, and reads its results
"""
