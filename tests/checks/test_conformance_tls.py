"""`./dev conformance tls`: the scanner results that count as failures."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import conformance_tls as conformance  # noqa: E402
from conformance import sslyze, suite  # noqa: E402

BOTH, NEW = conformance.PROFILES["intermediate"], conformance.PROFILES["modern"]


def sslscan(*extra, on=("1.2", "1.3"), strength="strong", bits="128"):
    protocols = "".join(f'<protocol type="tls" version="{version}" enabled="{int(version in on)}"/>'
                        for version in ("1.0", "1.1", "1.2", "1.3"))
    return (f'<document><ssltest host="h" port="1"><protocol type="ssl" version="3" '
            f'enabled="0"/>{protocols}{"".join(extra)}'
            f'<cipher sslversion="TLSv1.2" bits="{bits}" cipher="C" '
            f'strength="{strength}"/></ssltest></document>')


def test_sslscan_results():
    assert conformance.judge_sslscan(sslscan(), BOTH) == ([], "1 ciphers, 0 groups")
    assert conformance.judge_sslscan(sslscan(on=("1.1", "1.2", "1.3")),
                                     BOTH)[0] == ["TLSv1.1 is on"]
    assert conformance.judge_sslscan(sslscan(on=("1.3", )), BOTH)[0] == ["TLSv1.2 is off"]
    assert conformance.judge_sslscan(sslscan(), NEW)[0] == ["TLSv1.2 is on"]
    assert conformance.judge_sslscan(sslscan(strength="weak"), BOTH)[0] == ["C is weak"]
    assert conformance.judge_sslscan(sslscan(bits="112"), BOTH)[0] == ["C is strong"]
    wrong = conformance.judge_sslscan(
        sslscan('<group name="secp192r1"/>', '<renegotiation supported="1" secure="0"/>',
                '<compression supported="1"/>', '<heartbleed sslversion="TLSv1.2" vulnerable="1"/>',
                '<group name="X25519"/>'), BOTH)[0]
    assert wrong == [
        "the group secp192r1", "insecure renegotiation", "compression", "Heartbleed in TLSv1.2"
    ]


NMAP = """| ssl-enum-ciphers:
|   TLSv1.2:
|     ciphers:
|       TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (secp256r1) - A
|     compressors:
|       NULL
|     cipher preference: client
|   TLSv1.3:
|     ciphers:
|       TLS_AKE_WITH_AES_128_GCM_SHA256 (ecdh_x25519) - A
|_  least strength: A
"""


def test_nmap_results():
    assert conformance.judge_nmap(NMAP, BOTH) == ([], "2 ciphers, least strength A")
    assert conformance.judge_nmap(
        NMAP.replace("SHA256 (secp256r1) - A", "SHA256 (secp256r1) - C"),
        BOTH)[0] == ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 has grade C"]
    assert conformance.judge_nmap(NMAP, NEW)[0] == ["TLSv1.2 is on"]
    assert conformance.judge_nmap(NMAP.replace("NULL", "DEFLATE"), BOTH)[0] == ["compression"]
    assert conformance.judge_nmap("", NEW)[0] == ["TLSv1.3 is off", "no cipher was found"]


def report(*extra):
    usual = [("TLS1_1", "OK", "not offered"), ("TLS1_2", "OK", "offered"),
             ("TLS1_3", "OK", "offered with final")]
    return json.dumps([{"id": name, "severity": severity, "finding": finding}
                       for name, severity, finding in [*usual, *extra]])


def test_testssl_results():
    assert conformance.judge_testssl(report(), BOTH) == ([], "3 findings")
    assert conformance.judge_testssl(report(("ROBOT", "HIGH", "VULNERABLE")),
                                     BOTH)[0] == ["ROBOT: VULNERABLE (HIGH)"]
    assert conformance.judge_testssl(report(("SSLv3", "CRITICAL", "offered")), BOTH)[0] == [
        "SSLv3: offered (CRITICAL)", "offered are ['SSLv3', 'TLS1_2', 'TLS1_3']"
    ]
    assert conformance.judge_testssl(report(("cert_trust", "HIGH", "no")),
                                     BOTH) == ([], "4 findings; accepted: cert_trust")


def scan(*mozilla, on=("tls_1_2", "tls_1_3"), **results):
    """A report of sslyze, with other results for some scans; None: that scan has failed."""
    good = {
        **{
            f"{name}_cipher_suites": {
                "is_tls_version_supported": name in on,
                "accepted_cipher_suites": [{}] if name in on else []
            }
            for name in ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1", "tls_1_2", "tls_1_3")
        }, "tls_1_3_early_data": {"supports_early_data": False},
        "session_renegotiation": {"is_vulnerable_to_client_renegotiation_dos": False
                                  }, "robot": {"robot_result": "NOT_VULNERABLE_NO_ORACLE"},
        "elliptic_curves": {"supported_curves": [{"name": "X25519"}]}, **results
    }
    attempts = {
        name: {"status": "ERROR" if result is None else "COMPLETED", "result": result}
        for name, result in good.items()
    }
    return json.dumps({"server_scan_results": [{"scan_result": attempts}], "mozilla": mozilla})


def test_sslyze_results():
    assert conformance.judge_sslyze(scan(), BOTH) == ([], "2 ciphers, 1 groups")
    assert conformance.judge_sslyze(scan(on=("tls_1_3", )), NEW) == ([], "1 ciphers, 1 groups")
    assert conformance.judge_sslyze(scan(
        on=("tls_1_3", )), BOTH)[0] == ["tls_1_2_cipher_suites: is_tls_version_supported is False"]
    assert conformance.judge_sslyze(scan(tls_1_2_cipher_suites=None), BOTH)[0] == [
        "tls_1_2_cipher_suites was not scanned",
        "tls_1_2_cipher_suites: is_tls_version_supported is None"
    ]
    assert conformance.judge_sslyze(scan(robot={"robot_result": "VULNERABLE_WEAK_ORACLE"}),
                                    BOTH)[0] == ["ROBOT: VULNERABLE_WEAK_ORACLE"]
    assert conformance.judge_sslyze(scan(elliptic_curves={"supported_curves": None}), BOTH)[0] == []
    assert conformance.judge_sslyze(
        scan(("tls_versions", "TLS versions {'TLSv1.1'} are supported")),
        BOTH)[0] == ["tls_versions: TLS versions {'TLSv1.1'} are supported"]
    assert conformance.judge_sslyze(scan(
        ("certificate_path_validation",
         "no")), BOTH) == ([], "2 ciphers, 1 groups; accepted: certificate_path_validation")


@pytest.mark.parametrize(
    "name, field, bad",
    [("tls_1_3_early_data", "supports_early_data", True),
     ("session_renegotiation", "is_vulnerable_to_client_renegotiation_dos", True)])
def test_sslyze_finding_is_a_failure(name, field, bad):
    assert conformance.judge_sslyze(scan(**{name: {field: bad}}),
                                    BOTH)[0] == [f"{name}: {field} is {bad}"]


@pytest.mark.parametrize("name", [
    "tls_versions", "ciphers", "ciphersuites", "tls_curves", "tls_vulnerability_compression",
    "tls_vulnerability_ccs_injection", "tls_vulnerability_heartbleed", "tls_vulnerability_robot",
    "tls_vulnerability_fallback_scsv", "tls_vulnerability_renegotiation",
    "tls_vulnerability_extended_master_secret"
])
def test_difference_from_mozilla_is_a_failure(name):
    assert conformance.judge_sslyze(scan((name, "it is so")), BOTH)[0] == [f"{name}: it is so"]


def test_sslyze_mozilla_remarks_are_parsed():
    text = """ COMPLIANCE AGAINST TLS CONFIGURATION

    127.0.0.1:41065: FAILED - Not compliant.
        * certificate_types: Deployed certificate types are {'rsa'}.
        * ciphers: Cipher suites {'X'} are supported.
"""
    assert conformance.mozilla_remarks(text) == [("certificate_types",
                                                  "Deployed certificate types are {'rsa'}."),
                                                 ("ciphers", "Cipher suites {'X'} are supported.")]
    assert conformance.mozilla_remarks(
        " COMPLIANCE AGAINST TLS CONFIGURATION\n    h:1: OK - Compliant.\n") == []
    for bad in ("ERROR - Scan did not run successfully", "FAILED - Not compliant."):
        with pytest.raises(suite.Missing):
            conformance.mozilla_remarks(f"    h:1: {bad}")


def test_sslyze_not_installable_is_skipped(tmp_path, monkeypatch, capsys):
    pinned, commands = tmp_path / "sslyze.txt", []
    pinned.write_text("cffi==1.0\nsslyze==1.2.3\n")
    assert sslyze.version(pinned) == "1.2.3"

    def run(command):
        commands.append(command)
        if "pip" in command:
            raise suite.Missing("there is no network")

    install = sslyze.install
    monkeypatch.setattr(suite, "run", run)
    monkeypatch.setattr(sslyze, "install", lambda: install(tmp_path / "sslyze", pinned))
    assert conformance.available(["nmap", "sslyze"], needed=False) == ["nmap"]
    said = capsys.readouterr().err
    assert "sslyze is left out, since it cannot be installed: there is no network" in said
    with pytest.raises(suite.Missing, match="sslyze cannot be installed: there is no network"):
        conformance.available(["sslyze"], needed=True)
    assert conformance.available(["nmap"], needed=True) == ["nmap"] and len(commands) == 4
    (tmp_path / "sslyze").mkdir()
    (tmp_path / "sslyze/installed").write_text(pinned.read_text())
    assert conformance.available(["sslyze"], needed=True) == ["sslyze"] and len(commands) == 4


def test_page_has_row_for_each_scan():
    text = conformance.page([("modern", "RSA", "sslyze", [], "3 ciphers"),
                             ("modern", "RSA", "nmap", ["compression"], "none")],
                            {"sslyze": "6.3.1"}, "OpenSSL 3")
    assert "| sslyze | 6.3.1 |" in text
    assert "| modern | RSA | sslyze | nothing weak | 3 ciphers |" in text
    assert "| modern | RSA | nmap | FAILED: compression | none |" in text
    assert "| `certificate_types` |" in text
