/* WebSocket and topics of uvhttp.hpp: every kind of handler is called, what is made for a
 * connection is destroyed exactly once and never under its own feet, a message to it allocates
 * nothing, exceptions close, and what cannot be set up says so. */
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <uvhttp.hpp>
#include <uvhttp/topics.hpp>
#include <uvhttp/websocket.hpp>

/* Last, because cmocka's macros are called skip and fail. */
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

/* Of a client, with a mask of zeros. */
static std::string frame(unsigned char opcode, std::string_view payload, bool last = true)
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

/* Of a server. */
static std::string reply(unsigned char opcode, std::string_view payload, bool last = true)
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

/* A stage with a client that speaks WebSocket. */
struct Talk : Stage {
    std::size_t seen = 0;

    std::string rest() const { return received().substr(seen); }
    void shake(const std::string &path)
    {
        connect();
        send("GET " + path +
             " HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: "
             "websocket\r\nSec-WebSocket-Version: "
             "13\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: a, b\r\n\r\n");
        until([&] { return holds(received(), "\r\n\r\n") || client.ended; });
        seen = received().find("\r\n\r\n") + 4; /* or nothing came before the end */
    }
    void hears(const std::string &bytes)
    {
        until([&] { return rest().size() >= bytes.size(); });
        assert_true(rest().substr(0, bytes.size()) == bytes);
        seen += bytes.size();
    }
    /* The client closes, and the server answers. */
    void leave()
    {
        send(frame(CLOSE, code(1000, "bye")));
        hears(reply(CLOSE, code(1000)));
        until([&] { return client.ended; });
    }
};

/* ---- handlers ---- */

static void test_functions(void **)
{
    Talk talk;
    int alive = 0;
    talk.server->webSocket("/kind", [](WebSocket ws, WebSocketKind kind, std::string_view data) {
        assert_int_equal(ws.send(kind, data).code(), 0);
    });
    talk.server->webSocket(
        "/count", [guest = Guest(alive), count = 0](WebSocket ws, std::string_view) mutable {
            assert_int_equal(ws.sendText(std::to_string(++count)).code(), 0);
        });
    talk.server->webSocket(
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
    talk.server->group("/in").webSocket("/group", [](WebSocket ws, std::string_view data) {
        assert_int_equal(ws.sendBinary(data).code(), 0);
    });
    talk.listen();
    assert_int_equal(talk.ask("/kind").status, 426);
    talk.shake("/kind");
    talk.send(frame(TEXT, "hello") + frame(BINARY, "\x80"));
    talk.hears(reply(TEXT, "hello") + reply(BINARY, "\x80"));
    talk.leave();
    for (const char *number : {"1", "2"}) { /* one function for all connections */
        talk.shake("/count");
        talk.send(frame(TEXT, ""));
        talk.hears(reply(TEXT, number));
    }
    talk.shake("/data");
    talk.send(frame(TEXT, "") + frame(TEXT, ""));
    talk.hears(reply(TEXT, "1") + reply(TEXT, "2"));
    talk.shake("/in/group");
    talk.send(frame(TEXT, "x"));
    talk.hears(reply(BINARY, "x"));
    assert_int_equal(alive, 1);
    talk.end();
    assert_int_equal(alive, 0);
}

/* For all connections. */
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

static void test_an_object_for_all(void **)
{
    Talk talk;
    std::string trace;
    static constexpr const char *protocols[] = {"b", "a"};
    talk.server->webSocket("/all", Everything{&trace}, {.protocols = protocols});
    talk.listen();
    talk.shake("/all?no=1");
    assert_true(holds(talk.received(), "HTTP/1.1 403 "));
    talk.shake("/all");
    assert_true(holds(talk.received(), "Sec-WebSocket-Protocol: b\r\n"));
    talk.send(frame(TEXT, "a", false) + frame(PING, "p") + frame(PONG, "q") + frame(MORE, "b"));
    talk.hears(reply(PONG, "p") + reply(TEXT, "first", false) + reply(MORE, "last"));
    talk.leave();
    assert_string_equal(trace.c_str(), "open b text a- ping p pong q text b. close 1000 bye");
}

/* One for each connection. */
struct Each {
    Guest guest;
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
            *trace += name + " is still there "; /* it would be gone, were it destroyed within */
            return;
        }
        assert_int_equal(ws.sendText(name).code(), 0);
    }
    void close(WebSocket, unsigned number, std::string_view)
    {
        *trace += name + " " + std::to_string(number) + " ";
    }
};

static void test_an_object_for_each(void **)
{
    Talk talk;
    int alive = 0;
    std::string trace;
    auto named = [&](Request req) {
        return Each{Guest(alive), std::string(req.query("n").value_or("")), &trace, &alive};
    };
    talk.server->webSocket("/object", named);
    talk.server->webSocket("/optional", [&](Request req, Response res) -> std::optional<Each> {
        if (req.query("n"))
            return named(req);
        if (req.query("answer"))
            assert_int_equal(res.sendText(402, "pay").code(), 0);
        else if (req.query("throw"))
            throw std::bad_alloc();
        return std::nullopt;
    });
    talk.server->webSocket("/unique", [&] {
        return std::make_unique<Each>(Each{Guest(alive), "unique", &trace, &alive});
    });
    talk.listen();
    for (const char *name : {"object", "optional", "unique"}) {
        talk.shake("/"s + name + "?n=" + name);
        assert_int_equal(alive, 1);
        talk.send(frame(TEXT, "who?"));
        talk.hears(reply(TEXT, name));
        talk.leave();
        talk.until([&] { return alive == 0; });
    }
    assert_string_equal(trace.c_str(), "object 1000 optional 1000 unique 1000 ");
    trace.clear();
    for (auto [query, status] : {std::pair("", " 403 "), std::pair("?answer=1", " 402 "),
                                 std::pair("?throw=1", " 503 ")}) {
        talk.shake("/optional"s + query);
        assert_true(holds(talk.received(), status));
    }
    assert_int_equal(alive, 0);

    talk.shake("/object?n=a");
    talk.send(frame(TEXT, "abort"));
    talk.until([&] { return talk.client.ended && alive == 0; });
    assert_string_equal(trace.c_str(), "a 1006 a is still there ");
    trace.clear();
    talk.shake("/object?n=abort-open");
    talk.until([&] { return talk.client.ended && alive == 0; });
    assert_string_equal(trace.c_str(), "abort-open 1006 ");
    trace.clear();
    talk.shake("/object?n=b");
    talk.send(frame(TEXT, "throw"));
    talk.hears(reply(CLOSE, code(1011)));
    talk.send(frame(CLOSE, code(1011)));
    talk.until([&] { return talk.client.ended && alive == 0; });
    assert_string_equal(trace.c_str(), "b 1011 ");

    talk.shake("/object?n=c");
    assert_int_equal(alive, 1);
    talk.end(); /* the server ends while it is open */
    assert_int_equal(alive, 0);
}

static void test_a_message_allocates_nothing(void **)
{
    Talk talk;
    int alive = 0;
    std::string trace, wanted = reply(TEXT, "x");
    const std::string question = frame(TEXT, "who?");
    talk.server->webSocket("/object", [&] { return Each{Guest(alive), "x", &trace, &alive}; });
    talk.listen();
    talk.shake("/object");
    std::size_t before = 0;
    for (int i = 0; i < 200; i++) {
        if (i == 100)
            before = allocations;
        raw_client_send(&talk.client, question.data(), question.size());
        const std::size_t end = talk.seen + wanted.size();
        talk.until([&] { return talk.client.received >= end; });
        talk.seen = end;
    }
    assert_int_equal(allocations - before, 0);
}

/* ---- prepared messages, endpoints, clients ---- */

static void test_messages_for_many(void **)
{
    Talk talk;
    std::optional<WebSocketMessage> kept;
    auto endpoint = talk.server->webSocketEndpoint(
        [&](WebSocket ws, std::string_view) {
            assert_int_equal(ws.send(*kept).code(), 0);
            const WebSocketMessage copy = *kept;
            assert_int_equal(ws.send(copy).code(), 0);
            assert_int_equal(ws.send(WebSocketMessage(ws.endpoint(), binary, "raw")).code(), 0);
        },
        {});
    talk.server->get("/many", endpoint);
    talk.listen();
    kept.emplace(endpoint, "news");
    assert_true(bool(*kept) && !WebSocketMessage(endpoint, "\xff"));
    talk.shake("/many");
    talk.send(frame(TEXT, "?"));
    talk.hears(reply(TEXT, "news") + reply(TEXT, "news") + reply(BINARY, "raw"));
    WebSocketMessage moved = std::move(*kept);
    assert_false(bool(*kept)); /* NOLINT: that is what is tested */
    kept = moved;
    talk.send(frame(TEXT, "?"));
    talk.hears(reply(TEXT, "news"));
    const uvhttp::WebSocketStats stats = endpoint.readStats();
    assert_int_equal(stats.connections, 1);
    assert_int_equal(stats.messages_received, 2);
    kept.reset();
}

/* A server's handlers go behind its endpoints, and with them what they have captured. */
struct Last {
    std::shared_ptr<std::optional<WebSocketMessage>> last;
    void message(WebSocket ws, std::string_view data) { last->emplace(ws.endpoint(), data); }
};

static void test_messages_that_handlers_keep(void **)
{
    std::optional<WebSocketMessage> longer;
    {
        Talk talk;
        auto last = std::make_shared<std::optional<WebSocketMessage>>();
        talk.server->webSocket("/last", Last{last});
        const std::weak_ptr<std::optional<WebSocketMessage>> seen = last;
        last.reset();
        talk.listen();
        talk.shake("/last");
        talk.send(frame(TEXT, "state"));
        talk.until([&] { return seen.lock()->has_value(); });
        longer = *seen.lock();
        assert_true(bool(*longer));
        talk.end();
        assert_true(seen.expired());
    }
    const WebSocketMessage copy = *longer;
    longer.reset();
    assert_true(bool(copy));
}

static void test_clients(void **)
{
    Talk talk;
    int alive = 0;
    std::string trace;
    struct Caller {
        Guest guest;
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
    auto callers = talk.server->webSocketEndpoint(
        [&] {
            return Caller{Guest(alive), &trace};
        },
        {.closeTimeout = std::chrono::seconds(1)});
    auto shared = talk.server->webSocketEndpoint(Everything{&trace}, {});
    talk.server->webSocket("/echo",
                           [](WebSocket ws, std::string_view data) { (void)ws.sendText(data); });
    talk.listen();
    const std::string url = "ws://127.0.0.1:" + std::to_string(talk.server->port()) + "/echo";
    WebSocket ws;
    assert_int_equal(callers.connect({.url = url}, Caller{Guest(alive), &trace}, &ws).code(), 0);
    assert_true(ws.native() != nullptr);
    talk.until([&] { return !trace.empty() && alive == 0; });
    /* the peer says the code again, and no reason */
    assert_string_equal(trace.c_str(), "hello 3000  ");
    trace.clear();
    /* It does not begin, and what was given is destroyed. */
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
        callers.connect({.url = "wss://127.0.0.1/"}, Caller{Guest(alive), &trace}).code(),
        UVHTTP_ENOTSUP);
#endif
    assert_int_equal(
        callers.connect({.url = "wss://127.0.0.1/", .tls = &tls}, Caller{Guest(alive), &trace})
            .code(),
        expected);
    uvhttp::SetupError details = {};
    assert_int_equal(
        callers.connect({.url = "nonsense", .details = &details}, Caller{Guest(alive), &trace})
            .code(),
        UVHTTP_EINVAL);
    assert_true(
        std::string_view(details.text).starts_with("url is \"nonsense\"; must be ws[s]://"));
    std::memset(&details, 'x', sizeof details); /* each call sets all of it */
    assert_int_equal(callers
                         .connect({.url = std::string_view("ws://a\0/", 8), .details = &details},
                                  Caller{Guest(alive), &trace})
                         .code(),
                     UVHTTP_EINVAL);
    assert_int_equal(details.code, UVHTTP_EINVAL);
    assert_string_equal(details.field, "");
    assert_string_equal(details.text, "invalid argument");
    assert_int_equal(callers
                         .connect({.url = "wss://127.0.0.1/", .details = &details, .tls = &tls},
                                  Caller{Guest(alive), &trace})
                         .code(),
                     expected);
    assert_int_equal(details.code, expected);
    assert_string_equal(details.text, tls.details().text);
    assert_int_equal(alive, 0);
    assert_string_equal(trace.c_str(), "");
    assert_int_equal(shared.connect({.url = url + "/else"}).code(), 0);
    talk.until([&] { return !trace.empty(); });
    assert_true(holds(trace, "close 1006 "));
#if UVHTTP_TESTS_HTTPS
    trace.clear();
    {
        /* the connection keeps what it needs of it */
        const uvhttp::TlsClient open({.insecure = true});
        assert_int_equal(shared.connect({.url = "wss" + url.substr(2), .tls = &open}).code(), 0);
    }
    talk.until([&] { return !trace.empty(); });
    assert_true(holds(trace, "the peer does not speak TLS"));
#endif
}

/* ---- topics ---- */

struct Adapter {
    Guest guest;
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

static void test_topics(void **)
{
    int alive = 0;
    std::string trace, counts;
    Talk talk;
    uvhttp::Topics topics = talk.server->topics({.maxTopicSize = 20});
    topics.setAdapter(std::make_unique<Adapter>(Adapter{Guest(alive), &trace}));
    topics.onPresence([&](std::string_view pattern, std::size_t count) {
        counts.append(pattern).append("=").append(std::to_string(count)).append(" ");
    });
    talk.server->webSocket("/topics", [topics](WebSocket ws, std::string_view data) {
        if (data == "leave")
            assert_int_equal(topics.unsubscribe(ws, "a/+").code(), 0);
        else if (data == "say")
            assert_int_equal(topics.publishFrom(ws, "a/b", "own").code(), 0);
        else
            assert_int_equal(topics.subscribe(ws, data).code(), 0);
        assert_int_equal(ws.sendText("done").code(), 0);
    });
    talk.listen();
    talk.shake("/topics");
    talk.send(frame(TEXT, "a/+"));
    talk.hears(reply(TEXT, "done"));
    assert_int_equal(topics.count("a/+"), 1);
    assert_int_equal(topics.publish("a/b", "news").code(), 0);
    assert_int_equal(topics.publish("c", "not for it").code(), 0);
    assert_int_equal(topics.deliver("a/c", binary, "from elsewhere").code(), 0);
    talk.hears(reply(TEXT, "news") + reply(BINARY, "from elsewhere"));
    talk.send(frame(TEXT, "say"));
    talk.hears(reply(TEXT, "done"));
    talk.send(frame(TEXT, "leave"));
    talk.hears(reply(TEXT, "done"));
    assert_int_equal(topics.count("a/+"), 0);
    assert_int_equal(topics.publish("a/#", "no topic").code(), UVHTTP_EINVAL);
    assert_int_equal(topics.publish("a", "\xff").code(), UVHTTP_EINVAL);
    assert_int_equal(topics.publish(std::string_view("a\0b", 3), "x").code(), UVHTTP_EINVAL);
    assert_string_equal(trace.c_str(),
                        "+a/+ published a/b news published c not for it published a/b own -a/+ ");
    assert_string_equal(counts.c_str(), "a/+=1 a/+=0 ");
    assert_int_equal(alive, 1);
    talk.end();
    assert_int_equal(alive, 0);
}

/* ---- what cannot be set up ---- */

static void test_the_first_failure_stays(void **)
{
    int alive = 0;
    auto handler = [&alive] { return [guest = Guest(alive)](WebSocket, std::string_view) {}; };
    {
        Server server;
        server.webSocket("/a", handler(), {.windowBits = 99});
        assert_int_equal(server.error().code(), UVHTTP_ECONFIG);
        assert_true(holds(server.where(), "99"));
        server.webSocket("/b", handler());
        assert_true(holds(server.where(), "99"));
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
        topics.setAdapter(std::make_unique<Adapter>(Adapter{Guest(adapters), nullptr}));
        assert_int_equal(adapters, 0);
    }
    assert_int_equal(alive, 0);
    Server server;
    server.webSocket("/:a/:a", handler());
    assert_true(bool(server.error()) && holds(server.where(), "/:a/:a"));
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_an_object_for_all),
        cmocka_unit_test(test_an_object_for_each),
        cmocka_unit_test(test_a_message_allocates_nothing),
        cmocka_unit_test(test_messages_for_many),
        cmocka_unit_test(test_messages_that_handlers_keep),
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_topics),
        cmocka_unit_test(test_the_first_failure_stays),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
