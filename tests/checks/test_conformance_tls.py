"""`./dev conformance tls`: what of a scanner's output is a failure."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

import conformance_tls as conformance  # noqa: E402

BOTH, NEW = conformance.PROFILES["intermediate"], conformance.PROFILES["modern"]


def sslscan(*more, on=("1.2", "1.3"), strength="strong", bits="128"):
    protocols = "".join(f'<protocol type="tls" version="{version}" enabled="{int(version in on)}"/>' for version in ("1.0", "1.1", "1.2", "1.3"))
    return (f'<document><ssltest host="h" port="1"><protocol type="ssl" version="3" enabled="0"/>{protocols}{"".join(more)}'
            f'<cipher sslversion="TLSv1.2" bits="{bits}" cipher="C" strength="{strength}"/></ssltest></document>')


def test_sslscan_is_judged():
    assert conformance.judge_sslscan(sslscan(), BOTH) == ([], "1 ciphers, 0 groups")
    assert conformance.judge_sslscan(sslscan(on=("1.1", "1.2", "1.3")), BOTH)[0] == ["TLSv1.1 is on"]
    assert conformance.judge_sslscan(sslscan(on=("1.3",)), BOTH)[0] == ["TLSv1.2 is off"]
    assert conformance.judge_sslscan(sslscan(), NEW)[0] == ["TLSv1.2 is on"]
    assert conformance.judge_sslscan(sslscan(strength="weak"), BOTH)[0] == ["C is weak"]
    assert conformance.judge_sslscan(sslscan(bits="112"), BOTH)[0] == ["C is strong"]
    wrong = conformance.judge_sslscan(sslscan('<group name="secp192r1"/>', '<renegotiation supported="1" secure="0"/>', '<compression supported="1"/>',
                                              '<heartbleed sslversion="TLSv1.2" vulnerable="1"/>', '<group name="X25519"/>'), BOTH)[0]
    assert wrong == ["the group secp192r1", "insecure renegotiation", "compression", "Heartbleed in TLSv1.2"]


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


def test_nmap_is_judged():
    assert conformance.judge_nmap(NMAP, BOTH) == ([], "2 ciphers, least strength A")
    assert conformance.judge_nmap(NMAP.replace("SHA256 (secp256r1) - A", "SHA256 (secp256r1) - C"), BOTH)[0] == [
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 has grade C"]
    assert conformance.judge_nmap(NMAP, NEW)[0] == ["TLSv1.2 is on"]
    assert conformance.judge_nmap(NMAP.replace("NULL", "DEFLATE"), BOTH)[0] == ["compression"]
    assert conformance.judge_nmap("", NEW)[0] == ["TLSv1.3 is off", "no cipher was found"]


def report(*more):
    usual = [("TLS1_1", "OK", "not offered"), ("TLS1_2", "OK", "offered"), ("TLS1_3", "OK", "offered with final")]
    return json.dumps([{"id": name, "severity": severity, "finding": finding} for name, severity, finding in [*usual, *more]])


def test_testssl_is_judged():
    assert conformance.judge_testssl(report(), BOTH) == ([], "3 findings")
    assert conformance.judge_testssl(report(("ROBOT", "HIGH", "VULNERABLE")), BOTH)[0] == ["ROBOT: VULNERABLE (HIGH)"]
    assert conformance.judge_testssl(report(("SSLv3", "CRITICAL", "offered")), BOTH)[0] == ["SSLv3: offered (CRITICAL)",
                                                                                          "offered are ['SSLv3', 'TLS1_2', 'TLS1_3']"]
    assert conformance.judge_testssl(report(("cert_trust", "HIGH", "no")), BOTH) == ([], "4 findings; accepted: cert_trust")
