/* WebSocket and topics of uvhttp.hpp: every kind of handler is called, objects of a connection are
 * destroyed exactly once and never while one of their functions runs, messages do not allocate,
 * exceptions close the connection, and setup errors are reported. */
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <uvhttp.hpp>
#include <uvhttp/topics.hpp>
#include <uvhttp/websocket.hpp>

/* Last, because cmocka defines macros named skip and fail. */
#include "support/hpp_stage.hpp"

using namespace std::string_literals;
using uvhttp::Request;
using uvhttp::Response;
using uvhttp::Result;
using uvhttp::WebSocket;
using uvhttp::WebSocketKind;
using uvhttp::WebSocketMessage;

static_assert(!Result(UVHTTP_QUEUED) && Result(UVHTTP_QUEUED).queued());
static_assert(!Result().queued() && !Result(UVHTTP_EFULL).queued() && Result(UVHTTP_EFULL));

static_assert(std::is_trivially_copyable_v<WebSocket> && sizeof(WebSocket) == sizeof(void *));
static_assert(std::is_nothrow_move_constructible_v<WebSocketMessage>);

static constexpr auto text = UVHTTP_WEBSOCKET_TEXT;
static constexpr auto binary = UVHTTP_WEBSOCKET_BINARY;

/* ---- frames (RFC 6455 section 5.2) ---- */

/* Frame of a client, with a mask of zeros. */
static std::string client_frame(unsigned char opcode, std::string_view payload, bool last = true)
{
    assert_true(payload.size() < 126);
    std::string bytes{static_cast<char>(opcode | (last ? 0x80 : 0)),
                      static_cast<char>(0x80 | payload.size()),
                      '\0',
                      '\0',
                      '\0',
                      '\0'};
    return bytes.append(payload);
}

/* Frame of a server. */
static std::string server_frame(unsigned char opcode, std::string_view payload, bool last = true)
{
    std::string bytes{static_cast<char>(opcode | (last ? 0x80 : 0)),
                      static_cast<char>(payload.size())};
    return bytes.append(payload);
}

static std::string code(unsigned number, std::string_view reason = "")
{
    return std::string{static_cast<char>(number >> 8), static_cast<char>(number & 255)}.append(
        reason);
}

enum : unsigned char { MORE = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

/* A stage with a WebSocket client. */
struct WebSocketStage : Stage {
    std::size_t seen = 0;

    std::string rest() const { return received().substr(seen); }
    void handshake(const std::string &path)
    {
        connect();
        send("GET " + path +
             " HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: "
             "websocket\r\nSec-WebSocket-Version: "
             "13\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: a, b\r\n\r\n");
        runUntil([&] { return contains(received(), "\r\n\r\n") || client.ended; });
        /* npos + 4 if the connection ended before the head was received */
        seen = received().find("\r\n\r\n") + 4;
    }
    void expect(const std::string &bytes)
    {
        runUntil([&] { return rest().size() >= bytes.size(); });
        assert_true(rest().substr(0, bytes.size()) == bytes);
        seen += bytes.size();
    }
    /* The client sends a close frame, and the server replies. */
    void close_handshake()
    {
        send(client_frame(CLOSE, code(1000, "bye")));
        expect(server_frame(CLOSE, code(1000)));
        runUntil([&] { return client.ended; });
    }
};

/* ---- handlers ---- */

static void test_function_handlers_get_messages(void **)
{
    WebSocketStage stage;
    int alive = 0;
    stage.server->webSocket("/kind", [](WebSocket ws, WebSocketKind kind, std::string_view data) {
        assert_int_equal(ws.send(kind, data).code(), 0);
    });
    stage.server->webSocket(
        "/count", [tracked = Tracked(alive), count = 0](WebSocket ws, std::string_view) mutable {
            assert_int_equal(ws.sendText(std::to_string(++count)).code(), 0);
        });
    stage.server->webSocket(
        "/data", [](WebSocket ws,
                    std::string_view) { /* what C keeps is there as well */
                                        const auto count = reinterpret_cast<std::uintptr_t>(
                                                               uvhttp_websocket_data(ws.native())) +
                                                           1;
                                        uvhttp_websocket_set_data(ws.native(),
                                                                  reinterpret_cast<void *>(count));
                                        assert_int_equal(ws.sendText(std::to_string(count)).code(),
                                                         0);
        });
    stage.server->group("/in").webSocket("/group", [](WebSocket ws, std::string_view data) {
        assert_int_equal(ws.sendBinary(data).code(), 0);
    });
    stage.listen();
    assert_int_equal(stage.request("/kind").status, 426);
    stage.handshake("/kind");
    stage.send(client_frame(TEXT, "hello") + client_frame(BINARY, "\x80"));
    stage.expect(server_frame(TEXT, "hello") + server_frame(BINARY, "\x80"));
    stage.close_handshake();
    for (const char *number : {"1", "2"}) { /* one function for all connections */
        stage.handshake("/count");
        stage.send(client_frame(TEXT, ""));
        stage.expect(server_frame(TEXT, number));
    }
    stage.handshake("/data");
    stage.send(client_frame(TEXT, "") + client_frame(TEXT, ""));
    stage.expect(server_frame(TEXT, "1") + server_frame(TEXT, "2"));
    stage.handshake("/in/group");
    stage.send(client_frame(TEXT, "x"));
    stage.expect(server_frame(BINARY, "x"));
    assert_int_equal(alive, 1);
    stage.end();
    assert_int_equal(alive, 0);
}

/* One object for all connections. */
struct Everything {
    std::string *trace;

    bool admit(Request req) { return !req.query("no"); }
    void open(WebSocket ws) { note("open ").append(ws.protocol()).append(" "); }
    void chunk(WebSocket ws, WebSocketKind kind, std::string_view data, bool last)
    {
        note(kind == text ? "text " : "binary ").append(data).append(last ? ". " : "- ");
        if (last) {
            assert_int_equal(ws.sendFragment(kind, "first", false).code(), 0);
            assert_int_equal(ws.sendText("between").code(), UVHTTP_EINVAL);
            assert_int_equal(ws.sendFragment(kind, "last", true).code(), 0);
        }
    }
    void ping(WebSocket, std::string_view data) { note("ping ").append(data).append(" "); }
    void pong(WebSocket, std::string_view data) { note("pong ").append(data).append(" "); }
    void close(WebSocket, unsigned number, std::string_view reason)
    {
        note("close ").append(std::to_string(number)).append(" ").append(reason);
    }
    std::string &note(const char *what) { return trace->append(what); }
};

static void test_shared_object_handles_all_connections(void **)
{
    WebSocketStage stage;
    std::string trace;
    static constexpr const char *protocols[] = {"b", "a"};
    stage.server->webSocket("/all", Everything{&trace}, {.protocols = protocols});
    stage.listen();
    stage.handshake("/all?no=1");
    assert_true(contains(stage.received(), "HTTP/1.1 403 "));
    stage.handshake("/all");
    assert_true(contains(stage.received(), "Sec-WebSocket-Protocol: b\r\n"));
    stage.send(client_frame(TEXT, "a", false) + client_frame(PING, "p") + client_frame(PONG, "q") +
               client_frame(MORE, "b"));
    stage.expect(server_frame(PONG, "p") + server_frame(TEXT, "first", false) +
                 server_frame(MORE, "last"));
    stage.close_handshake();
    assert_string_equal(trace.c_str(), "open b text a- ping p pong q text b. close 1000 bye");
}

/* One object for each connection. */
struct Each {
    Tracked tracked;
    std::string name;
    std::string *trace;
    const int *alive;

    void open(WebSocket ws)
    {
        if (name == "abort-open")
            ws.abort();
    }
    void message(WebSocket ws, std::string_view data)
    {
        if (data == "throw")
            throw std::runtime_error("message");
        if (data == "abort") {
            const int *count = alive;
            ws.abort();
            assert_int_equal(*count, 1);
            *trace += name + " is still there "; /* destroyed only after this function */
            return;
        }
        assert_int_equal(ws.sendText(name).code(), 0);
    }
    void close(WebSocket, unsigned number, std::string_view)
    {
        *trace += name + " " + std::to_string(number) + " ";
    }
};

static void test_factory_makes_object_per_connection(void **)
{
    WebSocketStage stage;
    int alive = 0;
    std::string trace;
    auto named = [&](Request req) {
        return Each{Tracked(alive), std::string(req.query("n").value_or("")), &trace, &alive};
    };
    stage.server->webSocket("/object", named);
    stage.server->webSocket("/optional", [&](Request req, Response res) -> std::optional<Each> {
        if (req.query("n"))
            return named(req);
        if (req.query("answer"))
            assert_int_equal(res.sendText(402, "pay").code(), 0);
        else if (req.query("throw"))
            throw std::bad_alloc();
        return std::nullopt;
    });
    stage.server->webSocket("/unique", [&] {
        return std::make_unique<Each>(Each{Tracked(alive), "unique", &trace, &alive});
    });
    stage.listen();
    for (const char *name : {"object", "optional", "unique"}) {
        stage.handshake("/"s + name + "?n=" + name);
        assert_int_equal(alive, 1);
        stage.send(client_frame(TEXT, "who?"));
        stage.expect(server_frame(TEXT, name));
        stage.close_handshake();
        stage.runUntil([&] { return alive == 0; });
    }
    assert_string_equal(trace.c_str(), "object 1000 optional 1000 unique 1000 ");
    trace.clear();
    for (auto [query, status] : {std::pair("", " 403 "), std::pair("?answer=1", " 402 "),
                                 std::pair("?throw=1", " 503 ")}) {
        stage.handshake("/optional"s + query);
        assert_true(contains(stage.received(), status));
    }
    assert_int_equal(alive, 0);

    stage.handshake("/object?n=a");
    stage.send(client_frame(TEXT, "abort"));
    stage.runUntil([&] { return stage.client.ended && alive == 0; });
    assert_string_equal(trace.c_str(), "a 1006 a is still there ");
    trace.clear();
    stage.handshake("/object?n=abort-open");
    stage.runUntil([&] { return stage.client.ended && alive == 0; });
    assert_string_equal(trace.c_str(), "abort-open 1006 ");
    trace.clear();
    stage.handshake("/object?n=b");
    stage.send(client_frame(TEXT, "throw"));
    stage.expect(server_frame(CLOSE, code(1011)));
    stage.send(client_frame(CLOSE, code(1011)));
    stage.runUntil([&] { return stage.client.ended && alive == 0; });
    assert_string_equal(trace.c_str(), "b 1011 ");

    stage.handshake("/object?n=c");
    assert_int_equal(alive, 1);
    stage.end(); /* the server ends while the connection is open */
    assert_int_equal(alive, 0);
}

static void test_message_does_not_allocate(void **)
{
    WebSocketStage stage;
    int alive = 0;
    std::string trace, wanted = server_frame(TEXT, "x");
    const std::string question = client_frame(TEXT, "who?");
    stage.server->webSocket("/object", [&] { return Each{Tracked(alive), "x", &trace, &alive}; });
    stage.listen();
    stage.handshake("/object");
    std::size_t before = 0;
    for (int i = 0; i < 200; i++) {
        if (i == 100)
            before = allocations;
        raw_client_send(&stage.client, question.data(), question.size());
        const std::size_t end = stage.seen + wanted.size();
        stage.runUntil([&] { return stage.client.received >= end; });
        stage.seen = end;
    }
    assert_int_equal(allocations - before, 0);
}

/* ---- prepared messages, endpoints, clients ---- */

static void test_prepared_messages_are_sent(void **)
{
    WebSocketStage stage;
    std::optional<WebSocketMessage> kept;
    auto endpoint = stage.server->webSocketEndpoint(
        [&](WebSocket ws, std::string_view) {
            assert_int_equal(ws.send(*kept).code(), 0);
            const WebSocketMessage copy = *kept;
            assert_int_equal(ws.send(copy).code(), 0);
            assert_int_equal(ws.send(WebSocketMessage(ws.endpoint(), binary, "raw")).code(), 0);
        },
        {});
    stage.server->get("/many", endpoint);
    stage.listen();
    kept.emplace(endpoint, "news");
    assert_true(bool(*kept) && !WebSocketMessage(endpoint, "\xff"));
    stage.handshake("/many");
    stage.send(client_frame(TEXT, "?"));
    stage.expect(server_frame(TEXT, "news") + server_frame(TEXT, "news") +
                 server_frame(BINARY, "raw"));
    WebSocketMessage moved = std::move(*kept);
    assert_false(bool(*kept)); /* NOLINT: moved-from objects are tested */
    kept = moved;
    stage.send(client_frame(TEXT, "?"));
    stage.expect(server_frame(TEXT, "news"));
    const uvhttp::WebSocketStats stats = endpoint.readStats();
    assert_int_equal(stats.connections, 1);
    assert_int_equal(stats.messages_received, 2);
    kept.reset();
}

/* A server's handlers and their captures are destroyed after its endpoints. */
struct Last {
    std::shared_ptr<std::optional<WebSocketMessage>> last;
    void message(WebSocket ws, std::string_view data) { last->emplace(ws.endpoint(), data); }
};

static void test_kept_messages_outlive_server(void **)
{
    std::optional<WebSocketMessage> longer;
    {
        WebSocketStage stage;
        auto last = std::make_shared<std::optional<WebSocketMessage>>();
        stage.server->webSocket("/last", Last{last});
        const std::weak_ptr<std::optional<WebSocketMessage>> seen = last;
        last.reset();
        stage.listen();
        stage.handshake("/last");
        stage.send(client_frame(TEXT, "state"));
        stage.runUntil([&] { return seen.lock()->has_value(); });
        longer = *seen.lock();
        assert_true(bool(*longer));
        stage.end();
        assert_true(seen.expired());
    }
    const WebSocketMessage copy = *longer;
    longer.reset();
    assert_true(bool(copy));
}

static void test_client_connects_and_reports_errors(void **)
{
    WebSocketStage stage;
    int alive = 0;
    std::string trace;
    struct Caller {
        Tracked tracked;
        std::string *trace;
        void open(WebSocket ws) { assert_int_equal(ws.sendText("hello").code(), 0); }
        void message(WebSocket ws, std::string_view data)
        {
            trace->append(data).append(" ");
            assert_int_equal(ws.close(3000, "enough").code(), 0);
        }
        void close(WebSocket, unsigned number, std::string_view reason)
        {
            trace->append(std::to_string(number)).append(" ").append(reason).append(" ");
        }
    };
    auto callers = stage.server->webSocketEndpoint(
        [&] {
            return Caller{Tracked(alive), &trace};
        },
        {.closeTimeout = std::chrono::seconds(1)});
    auto shared = stage.server->webSocketEndpoint(Everything{&trace}, {});
    stage.server->webSocket("/echo",
                            [](WebSocket ws, std::string_view data) { (void)ws.sendText(data); });
    stage.listen();
    const std::string url = "ws://127.0.0.1:" + std::to_string(stage.server->port()) + "/echo";
    WebSocket ws;
    assert_int_equal(callers.connect({.url = url}, Caller{Tracked(alive), &trace}, &ws).code(), 0);
    assert_true(ws.native() != nullptr);
    stage.runUntil([&] { return !trace.empty() && alive == 0; });
    /* the peer repeats the code without a reason */
    assert_string_equal(trace.c_str(), "hello 3000  ");
    trace.clear();
    /* Connections that are not started: the object is destroyed. */
#if UVHTTP_TESTS_HTTPS
    const uvhttp::TlsClient tls({.caFile = "/nothing"});
    const int expected = UVHTTP_ECONFIG;
    assert_true(
        std::string_view(tls.details().text).starts_with("ca_file '/nothing' cannot be opened"));
    assert_int_equal(uvhttp::TlsClient({.ciphers = {"a\0b", 3}}).error().code(), UVHTTP_EINVAL);
#else
    const uvhttp::TlsClient tls;
    const int expected = UVHTTP_ENOTSUP;
    assert_int_equal(
        callers.connect({.url = "wss://127.0.0.1/"}, Caller{Tracked(alive), &trace}).code(),
        UVHTTP_ENOTSUP);
#endif
    assert_int_equal(
        callers.connect({.url = "wss://127.0.0.1/", .tls = &tls}, Caller{Tracked(alive), &trace})
            .code(),
        expected);
    uvhttp::SetupError details = {};
    assert_int_equal(
        callers.connect({.url = "nonsense", .details = &details}, Caller{Tracked(alive), &trace})
            .code(),
        UVHTTP_EINVAL);
    assert_true(
        std::string_view(details.text).starts_with("url is \"nonsense\"; must be ws[s]://"));
    std::memset(&details, 'x', sizeof details); /* each call sets all of it */
    assert_int_equal(callers
                         .connect({.url = std::string_view("ws://a\0/", 8), .details = &details},
                                  Caller{Tracked(alive), &trace})
                         .code(),
                     UVHTTP_EINVAL);
    assert_int_equal(details.code, UVHTTP_EINVAL);
    assert_string_equal(details.field, "");
    assert_string_equal(details.text, "invalid argument");
    assert_int_equal(callers
                         .connect({.url = "wss://127.0.0.1/", .details = &details, .tls = &tls},
                                  Caller{Tracked(alive), &trace})
                         .code(),
                     expected);
    assert_int_equal(details.code, expected);
    assert_string_equal(details.text, tls.details().text);
    assert_int_equal(alive, 0);
    assert_string_equal(trace.c_str(), "");
    assert_int_equal(shared.connect({.url = url + "/else"}).code(), 0);
    stage.runUntil([&] { return !trace.empty(); });
    assert_true(contains(trace, "close 1006 "));
#if UVHTTP_TESTS_HTTPS
    trace.clear();
    {
        /* the connection keeps what it needs of the options */
        const uvhttp::TlsClient open({.insecure = true});
        assert_int_equal(shared.connect({.url = "wss" + url.substr(2), .tls = &open}).code(), 0);
    }
    stage.runUntil([&] { return !trace.empty(); });
    assert_true(contains(trace, "the peer does not speak TLS"));
#endif
}

/* ---- topics ---- */

struct Adapter {
    Tracked tracked;
    std::string *trace;
    int publish(std::string_view topic, WebSocketKind kind, std::string_view data)
    {
        assert_int_equal(kind, text);
        trace->append("published ").append(topic).append(" ").append(data).append(" ");
        return 0;
    }
    void subscribe(std::string_view pattern) { trace->append("+").append(pattern).append(" "); }
    void unsubscribe(std::string_view pattern) { trace->append("-").append(pattern).append(" "); }
};

static void test_topics_publish_and_subscribe(void **)
{
    int alive = 0;
    std::string trace, counts;
    WebSocketStage stage;
    uvhttp::Topics topics = stage.server->topics({.maxTopicSize = 20});
    topics.setAdapter(std::make_unique<Adapter>(Adapter{Tracked(alive), &trace}));
    topics.onPresence([&](std::string_view pattern, std::size_t count) {
        counts.append(pattern).append("=").append(std::to_string(count)).append(" ");
    });
    stage.server->webSocket("/topics", [topics](WebSocket ws, std::string_view data) {
        if (data == "leave")
            assert_int_equal(topics.unsubscribe(ws, "a/+").code(), 0);
        else if (data == "say")
            assert_int_equal(topics.publishFrom(ws, "a/b", "own").code(), 0);
        else
            assert_int_equal(topics.subscribe(ws, data).code(), 0);
        assert_int_equal(ws.sendText("done").code(), 0);
    });
    stage.listen();
    stage.handshake("/topics");
    stage.send(client_frame(TEXT, "a/+"));
    stage.expect(server_frame(TEXT, "done"));
    assert_int_equal(topics.count("a/+"), 1);
    assert_int_equal(topics.publish("a/b", "news").code(), 0);
    assert_int_equal(topics.publish("c", "not for it").code(), 0);
    assert_int_equal(topics.deliver("a/c", binary, "from elsewhere").code(), 0);
    stage.expect(server_frame(TEXT, "news") + server_frame(BINARY, "from elsewhere"));
    stage.send(client_frame(TEXT, "say"));
    stage.expect(server_frame(TEXT, "done"));
    stage.send(client_frame(TEXT, "leave"));
    stage.expect(server_frame(TEXT, "done"));
    assert_int_equal(topics.count("a/+"), 0);
    assert_int_equal(topics.publish("a/#", "no topic").code(), UVHTTP_EINVAL);
    assert_int_equal(topics.publish("a", "\xff").code(), UVHTTP_EINVAL);
    assert_int_equal(topics.publish(std::string_view("a\0b", 3), "x").code(), UVHTTP_EINVAL);
    assert_string_equal(trace.c_str(),
                        "+a/+ published a/b news published c not for it published a/b own -a/+ ");
    assert_string_equal(counts.c_str(), "a/+=1 a/+=0 ");
    assert_int_equal(alive, 1);
    stage.end();
    assert_int_equal(alive, 0);
}

/* ---- setup errors ---- */

static void test_first_setup_error_is_kept(void **)
{
    int alive = 0;
    auto handler = [&alive] { return [tracked = Tracked(alive)](WebSocket, std::string_view) {}; };
    {
        Server server;
        server.webSocket("/a", handler(), {.windowBits = 99});
        assert_int_equal(server.error().code(), UVHTTP_ECONFIG);
        assert_true(contains(server.details().text, "99"));
        server.webSocket("/b", handler());
        assert_true(contains(server.details().text, "99"));
        assert_string_equal(server.where(), "webSocket /a");
        const auto endpoint = server.webSocketEndpoint(handler(), {});
        assert_null(endpoint.native());
        assert_false(bool(WebSocketMessage(endpoint, "x")));
        assert_int_equal(endpoint.connect({.url = "ws://h/"}).code(), UVHTTP_ENOMEM);
        assert_int_equal(endpoint.readStats().connections, 0);
        const uvhttp::Topics topics = server.topics();
        assert_null(topics.native());
        assert_int_equal(topics.publish("a", "b").code(), UVHTTP_ENOMEM);
        assert_int_equal(topics.count("a"), 0);
        topics.onPresence([](std::string_view, std::size_t) {});
        int adapters = 0;
        topics.setAdapter(std::make_unique<Adapter>(Adapter{Tracked(adapters), nullptr}));
        assert_int_equal(adapters, 0);
        const uvhttp::Topics none;
        assert_null(none.native());
        assert_int_equal(none.publish("a", "b").code(), UVHTTP_ENOMEM);
        none.onPresence([](std::string_view, std::size_t) {});
        none.setAdapter(std::make_unique<Adapter>(Adapter{Tracked(adapters), nullptr}));
        assert_int_equal(adapters, 0);
    }
    assert_int_equal(alive, 0);
    Server server;
    server.webSocket("/:a/:a", handler());
    assert_true(bool(server.error()) && contains(server.where(), "/:a/:a"));
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_function_handlers_get_messages),
        cmocka_unit_test(test_shared_object_handles_all_connections),
        cmocka_unit_test(test_factory_makes_object_per_connection),
        cmocka_unit_test(test_message_does_not_allocate),
        cmocka_unit_test(test_prepared_messages_are_sent),
        cmocka_unit_test(test_kept_messages_outlive_server),
        cmocka_unit_test(test_client_connects_and_reports_errors),
        cmocka_unit_test(test_topics_publish_and_subscribe),
        cmocka_unit_test(test_first_setup_error_is_kept),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
