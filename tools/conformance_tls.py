#!/usr/bin/python3
"""./dev conformance tls: scans our TLS with public scanners: sslscan, nmap's ssl-enum-ciphers,
testssl.sh, sslyze.

Each scans our server with both profiles and both kinds of keys. A protocol, cipher, curve or
renegotiation that a scanner calls weak is a failure, and so is a known vulnerability. sslyze also
compares with Mozilla's guidelines. ACCEPTED and ACCEPTED_BY_MOZILLA have the accepted findings with
their reasons. sslyze comes from PyPI; if it is not available, it is left out with the reason. The
exit code is 1 after a failure.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from conformance import command, sslyze, suite

PROFILES = {"intermediate": ("TLSv1.2", "TLSv1.3"), "modern": ("TLSv1.3", )}
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

{results}

## Accepted findings

Accepted findings of testssl.sh, which do not concern the server:

{accepted}

Accepted differences from Mozilla's guidelines that sslyze finds, which concern the certificates of
the test:

{accepted_by_mozilla}
"""


def compare(found, protocols):
    """Returns the differences of the protocols that are on from those of the profile."""
    return ([f"{name} is on" for name in found if name not in protocols] +
            [f"{name} is off" for name in protocols if name not in found])


def judge_sslscan(text, protocols):
    """Returns the failures and a summary, from the XML of sslscan."""
    test = xml.etree.ElementTree.fromstring(text).find("ssltest")
    ciphers, groups = test.findall("cipher"), test.findall("group")
    failures = compare([f"{one.get('type').upper()}v{one.get('version')}"
                        for one in test.findall("protocol[@enabled='1']")], protocols)
    failures += [f"{cipher.get('cipher')} is {cipher.get('strength')}" for cipher in ciphers
                 if cipher.get("strength") not in ("strong", "acceptable") or
                 int(cipher.get("bits")) < 128]
    if not ciphers:
        failures.append("no cipher was found")
    failures += [f"the group {group.get('name')}" for group in groups
                 if group.get("name").split()[0].lower() not in SECURE_GROUPS]
    if any(one.get("secure") != "1" for one in test.findall("renegotiation[@supported='1']")):
        failures.append("insecure renegotiation")
    if test.find("compression[@supported='1']") is not None:
        failures.append("compression")
    failures += [f"Heartbleed in {one.get('sslversion')}"
                 for one in test.findall("heartbleed[@vulnerable='1']")]
    return failures, f"{len(ciphers)} ciphers, {len(groups)} groups"


def judge_nmap(text, protocols):
    """Returns the failures and a summary, from the cipher grades of ssl-enum-ciphers."""
    failures = compare(re.findall(r"^\|\s+(TLSv[\d.]+|SSLv\d):", text, re.M), protocols)
    grades = re.findall(r"^\|\s+(TLS_\S+) .*- ([A-F])\s*$", text, re.M)
    failures += [f"{cipher} has grade {grade}" for cipher, grade in grades if grade != "A"]
    if "TLSv1.2" in protocols and not re.search(r"compressors:\s*\n\|\s+NULL", text):
        failures.append("compression")
    if not grades:
        failures.append("no cipher was found")
    least = re.search("least strength: ([A-F])", text)
    return failures, f"{len(grades)} ciphers, least strength {least[1] if least else '?'}"


def accept(findings, accepted, summary):
    """Returns the failures of [(name, text)], and a summary that lists the accepted ones, by the
    prefix of their name."""
    prefixes = tuple(accepted)
    failures = [f"{name}: {text}" for name, text in findings if not name.startswith(prefixes)]
    names = sorted({name for name, _ in findings if name.startswith(prefixes)})
    return failures, summary + (f"; accepted: {', '.join(names)}" if names else "")


def judge_testssl(text, protocols):
    """Returns the failures and a summary, from the JSON of testssl.sh."""
    findings = json.loads(text)
    failures, summary = accept(
        [(one["id"], f"{one['finding']} ({one['severity']})") for one in findings
         if one["severity"] in BAD], ACCEPTED, f"{len(findings)} findings")
    versions = ("SSLv2", "SSLv3", "TLS1", "TLS1_1", "TLS1_2", "TLS1_3")
    offered = {one["id"] for one in findings
               if one["id"] in versions and one["finding"].startswith("offered")}
    expected = {name.replace("v", "").replace(".", "_") for name in protocols}
    if offered != expected:
        failures.append(f"offered are {sorted(offered)}")
    return failures, summary


def judge_sslyze(text, protocols):
    """Returns the failures and a summary, from the JSON of sslyze and Mozilla's guidelines. These
    limit protocols, ciphers and groups, and forbid known vulnerabilities. The rest is checked
    here."""
    report = json.loads(text)
    server, = report["server_scan_results"]
    attempts = server["scan_result"] or {}
    failures = [f"{name} was not scanned" for name, attempt in attempts.items()
                if attempt["status"] == "ERROR"]
    found = {name: attempt["result"] for name, attempt in attempts.items()
             if attempt["status"] == "COMPLETED"}
    expected = [("tls_1_3_early_data", "supports_early_data", False),
                ("session_renegotiation", "is_vulnerable_to_client_renegotiation_dos", False),
                *((f"tls_1_{name[-1]}_cipher_suites", "is_tls_version_supported", True)
                  for name in protocols)]
    for name, field, value in expected:
        if (state := found.get(name, {}).get(field)) is not value:
            failures.append(f"{name}: {field} is {state}")
    robot = found.get("robot", {}).get("robot_result", "unknown")
    if not robot.startswith("NOT_VULNERABLE"):
        failures.append(f"ROBOT: {robot}")
    ciphers = sum(len(result["accepted_cipher_suites"]) for name, result in found.items()
                  if name.endswith("_cipher_suites"))
    groups = len(found.get("elliptic_curves", {}).get("supported_curves") or [])
    more, summary = accept(report["mozilla"], ACCEPTED_BY_MOZILLA,
                           f"{ciphers} ciphers, {groups} groups")
    return failures + more, summary


def mozilla_remarks(text):
    """Returns name and text of each difference from Mozilla's guidelines, from sslyze's output."""
    output = text.split("COMPLIANCE AGAINST TLS CONFIGURATION")[-1]
    remarks = re.findall(r"^\s+\* (\w+): (.*)$", output, re.M)
    failed = "FAILED - Not compliant" in output
    if bool(remarks) != failed or failed == ("OK - Compliant" in output):
        raise suite.Missing(f"sslyze did not compare with Mozilla's guidelines:\n{text[-800:]}")
    return remarks


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


def page(rows, versions, library):
    results = [(profile, key, tool, "FAILED: " + "; ".join(failures) if failures else
                "nothing weak", summary) for profile, key, tool, failures, summary in rows]
    reasons = [command.markdown(("finding", "reason"), *((f"`{name}`", reason)
                                                         for name, reason in accepted.items()))
               for accepted in (ACCEPTED, ACCEPTED_BY_MOZILLA)]
    return PAGE.format(
        date=datetime.date.today(), library=library,
        versions="\n".join(f"| {tool} | {version} |" for tool, version in versions.items()),
        results=command.markdown(("profile", "key", "scanner", "result", "found"), *results),
        accepted=reasons[0], accepted_by_mozilla=reasons[1])


def scan_server(program, certificate, profile, tools):
    """Scans a server with a profile. Yields (tool, failures, summary)."""
    words = [program, f"--cert={certificate}", f"--profile={list(PROFILES).index(profile)}"]
    with command.server(words, r"and 127\.0\.0\.1:(\d+)", stderr=subprocess.DEVNULL) as port:
        for tool in tools:
            scan, judge = TOOLS[tool]
            directory = pathlib.Path(tempfile.mkdtemp(dir=certificate.parent))
            yield tool, *judge(scan(port, directory, profile), PROFILES[profile])


def main():
    parser = command.parser("tls", __doc__)
    parser.add_argument("tools", nargs="*", metavar="TOOL",
                        help=f"{', '.join(TOOLS)} (default: all)")
    options = parser.parse_args()
    for tool in options.tools:
        if tool not in TOOLS:
            parser.error(f"unknown tool '{tool}'; tools are {', '.join(TOOLS)}")
    tools = available(options.tools or list(TOOLS), needed=options.tools or options.page)
    program, rows = options.build_dir / "dist/bin/tls_server", []
    with tempfile.TemporaryDirectory() as scratch:
        for key in command.KEYS:
            certificate = command.certificate(pathlib.Path(scratch), key)
            for profile in PROFILES:
                for tool, failures, summary in scan_server(program, certificate, profile, tools):
                    rows.append((profile, key, tool, failures, summary))
                    outcome = "FAILED  " + "; ".join(failures) if failures else "ok"
                    print(f"{profile:<13} {key:<6} {tool:<11} {outcome}  {summary}", flush=True)
    if options.page:
        library = suite.run(["openssl", "version"]).split(" (")[0].rsplit(" ", 3)[0]
        versions = {tool: version_of(tool) for tool in tools}
        (command.PAGES / "tls.md").write_text(page(rows, versions, library))
    return 1 if any(failures for _, _, _, failures, _ in rows) else 0


if __name__ == "__main__":
    command.run("conformance tls", main)
