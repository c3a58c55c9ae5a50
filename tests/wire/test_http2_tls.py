"""HTTP/2 over TLS: selection by ALPN, and what differs from prior knowledge (RFC 9113 sections 3.2,
3.3 and 9.2). Numbers in comments are its sections."""

import http2_client as h2
import pytest
import raw
import tls
from http2_client import Client
from test_http1_bodies import fnv
from wire_server import WireServer

# Of appendix A: no forward secrecy, or no AEAD.
WEAK_CIPHERS = ["ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES256-SHA384"]


@pytest.fixture(scope="module", params=["1.2", "1.3"])
def secure(request):
    running = WireServer(tls=request.param)
    running.version = request.param
    yield running
    running.stop()


def context(server, *offered):
    return tls.context(only=server.version, alpn=list(offered) or None)


def open_http2(server, *entries, **options):
    client = Client(server.port, *entries, tls=context(server, "h2"), **options)
    assert client.socket.tls.selected_alpn_protocol() == "h2"
    return client


@pytest.mark.parametrize("offered, chosen", [(["h2"], "h2"), (["h2", "http/1.1"], "h2"),
                                             (["http/1.1", "h2"], "h2"),
                                             (["http/1.1"], "http/1.1"), ([], None),
                                             (["spdy/3", "h2"], "h2")])
def test_alpn_selects_protocol(secure, offered, chosen):
    # 3.2: the server chooses
    with raw.Connection(secure.port, tls=context(secure, *offered)) as connection:
        assert connection.socket.tls.selected_alpn_protocol() == chosen


def test_request_over_tls(secure):
    with open_http2(secure) as client:
        assert client.get().body == b"Hello, world\n"
        numbers = [client.request("GET", f"/users/{i}") for i in range(50)]
        assert [response.body for response in client.responses(numbers)
                ] == [b"user id=[%d]" % i for i in range(50)]


def test_large_response_over_tls(secure):
    with open_http2(secure, (h2.INITIAL_WINDOW_SIZE, 2**20)) as client:
        assert client.get("/large?size=5000000").body == raw.pattern(5000000)


def test_large_file_over_tls(secure, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(raw.pattern(3000000))
    with open_http2(secure) as client:
        numbers = [client.request("GET", f"/send-file?path={path}") for _ in range(3)]
        for response in client.responses(numbers):
            assert response.body == raw.pattern(3000000)


def test_upload_over_tls(secure):
    body = raw.pattern(900000)
    with open_http2(secure) as client:
        assert client.response(client.request("POST", "/digest", body=body)).body == fnv(body)


def test_frames_in_records_of_one_byte(secure):
    with open_http2(secure, preface=False) as client:
        number = client.new_stream()
        data = h2.PREFACE + h2.settings() + h2.headers(number, h2.block(h2.head()))
        for i in range(len(data)):
            client.send(data[i:i + 1])
        assert client.response(number).status == 200


def test_http1_after_selecting_http2_ends_connection(secure):
    # 3.4: an invalid preface is a connection error PROTOCOL_ERROR
    with open_http2(secure, preface=False) as client:
        client.send(raw.request())
        client.until(lambda: client.goaway or client.ended, "no end")
        client.expect_goaway("PROTOCOL_ERROR")


def test_http2_without_alpn_gets_400(secure):
    # 3.2: over TLS only ALPN selects HTTP/2
    with raw.Connection(secure.port, tls=context(secure)) as connection:
        connection.send(h2.PREFACE + h2.settings())
        assert connection.response().status in (400, 505)


def test_http1_and_http2_at_once(secure):
    with open_http2(secure) as client, raw.Connection(secure.port,
                                                      tls=context(secure)) as connection:
        for _ in range(5):
            assert client.get().status == 200
            assert connection.request().status == 200


def test_scheme_and_facts_of_tls(secure):
    # A request reports the same fields over both protocols.
    with open_http2(secure) as client, raw.Connection(secure.port,
                                                      tls=context(secure)) as connection:
        one = connection.request("GET", "/inspect").facts()
        two = client.get("/inspect", scheme="https").facts()
        assert {**one, "minor": two["minor"]} == two


@pytest.mark.parametrize("cipher", WEAK_CIPHERS)
def test_cipher_of_the_prohibited_list_is_not_used(start, cipher):
    # 9.2.2: such a cipher ends the connection (INADEQUATE_SECURITY); the server offers none.
    server = start(tls="1.2")
    made = tls.context(only="1.2", alpn=["h2"])
    made.set_ciphers(f"{cipher}:@SECLEVEL=0")
    try:
        client = Client(server.port, tls=made)
    except OSError:
        return  # the handshake failed
    with client:
        client.expect_goaway("INADEQUATE_SECURITY")


def test_close_notify_ends_connection(secure):
    with open_http2(secure) as client:
        assert client.get().status == 200
        client.socket.shutdown(1)
        client.expect_end()


def test_connection_error_over_tls_is_read_before_the_end(secure):
    with open_http2(secure) as client:
        client.send(h2.data(0, b"x"))
        client.expect_goaway("PROTOCOL_ERROR")
        assert not client.socket.truncated


def test_session_is_resumed(secure):
    with open_http2(secure) as client:
        assert client.get().status == 200
        session = client.socket.tls.session
        made = client.socket.tls.context
    with raw.Connection(secure.port, tls=made, session=session) as connection:
        assert connection.socket.tls.session_reused
        assert connection.socket.tls.selected_alpn_protocol() == "h2"
