#!/usr/bin/python3
"""./dev conformance tls: scans our TLS with public scanners: sslscan, nmap's ssl-enum-ciphers,
testssl.sh, sslyze.

Each scans our server with both profiles and both kinds of keys. A protocol, cipher, curve or
renegotiation that a scanner calls weak is a failure, and so is a known vulnerability. sslyze also
compares with Mozilla's guidelines. ACCEPTED and ACCEPTED_BY_MOZILLA have the accepted findings with
their reasons. sslyze comes from PyPI; if it is not available, it is left out with the reason. The
exit code is 1 after a failure.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from conformance import sslyze, suite

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROFILES = {"intermediate": ("TLSv1.2", "TLSv1.3"), "modern": ("TLSv1.3", )}
KEYS = {"ECDSA": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
        "RSA": ["-newkey", "rsa:2048"]}
SECURE_GROUPS = {"x25519", "x448", "secp256r1", "secp384r1", "secp521r1"}
# Accepted findings of testssl.sh, by the prefix of their ID, with reasons.
ACCEPTED = {
    "cert_trust": "the certificate of the test is made for it",
    "cert_chain_of_trust": "no authority has signed the certificate of the test",
    "cert_caIssuers": "as above",
    "cert_crlDistributionPoints": "as above",
    "cert_ocspURL": "as above",
    "cert_revocation": "as above",
    "cert_notAfter": "it is valid for 30 days",
    "cert_expirationStatus": "as above",
    "cert_extlifeSpan": "as above",
    "OCSP_stapling": "no authority gives responses for it",
    "DNS_CAArecord": "localhost has no DNS record",
    "HSTS": "a matter of the site, off by default",
    "security_headers": "a matter of the site",
    "banner_server": "there is none",
    "BREACH": "nothing is compressed here; a matter of the site",
    "overall_grade": "of the certificate that is not trusted",
    "grade_cap_reason": "as above",
    "scanTime": "how long it took",
    "engine_problem": "of the OpenSSL that testssl.sh uses",
    "optimal_proto": "of the OpenSSL that testssl.sh uses",
    "cipher_order": "all ciphers are strong, so the client chooses its fastest, as Mozilla "
        "recommends",
    "HTTP_clock_skew": "no finding",
    "clientsimulation": "old clients without TLS 1.2 or 1.3, which are not supported",
    "FS_ECDHE_curves": "judged by sslscan",
}
# Accepted differences from Mozilla's guidelines that sslyze finds, with reasons.
ACCEPTED_BY_MOZILLA = {
    "certificate_path_validation": "no authority has signed the certificate of the test",
    "certificate_types": "the modern guidelines want ECDSA, and one of the two certificates of "
        "the test is RSA",
    "certificate_signatures": "as above",
}
BAD = ("LOW", "MEDIUM", "HIGH", "CRITICAL")
PAGE = """# Scanners of TLS

Results of public scanners for a server with each profile and kind of key. The command makes the
certificates and starts the server of the tests. It fails if a scanner finds a weak protocol,
cipher, group or renegotiation, or a known vulnerability.

| | |
|---|---|
| date | {date} |
| library | {library} |
{versions}
| command | `./dev conformance tls --page` |

| profile | key | scanner | result | found |
|---|---|---|---|---|
{results}

## Accepted findings

Accepted findings of testssl.sh, which do not concern the server:

| finding | reason |
|---|---|
{accepted}

Accepted differences from Mozilla's guidelines that sslyze finds, which concern the certificates of
the test:

| finding | reason |
|---|---|
{accepted_by_mozilla}
"""


def judge_sslscan(text, protocols):
    """Returns the failures and a summary, from the XML of sslscan."""
    test = xml.etree.ElementTree.fromstring(text).find("ssltest")
    failures = []
    for protocol in test.findall("protocol"):
        name = f"{protocol.get('type').upper()}v{protocol.get('version')}"
        enabled = protocol.get("enabled") == "1"
        if enabled != (name in protocols):
            failures.append(f"{name} is {'on' if enabled else 'off'}")
    for cipher in test.findall("cipher"):
        if cipher.get("strength") not in ("strong", "acceptable") or int(cipher.get("bits")) < 128:
            failures.append(f"{cipher.get('cipher')} is {cipher.get('strength')}")
    if not test.findall("cipher"):
        failures.append("no cipher was found")
    for group in test.findall("group"):
        if group.get("name").split()[0].lower() not in SECURE_GROUPS:
            failures.append(f"the group {group.get('name')}")
    if any(one.get("secure") != "1" for one in test.findall("renegotiation[@supported='1']")):
        failures.append("insecure renegotiation")
    if test.find("compression[@supported='1']") is not None:
        failures.append("compression")
    failures += [f"Heartbleed in {one.get('sslversion')}"
                 for one in test.findall("heartbleed[@vulnerable='1']")]
    return failures, f"{len(test.findall('cipher'))} ciphers, {len(test.findall('group'))} groups"


def judge_nmap(text, protocols):
    """Returns the failures and a summary, from the cipher grades of ssl-enum-ciphers."""
    found = re.findall(r"^\|\s+(TLSv[\d.]+|SSLv\d):", text, re.M)
    failures = [f"{name} is on" for name in found if name not in protocols]
    failures += [f"{name} is off" for name in protocols if name not in found]
    grades = re.findall(r"^\|\s+(TLS_\S+) .*- ([A-F])\s*$", text, re.M)
    failures += [f"{cipher} has grade {grade}" for cipher, grade in grades if grade != "A"]
    if "TLSv1.2" in protocols and not re.search(r"compressors:\s*\n\|\s+NULL", text):
        failures.append("compression")
    if not grades:
        failures.append("no cipher was found")
    least = re.search("least strength: ([A-F])", text)
    return failures, f"{len(grades)} ciphers, least strength {least[1] if least else '?'}"


def with_accepted(summary, accepted):
    return summary + (f"; accepted: {', '.join(sorted(accepted))}" if accepted else "")


def judge_testssl(text, protocols):
    """Returns the failures and a summary, from the JSON of testssl.sh."""
    findings = json.loads(text)
    bad = [one for one in findings if one["severity"] in BAD]
    failures = [f"{one['id']}: {one['finding']} ({one['severity']})" for one in bad
                if not one["id"].startswith(tuple(ACCEPTED))]
    versions = ("SSLv2", "SSLv3", "TLS1", "TLS1_1", "TLS1_2", "TLS1_3")
    offered = {one["id"] for one in findings
               if one["id"] in versions and one["finding"].startswith("offered")}
    expected = {name.replace("v", "").replace(".", "_") for name in protocols}
    if offered != expected:
        failures.append(f"offered are {sorted(offered)}")
    accepted = {one["id"] for one in bad if one["id"].startswith(tuple(ACCEPTED))}
    return failures, with_accepted(f"{len(findings)} findings", accepted)


def judge_sslyze(text, protocols):
    """Returns the failures and a summary, from the JSON of sslyze and Mozilla's guidelines."""
    report = json.loads(text)
    server, = report["server_scan_results"]
    attempts = server["scan_result"] or {}
    failures = [f"{name} was not scanned" for name, attempt in attempts.items()
                if attempt["status"] == "ERROR"]
    found = {name: attempt["result"] for name, attempt in attempts.items()
             if attempt["status"] == "COMPLETED"}
    names = {"ssl_2_0": "SSLv2", "ssl_3_0": "SSLv3", "tls_1_0": "TLSv1.0", "tls_1_1": "TLSv1.1",
             "tls_1_2": "TLSv1.2", "tls_1_3": "TLSv1.3"}
    count = 0
    for key, name in names.items():
        suites = found.get(f"{key}_cipher_suites")
        if suites is None or suites["is_tls_version_supported"] != (name in protocols):
            supported = suites and suites["is_tls_version_supported"]
            state = "not known" if suites is None else "on" if supported else "off"
            failures.append(f"{name} is {state}")
        count += len(suites["accepted_cipher_suites"]) if suites else 0
    expected = {
        "tls_compression": ("supports_compression", False),
        "tls_1_3_early_data": ("supports_early_data", False),
        "openssl_ccs_injection": ("is_vulnerable_to_ccs_injection", False),
        "heartbleed": ("is_vulnerable_to_heartbleed", False),
        "session_renegotiation": ("is_vulnerable_to_client_renegotiation_dos", False),
        "tls_extended_master_secret": ("supports_ems_extension", True),
        "tls_fallback_scsv": ("supports_fallback_scsv", True)}
    if "TLSv1.2" not in protocols:
        del expected["tls_extended_master_secret"], expected["tls_fallback_scsv"]
    failures += [f"{field} is {found.get(name, {}).get(field)}"
                 for name, (field, value) in expected.items()
                 if found.get(name, {}).get(field) != value]
    if not found.get("robot", {}).get("robot_result", "").startswith("NOT_VULNERABLE"):
        failures.append(f"ROBOT: {found.get('robot', {}).get('robot_result')}")
    curves = [curve["name"]
              for curve in found.get("elliptic_curves", {}).get("supported_curves") or []]
    failures += [f"the group {name}" for name in curves if name.lower() not in SECURE_GROUPS]
    failures += [f"{name}: {text}" for name, text in report["mozilla"]
                 if name not in ACCEPTED_BY_MOZILLA]
    accepted = {name for name, _ in report["mozilla"] if name in ACCEPTED_BY_MOZILLA}
    return failures, with_accepted(f"{count} ciphers, {len(curves)} groups", accepted)


def mozilla_remarks(text):
    """Returns name and text of each difference from Mozilla's guidelines, from sslyze's output."""
    output = text.split("COMPLIANCE AGAINST TLS CONFIGURATION")[-1]
    if "OK - Compliant" not in output and "FAILED - Not compliant" not in output:
        raise suite.Missing(f"sslyze did not compare with Mozilla's guidelines:\n{text[-800:]}")
    return re.findall(r"^\s+\* (\w+): (.*)$", output, re.M)


def sslscan(port, directory, profile):
    path = directory / "sslscan.xml"
    suite.run(["sslscan", "--no-colour", f"--xml={path}", "--sni-name=localhost",
               f"127.0.0.1:{port}"])
    return path.read_text()


def nmap(port, directory, profile):
    return suite.run(["nmap", "-Pn", "-n", "--script", "ssl-enum-ciphers", "--script-args",
                      "tls.servername=localhost", "-p", port, "127.0.0.1"])


def testssl(port, directory, profile):
    path = directory / "testssl.json"
    # Its exit code is the number of findings.
    suite.run(["testssl", "--quiet", "--color", "0", "--warnings", "off", "--ip", "127.0.0.1",
               "--jsonfile", path, f"localhost:{port}"],
              codes=range(256), env={**os.environ, "TERM": "dumb"})
    if not path.exists():
        raise suite.Missing("testssl.sh has written no report")
    return path.read_text()


def run_sslyze(port, directory, profile):
    path = directory / "sslyze.json"
    # Its exit code is 1 after a difference from the guidelines.
    output = suite.run([sslyze.install(), f"--json_out={path}", f"--mozilla_config={profile}",
                        "--early_data", "--sni=localhost", f"127.0.0.1:{port}"], codes=(0, 1))
    return json.dumps({**json.loads(path.read_text()), "mozilla": mozilla_remarks(output)})


TOOLS = {"sslscan": (sslscan, judge_sslscan), "nmap": (nmap, judge_nmap),
         "testssl.sh": (testssl, judge_testssl), "sslyze": (run_sslyze, judge_sslyze)}


def available(tools, needed):
    """Returns the available tools. Raises Failed for a missing one that is needed."""
    try:
        if "sslyze" in tools:
            sslyze.install()
    except suite.Missing as reason:
        if needed:
            raise suite.Missing(f"sslyze cannot be installed: {reason}") from reason
        print(f"sslyze is left out, since it cannot be installed: {reason}", file=sys.stderr,
              flush=True)
        return [tool for tool in tools if tool != "sslyze"]
    return tools


def version_of(tool):
    if tool == "sslyze":
        return sslyze.version()
    package = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", tool], capture_output=True,
                             text=True, check=False).stdout
    return package.strip() or "unknown"


def start(program, certificate, profile):
    server = subprocess.Popen(
        [program, f"--cert={certificate}", f"--profile={list(PROFILES).index(profile)}"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = re.search(r"and 127\.0\.0\.1:(\d+)", server.stdout.readline())
    if not found:
        raise suite.Missing("the server did not start")
    return server, int(found[1])


def table(*rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page(rows, versions, library):
    results = [(profile, key, tool, "FAILED: " + "; ".join(failures) if failures else
                "nothing weak", summary) for profile, key, tool, failures, summary in rows]
    reasons = [table(*((f"`{name}`", reason) for name, reason in accepted.items()))
               for accepted in (ACCEPTED, ACCEPTED_BY_MOZILLA)]
    return PAGE.format(date=datetime.date.today(), library=library,
                       versions=table(*versions.items()), results=table(*results),
                       accepted=reasons[0], accepted_by_mozilla=reasons[1])


def main():
    parser = argparse.ArgumentParser(prog="./dev conformance tls",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("tools", nargs="*", metavar="TOOL",
                        help=f"{', '.join(TOOLS)} (default: all)")
    parser.add_argument("--page", action="store_true",
                        help="write docs/conformance/tls.md from this run")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build/release",
                        metavar="DIR")
    options = parser.parse_args()
    for tool in options.tools:
        if tool not in TOOLS:
            parser.error(f"unknown tool '{tool}'; tools are {', '.join(TOOLS)}")
    tools = available(options.tools or list(TOOLS), needed=options.tools or options.page)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for key, how in KEYS.items():
            certificate = pathlib.Path(scratch) / f"{key}.pem"
            parts = certificate.with_suffix(".key"), certificate.with_suffix(".crt")
            suite.run(["openssl", "req", "-x509", *how, "-nodes", "-days", "30", "-subj",
                       "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                       "-keyout", parts[0], "-out", parts[1]])
            certificate.write_text("".join(part.read_text() for part in parts))
            for profile, protocols in PROFILES.items():
                server, port = start(options.build_dir / "dist/bin/tls_server", certificate,
                                     profile)
                try:
                    for tool in tools:
                        scan, judge = TOOLS[tool]
                        directory = pathlib.Path(tempfile.mkdtemp(dir=scratch))
                        failures, summary = judge(scan(port, directory, profile), protocols)
                        rows.append((profile, key, tool, failures, summary))
                        outcome = "FAILED  " + "; ".join(failures) if failures else "ok"
                        print(f"{profile:<13} {key:<6} {tool:<11} {outcome}  {summary}", flush=True)
                finally:
                    server.terminate()
                    server.wait()
    if options.page:
        library = suite.run(["openssl", "version"]).split(" (")[0].rsplit(" ", 3)[0]
        versions = {tool: version_of(tool) for tool in tools}
        (ROOT / "docs/conformance/tls.md").write_text(page(rows, versions, library))
    return 1 if any(failures for _, _, _, failures, _ in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (suite.Missing, OSError) as error:
        sys.exit(f"conformance tls: {error}")
