/* The server of uvhttp.hpp: captured objects are destroyed exactly once, requests do not allocate,
 * exceptions become responses and do not cross C frames, a Later knows whether its exchange still
 * exists, and the first setup error is kept. Server and client run on one thread, alternately. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>

#include <uv.h>

#include <uvhttp.hpp>
#include <uvhttp/test.hpp>

#include "support/tls_certificate.h"

/* Last, because cmocka defines macros named skip and fail. */
#include "support/hpp_stage.hpp"

using namespace std::string_literals;
using uvhttp::Later;
using uvhttp::Request;
using uvhttp::Response;
using uvhttp::Result;
using uvhttp::Server;
using uvhttp::Stream;

static_assert(std::is_trivially_copyable_v<Request> && sizeof(Request) == sizeof(void *));
static_assert(std::is_trivially_copyable_v<Response> && sizeof(Response) == sizeof(void *));
static_assert(std::is_trivially_copyable_v<Stream> && sizeof(Stream) == sizeof(void *));
static_assert(std::is_nothrow_move_constructible_v<Server> &&
              !std::is_copy_constructible_v<Server>);
static_assert(std::is_nothrow_move_assignable_v<Server>);
static_assert(std::is_nothrow_move_constructible_v<Later> && !std::is_copy_constructible_v<Later>);
static_assert(std::ranges::forward_range<uvhttp::Headers>);
static_assert(std::ranges::input_range<uvhttp::Multipart>);
/* The view of a temporary module cannot be kept. */
static_assert(std::is_convertible_v<uvhttp::RateLimit &, uvhttp::Native> &&
              !std::is_convertible_v<uvhttp::RateLimit, uvhttp::Native>);

/* ---- handlers and their captures ---- */

static Result plain_function(Request, Response res)
{
    return res.sendText(200, "function");
}

static void test_handlers_of_every_signature(void **)
{
    Stage stage;
    int count = 0;
    struct Object {
        std::string text;
        int operator()(Response res) const { return res.sendText(200, text).code(); }
    };
    stage.server->get("/function", plain_function);
    stage.server->get("/pointer", &plain_function);
    stage.server->get("/object", Object{"object"});
    stage.server->get("/mutable", [count](Response res) mutable {
        return res.sendText(200, std::to_string(++count));
    });
    stage.server->get("/reference", [&count](Response res) {
        return res.sendText(200, std::to_string(++count));
    });
    stage.server->get("/void", [](Request, Response res) { (void)res.sendText(200, "void"); });
    stage.server->get("/generic", [](auto req, auto res) { return res.sendText(200, req.path()); });
    stage.server->get("/enum", [](Response) { return UVHTTP_DECLINED; });
    stage.server->get("/next", [](Response) { return uvhttp::next; });
    stage.server->get("/fails", [](Response) { return UVHTTP_ENOMEM; });
    stage.server->get("/c",
                      uvhttp::Native{[](uvhttp_request_t *, uvhttp_response_t *res, void *arg) {
                                         return uvhttp_response_send_text(res, 200,
                                                                          static_cast<char *>(arg));
                                     },
                                     const_cast<char *>("native")});
    stage.listen();
    for (const char *name : {"function", "object", "void"})
        assert_response(stage.request("/"s + name), 200, name);
    assert_response(stage.request("/pointer"), 200, "function");
    assert_response(stage.request("/mutable"), 200, "1");
    assert_response(stage.request("/mutable"), 200, "2");
    assert_int_equal(count, 0);
    assert_response(stage.request("/reference"), 200, "1");
    assert_int_equal(count, 1);
    assert_response(stage.request("/generic"), 200, "/generic");
    assert_response(stage.request("/c"), 200, "native");
    assert_int_equal(stage.request("/enum").status, 404);
    assert_int_equal(stage.request("/next").status, 404);
    assert_int_equal(stage.request("/fails").status, 503);
}

static void test_captures_live_until_server_ends(void **)
{
    int alive = 0;
    {
        Stage stage;
        stage.server->get("/", [tracked = std::make_unique<Tracked>(alive)](Response res) {
            return res.sendText(200, "move-only");
        });
        stage.server->use([tracked = Tracked(alive)](Response) { return uvhttp::next; });
        stage.server->group("/g")
            .use([tracked = Tracked(alive)](Response) { return uvhttp::next; })
            .get("/", [tracked = Tracked(alive)](Response) {});
        stage.server->onFinished(
            [tracked = Tracked(alive)](Request, Response, const uvhttp::Outcome &) {});
        stage.server->onFinished(
            [tracked = Tracked(alive)](Request, Response, const uvhttp::Outcome &) {});
        assert_non_null(stage.server->own(Tracked(alive)));
        assert_int_equal(alive, 7);
        stage.listen();
        for (int i = 0; i < 3; i++)
            assert_response(stage.request("/"), 200, "move-only");
        Server moved = std::move(*stage.server);
        assert_null(stage.server->native());
        *stage.server = std::move(moved);
        assert_response(stage.request("/"), 200, "move-only");
        assert_int_equal(alive, 7);
        stage.end();
        assert_int_equal(alive, 0);
    }
    {
        /* Refused, or after an error: destroyed at once. */
        Server server;
        server.get("wrong", [tracked = Tracked(alive)](Response) {});
        assert_int_equal(alive, 1); /* owned by the server */
        server.get("/right", [tracked = Tracked(alive)](Response) {});
        server.use([tracked = Tracked(alive)](Response) { return uvhttp::next; });
        assert_int_equal(alive, 1);
    }
    assert_int_equal(alive, 0);
    {
        uvhttp::Config config; /* never given to a server */
        config.onLog([tracked = Tracked(alive)](uvhttp_log_level_t, std::string_view) {});
        config.onLog([tracked = Tracked(alive)](uvhttp_log_level_t, std::string_view) {});
        assert_int_equal(alive, 1);
    }
    assert_int_equal(alive, 0);
}

static void test_captures_of_exchange_are_destroyed(void **)
{
    int alive = 0;
    Stage stage;
    stage.server->use([&alive](Request req, Response res) {
        if (req.attach<Tracked>(alive) == nullptr)
            return Result(UVHTTP_ENOMEM);
        Result error = res.onSend([tracked = Tracked(alive)] { assert_true(true); });
        return error ? error : uvhttp::next;
    });
    stage.server->get("/", [&alive](Request req, Response res) {
        assert_non_null(req.attached<Tracked>());
        assert_null(req.attached<int>());
        *req.attach<int>(1) = 5;
        assert_int_equal(*req.attached<int>(), 5);
        assert_non_null(req.attach<Tracked>(alive)); /* replaces the first one */
        assert_int_equal(alive, 2);
        return res.sendPulled(200, nullptr,
                              [tracked = Tracked(alive), left = 3](std::span<char> buffer) mutable {
                                  buffer[0] = 'x';
                                  return uvhttp::Pulled(1, --left > 0 ? Result() : uvhttp::end);
                              });
    });
    stage.server->post("/up",
                       [&alive](Request req) {
                           return req.onBody([tracked = Tracked(alive), size = std::size_t{0}](
                                                 Response res, std::string_view chunk) mutable {
                               size += chunk.size();
                               return chunk.empty() ? res.sendText(200, std::to_string(size))
                                                    : Result();
                           });
                       },
                       {.stream = true});
    stage.listen();
    assert_response(stage.request("/"), 200, "xxx");
    assert_response(stage.request("/up", "", std::string(100000, 'a')), 200, "100000");
    stage.runUntil([&] { return alive == 0; });
    stage.send("POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    stage.runUntil([&] { return alive > 0; });
    raw_client_close(&stage.client, true);
    stage.runUntil([&] { return alive == 0; });
}

/* ---- no allocation ---- */

static void test_request_does_not_allocate(void **)
{
    Stage stage;
    std::string greeting = "hello, ";
    const std::string stored = "stored";
    std::string_view name = "X-View";
    stage.server->use([&greeting](Request req, Response res) {
        if (req.attach<std::size_t>(greeting.size()) == nullptr)
            return Result(UVHTTP_ENOMEM);
        Result error =
            res.onSend([&greeting](Response out) { return out.setHeader("X-Sent", greeting); });
        return error ? error : uvhttp::next;
    });
    stage.server->get("/users/:id",
                      [&, buffer = std::string(200, ' ')](Request req, Response res) mutable {
                          std::size_t fields = 0;
                          for (auto [field, value] : req.headers())
                              fields += !field.empty() && !value.empty();
                          buffer.assign(greeting)
                              .append(req.param("id"))
                              .append(req.query("q").value_or("-"))
                              .append(fields == 3 ? "3" : "?");
                          Result error = res.setHeader(name, stored);
                          return error ? error : res.sendText(200, buffer);
                      });
    stage.server->get("/pieces", [](Response res) {
        if (Result error = res.begin(200, "text/plain"))
            return error;
        for (std::string_view chunk : {"a", "b"}) {
            if (Result error = res.write(chunk))
                return error;
        }
        return res.end();
    });
    stage.server->get("/later", [](Response res) {
        Later later = res.later();
        return later ? later->sendText(200, "later") : Result(UVHTTP_ENOMEM);
    });
    stage.server->post("/up",
                       [](Request req) {
                           return req.onBody([](Response res, std::string_view chunk) {
                               return chunk.empty() ? res.sendText(200, "up") : Result();
                           });
                       },
                       {.stream = true});
    stage.listen();
    const std::string requests = "GET /users/7?q=x HTTP/1.1\r\nHost: h\r\nA: b\r\nC: d\r\n\r\n"
                                 "GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n"
                                 "GET /later HTTP/1.1\r\nHost: h\r\n\r\n"
                                 "POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
    std::size_t before = 0;
    for (int round = 0; round < 120; round++) {
        if (round == 20)
            before = allocations;
        stage.send(requests);
        std::size_t replies = 0;
        while (replies < 4) {
            stage.iterate();
            const std::string_view got(stage.client.data == nullptr ? "" : stage.client.data,
                                       stage.client.received);
            replies = 0;
            for (std::size_t at = 0; (at = got.find("HTTP/1.1 200 OK\r\n", at)) != got.npos; at++)
                replies++;
            replies -= static_cast<std::size_t>(round) * 4;
        }
    }
    assert_int_equal(allocations.load() - before, 0);
    assert_true(contains(stage.received(), "\r\nX-View: stored\r\nX-Sent: hello, \r\n"));
    assert_true(contains(stage.received(), "\r\n\r\nhello, 7x3"));
}

/* ---- exceptions ---- */

static void test_exception_becomes_response(void **)
{
    Stage stage;
    auto raise = [](Request req) -> Result {
        const std::string_view what = req.query("what").value_or("");
        if (what == "memory")
            throw std::bad_alloc();
        if (what == "number")
            throw 5;
        throw std::runtime_error("no luck\n");
    };
    stage.server->get("/handler", raise);
    stage.server->get("/blocking", raise, {.blocking = true});
    stage.server->group("/middleware").use(raise).get("/", [](Response) { fail(); });
    stage.server->get("/send", [&raise](Request req, Response res) {
        Result error = res.onSend([&raise, req, first = true]() mutable {
            return std::exchange(first, false) ? raise(req) : Result();
        });
        return error ? error : res.sendText(200, "never");
    });
    stage.server->get("/work", [](Request req, Response res) {
        return res.defer(
            [what = std::string(req.query("what").value_or(""))] {
                if (what == "memory")
                    throw std::bad_alloc();
                if (what == "number")
                    throw 5;
                throw std::runtime_error("no luck\n");
                return 1;
            },
            [](int) { fail(); });
    });
    stage.server->get("/done", [&raise](Request req, Response res) {
        return res.defer([] {}, [&raise, req] { return raise(req); });
    });
    stage.server->post("/body",
                       [&raise](Request req) {
                           return req.onBody(
                               [&raise, req](std::string_view) { return raise(req); });
                       },
                       {.stream = true});
    stage.server->get("/after", [](Response res) {
        (void)res.sendText(200, "was sent");
        throw std::runtime_error("afterwards");
    });
    stage.server->get("/pull", [&raise](Request req, Response res) {
        return res.sendPulled(200, nullptr,
                              [&raise, req](std::span<char>) { return raise(req).code(); });
    });
    stage.server->onFinished(
        [](Request, Response, const uvhttp::Outcome &) { throw std::runtime_error("finished"); });
    stage.listen();
    struct {
        const char *what;
        int status;
        const char *said;
    } const kinds[] = {
        {"luck", 500, "exception: no luck"},
        {"number", 500, "exception: not a std::exception"},
        {"memory", 503, "UVHTTP_ENOMEM"},
    };
    for (const char *where :
         {"/handler", "/blocking", "/middleware/", "/send", "/work", "/done", "/body"}) {
        const bool post = where == "/body"s;
        for (const auto &kind : kinds) {
            stage.errors.clear();
            const RawResponse reply =
                stage.request(where + "?what="s + kind.what, "", post ? "x" : "");
            if (reply.status != kind.status)
                print_error("%s %s: %d\n", where, kind.what, reply.status);
            assert_int_equal(reply.status, kind.status);
            assert_true(contains(stage.errors, where) && contains(stage.errors, kind.said));
            assert_false(contains(stage.errors, "UVHTTP_EINVAL")); /* a second line */
            stage.connect(); /* unread bodies close the connection */
        }
    }
    stage.errors.clear();
    assert_response(stage.request("/after"), 200, "was sent");
    stage.runUntil([&] {
        return contains(stage.errors, "exception: afterwards") &&
               contains(stage.errors, "exception: finished");
    });
    /* The response has begun: the end of the connection reports the error. */
    stage.send("GET /pull HTTP/1.1\r\nHost: h\r\n\r\n");
    stage.runUntil([&] { return stage.client.ended; });
    assert_false(contains(stage.received(), "\r\n0\r\n"));
}

/* Pipelined requests that wait for each other, until one was shed. */
static void test_never_shed_exempts_requests(void **)
{
    enum { BATCH = 20 };
    Stage stage;
    uvhttp::Config config;
    config->allocator = &counted;
    config->overload_guard = 1;
    config->overload_target_ms = 1;
    config->overload_interval_ms = 10;
    config.onLog([&](uvhttp_log_level_t, std::string_view line) { stage.errors += line; });
    stage.server.emplace(&stage.loop, std::move(config));
    unsigned shed = 0, calls = 0;
    const auto slow = [](Response res) {
        const std::uint64_t until = uv_hrtime() + 2000000;
        while (uv_hrtime() < until)
            ;
        return res.sendText(200, "slow");
    };
    stage.server->neverShed([&calls](Request req) {
        calls++;
        if (req.path() == "/throws")
            throw std::runtime_error("no decision");
        return req.path() == "/important";
    });
    stage.server->get("/slow", slow).get("/important", slow).get("/throws", slow);
    stage.server->get("/probe", slow, {.neverShed = true});
    stage.listen();
    while (shed == 0 || !contains(stage.errors, "no decision")) {
        for (unsigned i = 0; i < BATCH; i++)
            for (const char *path : {"/slow", "/important", "/throws", "/probe"})
                stage.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n");
        for (unsigned i = 0; i < BATCH; i++) {
            shed += stage.response().status == 503;
            assert_int_equal(stage.response().status, 200);
            shed += stage.response().status == 503;
            assert_int_equal(stage.response().status, 200);
        }
    }
    assert_int_equal(stage.server->stats().shed_requests, shed);
    assert_true(calls >= shed);
}

static void logged_failure_replaces_line_of_server(void **)
{
    Stage stage;
    auto refuse = [](Response res) -> Result {
        res.logFailure("the database is locked");
        return UVHTTP_EINVAL;
    };
    stage.server->get("/reason", refuse).get("/blocking", refuse, {.blocking = true});
    stage.server->get("/none", [](Response) -> Result { return UVHTTP_EINVAL; });
    stage.listen();
    for (const char *path : {"/reason", "/blocking"}) {
        stage.errors.clear();
        assert_int_equal(stage.request(path).status, 500);
        assert_true(contains(stage.errors, "the database is locked\n"));
        assert_false(contains(stage.errors, "UVHTTP_EINVAL"));
    }
    assert_int_equal(stage.request("/none").status, 500);
    assert_true(contains(stage.errors, "/none failed: UVHTTP_EINVAL\n"));
}

static void test_pull_functions_return_sizes_and_results(void **)
{
    Stage stage;
    stage.server->get("/again", [](Response res) {
        return res.sendPulled(
            200, nullptr,
            [left = 4](Response out, std::span<char> buffer) mutable -> uvhttp::Pulled {
                if (left-- == 0)
                    return uvhttp::end;
                if (left == 2) {
                    out.resumePull();
                    return uvhttp::again;
                }
                buffer[0] = 'x';
                return 1;
            });
    });
    stage.server->get("/fail", [](Response res) {
        return res.sendPulled(200, nullptr,
                              [](std::span<char>) -> uvhttp::Pulled { return UVHTTP_ETRUNCATED; });
    });
    stage.server->get("/size", [](Response res) {
        return res.sendPulled(200, nullptr,
                              [](std::span<char> buffer) { return buffer.size() + 1; });
    });
    stage.listen();
    assert_response(stage.request("/again"), 200, "xxx");
    stage.send("GET /fail HTTP/1.1\r\nHost: h\r\n\r\n");
    stage.runUntil([&] { return stage.client.ended; });
    assert_true(contains(stage.errors, "UVHTTP_ETRUNCATED"));
    stage.connect();
    stage.send("GET /size HTTP/1.1\r\nHost: h\r\n\r\n");
    stage.runUntil([&] { return stage.client.ended; });
    assert_true(contains(stage.errors, "more bytes than fit into the buffer"));
}

/* ---- texts ---- */

static void test_texts_need_no_nul(void **)
{
    Stage stage;
    const std::string large(5000, 'l');
    stage.server->get("/", [&large](Request req, Response res) -> Result {
        const std::string_view with_nul("a\0b", 3);
        /* not followed by a NUL */
        const std::string_view part = std::string_view("X-Partial").substr(0, 6);
        assert_true(res.setHeader(part, std::string_view("value!").substr(0, 5)) == 0);
        assert_true(res.header("x-part") == "value");
        assert_true(res.header(part) == "value");
        assert_true(res.setHeader("X-Nul", with_nul) == UVHTTP_EHEADER);
        assert_true(res.setHeader("X-Nul", std::string(with_nul)) == UVHTTP_EHEADER);
        assert_true(res.setHeader(with_nul, "x") == UVHTTP_EHEADER);
        assert_true(res.setHeader("X-Line", "a\r\nb: c") == UVHTTP_EHEADER);
        assert_true(res.setCookie({.name = with_nul}) == UVHTTP_EHEADER);
        assert_true(res.setCookie({.name = "", .value = "x"}) == UVHTTP_EHEADER);
        assert_true(res.redirect(302, with_nul) == UVHTTP_EINVAL);
        assert_true(res.sendFile(200, with_nul) == UVHTTP_EINVAL);
        assert_true(res.send(200, with_nul, "x") == UVHTTP_EINVAL);
        assert_false(res.header("X-Nul").has_value());
        assert_false(res.header(with_nul).has_value());
        assert_false(req.header(with_nul).has_value());
        assert_null(req.param("none").data());
        assert_true(res.setHeader("X-Large", std::string_view(large)) == 0);
        assert_true(res.addHeader("X-Two", "1") == 0 && res.addHeader("X-Two", "2") == 0);
        assert_true(res.addHeader("X-Gone", "1") == 0);
        res.removeHeader("X-Gone");
        assert_true(res.setCookie({.name = "id",
                                   .value = std::string_view(large).substr(0, 200),
                                   .path = "/",
                                   .maxAge = 5,
                                   .secure = true,
                                   .httpOnly = true,
                                   .sameSite = UVHTTP_SAME_SITE_STRICT}) == 0);
        return res.sendOwned(200, "text/x", large);
    });
    stage.listen();
    const RawResponse reply = stage.request("/");
    assert_response(reply, 200, large);
    for (std::string_view line :
         {"\r\nX-Part: value\r\n", "\r\nX-Two: 1\r\nX-Two: 2\r\n", "; Path=/", "; Max-Age=5",
          "; Secure", "; HttpOnly", "; SameSite=Strict", "\r\nContent-Type: text/x\r\n"})
        assert_true(contains(reply.head, line));
    assert_true(contains(reply.head, "X-Large: " + large + "\r\n"));
    assert_true(contains(reply.head, "\r\nSet-Cookie: id=" + large.substr(0, 200) + ";"));
    assert_false(contains(reply.head, "X-Nul") || contains(reply.head, "X-Gone"));
}

static void test_patterns_have_types_and_suffixes(void **)
{
    Stage stage;
    stage.server->get("/a/:id(int)", [](Request req, Response res) {
        return res.sendText(200, "int " + std::string(req.param("id")));
    });
    stage.server->get("/a/:id.json", [](Request req, Response res) {
        return res.sendText(200, "json " + std::string(req.param("id")));
    });
    stage.listen();
    assert_response(stage.request("/a/17"), 200, "int 17");
    assert_response(stage.request("/a/x.json"), 200, "json x");
    assert_int_equal(stage.request("/a/x").status, 404);
    uvhttp::Server other;
    other.get("/a/{id}", [](Response res) { return res.sendStatus(200); });
    assert_true(other.error() == UVHTTP_EROUTE);
    assert_string_equal(other.details().reason, "a parameter is written :id, not {id} or <id>");
}

static void test_requests_need_no_port(void **)
{
    uvhttp::Server server;
    server.post("/a/:name", [](Request req, Response res) {
        if (Result error = res.setHeader("X-Got", req.header("X-Sent").value_or("none")))
            return error;
        return res.sendText(201, std::string(req.param("name")).append(req.body()));
    });
    server.get("/events", [](Response res) {
        Result error = res.beginEvents();
        return error ? error : res.sendEvent({.data = "hello"});
    });
    const uvhttp::TestResponse response = uvhttp::testRequest(
        server, {.target = "/a/b", .headers = {"X-Sent: yes"}, .body = std::string_view("c\0", 2)});
    assert_true(response.error() == 0);
    assert_int_equal(response.status(), 201);
    assert_true(response.body() == std::string_view("bc\0", 3));
    assert_true(response.header("x-got") == "yes");
    assert_false(response.header("X-Absent").has_value());
    assert_true(response.head().starts_with("HTTP/1.1 201 Created\r\n"));
    assert_int_equal(uvhttp::testRequest(server).status(), 404);
    assert_int_equal(uvhttp::testRequest(server, {.target = "/a/b"}).status(), 405);
    assert_true(uvhttp::testRequest(server, {.target = "/events", .stopAfter = 5})
                    .body()
                    .starts_with("data: hello"));
    const uvhttp::TestResponse invalid = uvhttp::testRequest(server, {.target = "a b"});
    assert_true(invalid.error() == UVHTTP_EINVAL);
    assert_true(invalid.status() == 0 && invalid.body().empty() && invalid.head().empty());
    assert_false(invalid.header("Date").has_value());
}

static void test_text_functions_return_strings(void **)
{
    assert_true(uvhttp::isMediaType("Application/JSON; a=b", "application/json"));
    assert_false(uvhttp::isMediaType("application/jsonfoo", "application/json +json"));
    assert_false(uvhttp::isMediaType({}, "*/*"));
    assert_true(uvhttp::percentEncode("a b/\xc3\xa4") == "a%20b%2F%C3%A4");
    assert_true(uvhttp::percentEncode({}).empty());
    assert_true(uvhttp::htmlEscape("<b>") == "&lt;b&gt;");
    assert_true(uvhttp::contentDisposition("a.txt") == "attachment; filename=\"a.txt\"");
    assert_true(uvhttp::contentDisposition("a.txt", "inline") == "inline; filename=\"a.txt\"");
    assert_true(uvhttp::base64Encode("\xfb\xff") == "+/8=");
    assert_true(uvhttp::base64UrlEncode("\xfb\xff") == "-_8");
    assert_true(uvhttp::base64Decode("+/8=") == "\xfb\xff");
    assert_true(uvhttp::base64UrlDecode("-_8") == "\xfb\xff");
    assert_false(uvhttp::base64Decode("-_8").has_value());
    /* from secret.h, which uvhttp.hpp includes */
    assert_true(uvhttp_equal_constant_time("a", 1, "a", 1));
}

/* ---- accessors of requests ---- */

static void test_request_accessors_return_values(void **)
{
    Stage stage;
    bool checked = false;
    stage.server->put("/users/:id/*rest", [&checked](Request req, Response res) {
        assert_int_equal(req.method(), UVHTTP_METHOD_PUT);
        assert_true(req.methodName() == "PUT");
        assert_true(req.target() == "/users/a%2Fb/c/d?x=1&y=a+b&x=%32");
        assert_true(req.path() == "/users/a%2Fb/c/d" && req.rawPath() == "/users/a%2Fb/c/d");
        assert_true(req.queryString() == "x=1&y=a+b&x=%32");
        assert_true(req.param("id") == "a/b" && req.paramPath("id") == "a%2Fb" &&
                    req.param("rest") == "c/d");
        assert_true(req.query("x") == "1" && req.query("y") == "a b" && !req.query("z"));
        assert_true(req.cookie("k") == "v" && !req.cookie("none"));
        assert_true(req.header("HOST") == "h" && req.field(UVHTTP_FIELD_HOST) == "h");
        assert_true(!req.field(UVHTTP_FIELD_REFERER) && !req.header("Referer"));
        assert_true(req.form("f") == "1 2" && !req.form("g") && !req.trailer("t"));
        assert_true(req.body() == "f=1+2&f=%33");
        assert_int_equal(req.httpMinor(), 1);
        assert_true(req.clientAddress() == "127.0.0.1");
        assert_false(req.offersUpgrade("websocket"));
        std::string all;
        for (auto [name, value] : req.queryPairs())
            ((all += name) += '=') += std::string(value) + ";";
        for (auto [name, value] : req.formFields())
            ((all += name) += '=') += std::string(value) + ";";
        for (auto [name, value] : req.headers())
            ((all += name) += ':') += std::string(value) + ";";
        assert_string_equal(all.c_str(),
                            "x=1;y=a b;x=2;f=1 2;f=3;Host:h;Cookie:k=v;"
                            "Content-Type:application/x-www-form-urlencoded;Content-Length:11;");
        assert_int_equal(req.headers().size(), 4);
        assert_ptr_equal(req.response().native(), res.native());
        assert_ptr_equal(res.request().native(), req.native());
        checked = true;
        return res.sendStatus(204);
    });
    stage.listen();
    stage.send(
        "PUT /users/a%2Fb/c/d?x=1&y=a+b&x=%32 HTTP/1.1\r\nHost: h\r\nCookie: k=v\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n\r\nf=1+2&f=%33");
    stage.runUntil([&] { return checked; });
    assert_true(stage.errors.empty());
}

static void test_multipart_is_iterated(void **)
{
    Stage stage;
    stage.server->post("/", [](Request req, Response res) {
        std::string all;
        uvhttp::Multipart form = req.multipart();
        for (const uvhttp::Part &part : form) {
            ((all += part.name) += '|') +=
                part.filename.data() == nullptr ? "-" : std::string(part.filename);
            (((all += '|') += part.type) += '|') += part.data;
            all += ";";
        }
        if (form.status() != 0)
            return res.sendText(form.status(), form.text());
        return res.sendText(200, all);
    });
    stage.listen();
    const std::string type = "Content-Type: multipart/form-data; boundary=b\r\n";
    auto part = [](const std::string &more, const std::string &data) {
        return "--b\r\nContent-Disposition: form-data; name=" + more + "\r\n\r\n" + data + "\r\n";
    };
    const std::string awkward = "--\r\n\r\n--\r\n--x";
    assert_response(stage.request("/", type,
                                  part("a", "one") + part("e", "") +
                                      part("f; filename=x.txt\r\nContent-Type: text/y", awkward) +
                                      part("d", "--c") + "--b--\r\n"),
                    200, "a|-||one;e|-||;f|x.txt|text/y|" + awkward + ";d|-||--c;");
    assert_response(stage.request("/", type, part("a", "one")), 400,
                    "the body ends before the closing delimiter");
    assert_response(stage.request("/", "Content-Type: text/plain\r\n", "x"), 415,
                    "the body is not multipart/form-data");
}

/* ---- later ---- */

static void test_later_detects_end_of_exchange(void **)
{
    int alive = 0, aborted = 0;
    std::vector<Later> pending;
    Stage stage;
    auto wait_for = [&](std::string_view target) {
        pending.clear();
        stage.send("GET "s.append(target).append(" HTTP/1.1\r\nHost: h\r\n\r\n"));
        stage.runUntil([&] { return pending.size() == 1; });
    };
    stage.server->get("/keep", [&](Response res) {
        pending.push_back(res.later([&aborted, tracked = Tracked(alive)] { aborted++; }));
        return pending.back() ? 0 : int{UVHTTP_ENOMEM};
    });
    stage.server->get("/drop", [](Response res) { Later forgotten = res.later(); });
    stage.server->get("/begun", [&](Response res) {
        Later later = res.later();
        Result error = res.begin(200, "text/plain");
        return error ? error : later->write("a part");
    });
    stage.server->use([&](Request req, Response res) {
        if (!req.query("hold"))
            return uvhttp::next;
        pending.push_back(res.later());
        return Result();
    });
    stage.listen();

    wait_for("/keep");
    Later moved = std::move(pending.front());
    assert_false(bool(pending.front()));
    assert_true(bool(moved));
    assert_true(moved->sendText(200, "at last") == 0);
    assert_response(stage.response(), 200, "at last");
    stage.runUntil([&] { return alive == 0; });
    assert_false(bool(moved)); /* the exchange has ended, and Later knows it */

    /* Without a response the server sends one. */
    assert_int_equal(stage.request("/drop").status, 500);
    assert_response(stage.request("/begun"), 200, "a part");

    /* Assignment gives up the pending exchange. */
    wait_for("/keep");
    pending.front() = Later();
    assert_int_equal(stage.response().status, 500);
    assert_int_equal(aborted, 0);

    /* A middleware that decides later. */
    wait_for("/drop?hold");
    assert_true(pending.front().release().proceed() == 0);
    assert_false(bool(pending.front()));
    assert_int_equal(stage.response().status, 500);

    /* The client disconnects. */
    wait_for("/keep");
    assert_true(bool(pending.front()) && alive == 1);
    raw_client_close(&stage.client, true);
    stage.runUntil([&] { return aborted == 1; });
    assert_false(bool(pending.front()));
    stage.runUntil([&] { return alive == 0; });
    assert_int_equal(aborted, 1);

    /* The server ends. */
    stage.connect();
    wait_for("/keep");
    stage.end();
    assert_int_equal(aborted, 2);
    assert_int_equal(alive, 0);
    assert_false(bool(pending.front()));
}

static void test_defer_runs_work_on_threads(void **)
{
    int alive = 0;
    Stage stage;
    std::thread::id worker;
    stage.server->get("/value", [&](Response res) {
        return res.defer(
            [&worker, tracked = Tracked(alive), text = std::make_unique<std::string>("move-only")] {
                worker = std::this_thread::get_id();
                return std::make_unique<std::string>(*text + " result");
            },
            [tracked = Tracked(alive)](Response later, std::unique_ptr<std::string> text) {
                return later.sendText(200, *text);
            });
    });
    stage.server->get("/nothing", [](Response res) {
        return res.defer([] {}, [](Response later) { return later.sendText(200, "done"); });
    });
    stage.server->get("/heavy", [](Response res) {
        return res.deferHeavy(
            [server = uvhttp_request_server(res.request().native())] {
                uvhttp_stats_t stats;
                return uvhttp_server_read_stats(server, &stats) == 0 &&
                       stats.heavy_jobs.running == 1 && stats.quick_jobs.running == 0;
            },
            [](Response later, bool heavy) {
                return later.sendText(200, heavy ? "heavy" : "quick");
            });
    });
    stage.listen();
    assert_response(stage.request("/heavy"), 200, "heavy");
    assert_response(stage.request("/value"), 200, "move-only result");
    assert_true(worker != std::thread::id() && worker != std::this_thread::get_id());
    stage.runUntil([&] { return alive == 0; });
    assert_response(stage.request("/nothing"), 200, "done");
}

static void test_blocking_handler_runs_on_thread(void **)
{
    std::atomic<int> alive = 0;
    struct Counted {
        explicit Counted(std::atomic<int> &count) : count_(count) { count_++; }
        Counted(const Counted &) = delete;
        Counted &operator=(const Counted &) = delete;
        ~Counted() { count_--; }
        std::atomic<int> &count_;
    };
    Stage stage;
    stage.server->get(
        "/",
        [loop = std::this_thread::get_id(), &alive](Request req, Response res) -> Result {
            if (std::this_thread::get_id() == loop || !req.isBlocking() ||
                req.attach<Counted>(alive) == nullptr)
                return UVHTTP_EINVAL;
            const std::string_view name("X-Name+", 6); /* the name is copied */
            if (Result error = res.setHeader(name, "blocks"))
                return error;
            return res.sendOwned(200, "text/plain", std::string(10000, 'b'));
        },
        {.blocking = true});
    stage.listen();
    const RawResponse reply = stage.request("/");
    assert_response(reply, 200, std::string(10000, 'b'));
    assert_true(contains(reply.head, "\r\nX-Name: blocks\r\n"));
    stage.runUntil([&] { return alive == 0; });
}

static void blocking_files_route_is_refused(void **)
{
    const uvhttp::Files files({.root = UVHTTP_TESTS_DIR "/../examples/site", .uploads = true});
    for (bool group : {false, true}) {
        uvhttp::Config config;
        config.onLog([](uvhttp_log_level_t, std::string_view) {});
        Server server(std::move(config));
        if (group)
            server.host("files.example").group("/g").get("/files/*", files, {.blocking = true});
        else
            server.get("/files/*", files, {.blocking = true});
        assert_true(server.error() == UVHTTP_EINVAL);
        assert_true(contains(server.where(), "/files/*"));
    }
    Server server;
    server.put("/files/*", files.uploads(), {.blocking = true});
    assert_true(server.error() == UVHTTP_EINVAL);
}

static void peer_end_is_reported(void **)
{
    Stage stage;
    int ends = 0, aborts = 0;
    Later kept;
    stage.server->get("/", [&](Response res) -> Result {
        if (Result error = res.onPeerEnd([&ends, res] {
                ends += res.peerEnded() ? 1 : 100;
                return UVHTTP_EDISCONNECTED;
            }))
            return error;
        kept = res.later([&aborts] { aborts++; });
        return 0;
    });
    stage.listen();
    stage.connect();
    raw_client_send_text(&stage.client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_client_step(&stage.client, 1000);
    raw_client_close(&stage.client, false);
    stage.runUntil([&] { return aborts > 0; });
    assert_int_equal(ends, 1);
    assert_false(static_cast<bool>(kept));
}

static void test_bodies_trailers_and_events_are_sent(void **)
{
    Stage stage;
    int drained = 0;
    stage.server->get("/", [&drained](Response res) {
        const std::string chunk(100000, 'p');
        if (Result error = res.begin(200, "text/plain"))
            return error;
        Result error = res.onDrain([&drained](Response out) {
            drained++;
            return out.end();
        });
        while (!error)
            error = res.write(chunk);
        return error == UVHTTP_EFULL ? Result() : error;
    });
    stage.server->get("/trailer", [](Response res) {
        Result error = res.begin(200, "text/plain");
        if (!error)
            error = res.addTrailer("X-End", std::string_view("yes!").substr(0, 3));
        if (!error)
            error = res.write("body");
        return error ? error : res.end();
    });
    stage.server->get("/events", [](Response res) {
        Result error = res.beginEvents();
        if (!error)
            error = res.sendEvent({.id = "1",
                                   .event = "e",
                                   .data = "a\nb",
                                   .comment = "c",
                                   .retry = std::chrono::milliseconds(5)});
        if (!error)
            error = res.sendEvent({.comment = ""});
        return error ? error : res.end();
    });
    stage.listen();
    const RawResponse large = stage.request("/");
    assert_int_equal(large.status, 200);
    assert_true(large.body.size() >= 200000 && large.body == std::string(large.body.size(), 'p'));
    assert_int_equal(drained, 1);
    stage.connect();
    stage.request("/trailer");
    assert_true(contains(stage.client.data, "\r\n0\r\nX-End: yes\r\n\r\n"));
    const RawResponse events = stage.request("/events");
    for (std::string_view line :
         {"id: 1\n", "event: e\n", "data: a\n", "data: b\n", ": c\n", "retry: 5\n"})
        assert_true(contains(events.body, line));
}

/* ---- streams ---- */

struct Echo {
    Tracked tracked;
    std::string *trace;

    void opened(Stream stream)
    {
        *trace += "opened ";
        assert_true(stream.write("hi ", "there ") == 0);
    }
    void data(Stream stream, std::string_view bytes)
    {
        if (bytes == "throw")
            throw std::runtime_error("data");
        if (bytes == "close") {
            stream.close();
            *trace += "behind "; /* the object still exists */
            return;
        }
        if (bytes == "timer")
            assert_true(stream.setTimer(std::chrono::milliseconds(1)) == 0);
        else if (bytes.empty())
            stream.end();
        else
            assert_true(stream.write(bytes) == 0);
    }
    void timer(Stream stream)
    {
        *trace += "timer ";
        assert_true(stream.write("tick") == 0);
    }
    void stopping(Stream stream)
    {
        *trace += "stopping ";
        assert_true(stream.write("bye") == 0);
        stream.end();
    }
    void closed() { *trace += "closed "; }
};

/* Overwrites the received bytes. */
struct Reverse {
    Tracked tracked;

    void data(Stream stream, std::span<char> bytes)
    {
        std::reverse(bytes.begin(), bytes.end());
        /* without a timer function */
        assert_true(stream.setTimer(std::chrono::milliseconds(1)) == UVHTTP_EINVAL);
        if (bytes.empty())
            stream.end();
        else
            assert_true(stream.write(std::string_view(bytes.data(), bytes.size())) == 0);
    }
};

static const char upgrade[] =
    " HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";

static void test_stream_callbacks_are_called(void **)
{
    int alive = 0;
    std::string trace;
    Stage stage;
    auto echo = [&](Response res) { return res.upgrade("echo", Echo{Tracked(alive), &trace}); };
    stage.server->get("/echo", echo, {.upgrade = "echo"});
    stage.server->get("/function", [&alive](Response res) {
        return res.upgrade("echo", [tracked = Tracked(alive),
                                    count = 0](Stream stream, std::string_view bytes) mutable {
            if (bytes.empty())
                stream.close();
            else
                assert_true(stream.write(std::to_string(++count)) == 0);
        });
    });
    stage.server->get("/reverse", [&alive](Response res) {
        return res.upgrade("echo", Reverse{Tracked(alive)});
    });
    stage.server->get("/upper", [&alive](Response res) {
        return res.upgrade(
            "echo", [tracked = Tracked(alive)](Stream stream, std::span<char> bytes) {
                if (bytes.empty())
                    return stream.end();
                bytes[0] = 'X';
                assert_true(stream.write(std::string_view(bytes.data(), bytes.size())) == 0);
            });
    });
    stage.server->get("/refused", echo);
    stage.listen();
    std::size_t seen = 0;
    auto rest = [&] { return stage.received().substr(seen); };
    auto open = [&](const char *path, std::string_view first) {
        stage.connect();
        stage.send("GET "s + path + upgrade);
        const std::string end = "\r\n\r\n"s.append(first);
        stage.runUntil([&] {
            return contains(stage.received(), "101 Switching") && contains(stage.received(), end);
        });
        assert_int_equal(alive, 1);
        seen = stage.received().size();
    };
    auto over = [&](const char *expected) {
        stage.runUntil([&] { return stage.client.ended && alive == 0; });
        assert_string_equal(trace.c_str(), expected);
        trace.clear();
    };
    open("/echo", "hi there ");
    stage.send("abc");
    stage.runUntil([&] { return rest() == "abc"; });
    raw_client_end_sending(&stage.client);
    over("opened closed ");

    open("/echo", "hi there ");
    stage.send("close");
    over("opened closed behind ");

    open("/echo", "hi there ");
    stage.send("timer");
    stage.runUntil([&] { return rest() == "tick"; });
    raw_client_end_sending(&stage.client);
    over("opened timer closed ");

    for (const char *path : {"/reverse", "/upper"}) {
        open(path, "");
        stage.send("abc");
        stage.runUntil([&] { return rest() == (path == "/upper"s ? "Xbc" : "cba"); });
        raw_client_end_sending(&stage.client);
        over("");
    }

    open("/echo", "hi there ");
    stage.send("throw");
    over("opened closed ");

    open("/function", "");
    stage.send("x");
    stage.runUntil([&] { return rest() == "1"; });
    raw_client_end_sending(&stage.client);
    over("");

    stage.connect();
    /* the client does not offer the protocol: UVHTTP_EINVAL */
    assert_int_equal(stage.request("/refused").status, 500);
    assert_int_equal(stage.request("/echo").status, 426);
    assert_int_equal(alive, 0);
    assert_string_equal(trace.c_str(), "");

    open("/echo", "hi there ");
    stage.server->stop();
    stage.runUntil([&] { return rest() == "bye"; });
    raw_client_end_sending(&stage.client);
    over("opened stopping closed ");
}

/* ---- setup ---- */

static void test_null_text_is_an_error(void **)
{
    const char *const null = nullptr;
    const uvhttp::Files files({.root = UVHTTP_TESTS_DIR "/../examples/site"});
    const uvhttp::Files missing({.root = "/nowhere/at/all"});
    auto refused = [](auto &&call) {
        Server server;
        call(server);
        assert_true(bool(server.error()));
    };
    refused([&](Server &server) { server.files(null, {.root = "."}); });
    refused([&](Server &server) { server.files(null, files); });
    refused([&](Server &server) { server.files(null, missing); });
    refused([&](Server &server) { server.group(null); });
    refused([&](Server &server) { server.host(null); });
    refused([&](Server &server) { server.get(null, plain_function); });
    refused([&](Server &server) { server.status(null); });
    refused([&](Server &server) { server.status(std::string_view("/a\0b", 4)); });
    refused([&](Server &server) { server.set(null, "1"); });
    refused([&](Server &server) { server.listen(null, 0); });
    refused([&](Server &server) { server.listenUnix(null); });
    refused(
        [&](Server &server) { server.readyCheck(null, []() -> const char * { return nullptr; }); });
}

static void test_first_setup_error_is_kept(void **)
{
    {
        Server server;
        assert_false(bool(server.error()));
        server.get("/a", plain_function)
            .get("/:a/:a", plain_function)
            .get("no slash", plain_function);
        server.listen("nowhere", 1);
        assert_true(server.error() == UVHTTP_EROUTE);
        assert_string_equal(server.where(), "GET /:a/:a");
        assert_string_equal(server.error().name(), "UVHTTP_EROUTE");
        assert_true(server.run() == UVHTTP_EROUTE);
        assert_int_equal(server.port(), 0);
    }
    {
        Server server;
        server.listen("nowhere", 80);
        assert_string_equal(server.where(), "nowhere port 80");
        assert_true(server.run() == UVHTTP_EINVAL);
    }
    {
        Server server;
        uvhttp::Router group = server.group("wrong");
        assert_null(group.native());
        group.get("/", plain_function);
        assert_string_equal(server.where(), "group wrong");
        assert_true(server.error() == UVHTTP_EROUTE);
    }
    {
        Server server;
        server.host("bad host");
        assert_string_equal(server.where(), "host bad host");
    }
    {
        Server server;
        server.any("/", plain_function).any("/", plain_function);
        assert_true(server.error() == UVHTTP_ECONFLICT);
        assert_string_equal(server.where(), "/");
    }
    {
        Server server;
        server.files("/", {.root = "/nowhere/at/all"});
        assert_true(server.error() == UV_ENOENT);
        assert_string_equal(server.where(), "files /");
        assert_string_equal(server.details().text,
                            "root is \"/nowhere/at/all\"; no such file or directory");
        assert_int_equal(server.details().code, UV_ENOENT);
        assert_string_equal(server.details().field, "root");
        assert_string_equal(server.details().value, "/nowhere/at/all");
        assert_string_equal(server.details().reason, "no such file or directory");
    }
    {
        Server server;
        server.get(std::string_view("/a\0b", 4), plain_function);
        assert_true(server.error() == UVHTTP_EINVAL);
    }
    {
        uvhttp::Config config;
        config->max_connections = 0;
        std::string logged;
        config.onLog([&logged](uvhttp_log_level_t, std::string_view message) { logged = message; });
        Server server(std::move(config));
        server.listen("127.0.0.1", 0);
        assert_true(server.error() == UVHTTP_ECONFIG);
        assert_true(contains(logged, "max_connections"));
    }
    {
        const uvhttp::RateLimit invalid({.requests = 0});
        assert_true(invalid.error() == UVHTTP_ECONFIG);
        Server server;
        server.use(invalid);
        assert_true(server.error() == UVHTTP_ECONFIG);
        assert_string_equal(server.where(), "rate limit");
        assert_string_equal(server.details().text, invalid.details().text);
    }
    {
        const uvhttp::AccessLog invalid({.path = "/nowhere/at/all"});
        Server server;
        server.onFinished(invalid);
        assert_true(server.error() == UV_ENOENT);
    }
}

static void test_server_without_memory_fails(void **)
{
    out_of_memory = true;
    uvhttp::Config config;
    config->allocator = &counted;
    config.onLog([](uvhttp_log_level_t, std::string_view) {});
    Server server(std::move(config));
    server.get("/", plain_function)
        .files("/", {.root = "."})
        .onStopping([] {})
        .onStopped([] {})
        .stopOnSignals();
    uvhttp::Router group = server.group("/x");
    group.use([](Response) { return uvhttp::next; })
        .get("/", plain_function)
        .slash(UVHTTP_SLASH_IGNORE);
    server.host("h").eachRoute([](const uvhttp_route_info_t &) { fail(); });
    assert_true(server.error() == UVHTTP_ENOMEM && server.run() == UVHTTP_ENOMEM);
    assert_string_equal(server.where(), "server");
    assert_int_equal(server.stats().total_requests, 0);
    server.stop();
    out_of_memory = false;
}

static void test_server_runs_own_loop(void **)
{
    Server server;
    server.get("/", [&server](Response res) {
        server.stop();
        return res.sendText(200, "last");
    });
    int stopped = 0;
    server.onStopping([&stopped] { assert_int_equal(stopped, 0); })
        .onStopped([&stopped] { stopped++; })
        .listen("127.0.0.1", 0)
        .listen("127.0.0.1", 0);
    raw_client client;
    raw_client_connect(&client, server.port(), 0);
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    while (client.out_sent < client.out_length)
        raw_client_step(&client, 0);
    assert_true(server.run() == 0);
    while (!client.ended)
        raw_client_step(&client, 1000);
    assert_true(contains(client.data, "last"));
    raw_client_close(&client, false);
    assert_int_equal(stopped, 1);
    assert_int_equal(server.stats().total_requests, 1);
}

static void test_server_is_destroyed_in_on_stopped(void **)
{
    int alive = 0;
    bool called = false;
    Stage stage;
    stage.server->get("/",
                      [tracked = Tracked(alive)](Response res) { return res.sendText(200, "x"); });
    stage.server->onStopped([&, tracked = Tracked(alive)] {
        stage.server.reset();
        called = alive > 0; /* the running function still exists */
    });
    stage.listen();
    assert_response(stage.request("/"), 200, "x");
    stage.server->stop();
    stage.runUntil([&] { return called; });
    assert_int_equal(alive, 0);
}

static void test_destroyed_server_cancels_on_stopped(void **)
{
    int alive = 0, called = 0;
    Stage stage;
    stage.server->get("/", [](Response res) { return res.sendText(200, "x"); });
    stage.server->onStopped([&, tracked = Tracked(alive)] {
        called++;
        stage.server.reset();
    });
    stage.listen();
    assert_response(stage.request("/"), 200, "x");
    stage.server->stop();
    stage.server.reset();
    stage.runUntil([&] { return alive == 0; });
    assert_int_equal(called, 0);
}

static void test_hosts_groups_and_route_list_work(void **)
{
    Stage stage;
    stage.server->slash(UVHTTP_SLASH_IGNORE);
    stage.server->host("a.example").get("/", [](Response res) { return res.sendText(200, "a"); });
    uvhttp::Router api = stage.server->group("/api").use([](Response res) {
        Result error = res.setHeader("X-Api", "1");
        return error ? error : uvhttp::next;
    });
    api.group("/v1").post("/x", [](Response res) { return res.sendText(201, "x"); },
                          {.maxBody = 3, .handlerTimeout = 9, .timeoutStatus = 504});
    api.patch("/x", plain_function).put("/x", plain_function).del("/x", plain_function);
    std::string list;
    stage.server->eachRoute([&list](const uvhttp_route_info_t &route) {
        list.append(route.method).append(" ").append(route.pattern).append(" ");
        list.append(std::to_string(route.handler_timeout)).append(";");
    });
    assert_string_equal(list.c_str(),
                        "GET / 0;POST /api/v1/x 9;PATCH /api/x 0;PUT /api/x 0;DELETE /api/x 0;");
    stage.server->metrics("/metrics");
    std::string reason;
    stage.server->health().readyCheck("queue", [&reason]() -> const char * {
        if (reason == "thrown")
            throw std::runtime_error(reason);
        return reason.empty() ? nullptr : reason.c_str();
    });
    assert_false(stage.server->isFrozen() || api.isFrozen());
    stage.listen();
    assert_true(stage.server->isFrozen() && api.isFrozen());
    const RawResponse reply = stage.request("/api/v1/x/", "", "abc");
    assert_response(reply, 201, "x");
    assert_true(contains(reply.head, "\r\nX-Api: 1\r\n"));
    assert_int_equal(stage.request("/api/v1/x", "", "abcd").status, 413);
    stage.connect();
    stage.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert_response(stage.response(), 200, "a");
    assert_int_equal(stage.request("/").status, 404);
    assert_true(contains(stage.request("/metrics").body, "\nuvhttp_requests_total "));
    assert_response(stage.request("/healthz"), 200, "alive\n");
    assert_response(stage.request("/readyz"), 200, "ready\n");
    reason = "full";
    assert_response(stage.request("/readyz"), 503, "not ready: queue: full\n");
    reason = "thrown";
    assert_int_equal(stage.request("/readyz").status, 503);
}

static void test_reload_replaces_routes(void **)
{
    Stage stage;
    const auto released = std::make_shared<int>(0), kept = std::make_shared<int>(0);
    stage.server->get("/", [released](Response res) { return res.sendText(200, "old"); });
    stage.server->readyCheck("x", [kept]() -> const char * { return nullptr; });
    stage.server->onStopping([kept] {}).onStopped([kept] {}).onSignal(SIGUSR2, [kept] {});
    assert_non_null(stage.server->keep(kept));
    stage.listen();
    assert_response(stage.request("/"), 200, "old");
    assert_int_equal(released.use_count(), 2);
    assert_true(stage.server->reload([](Server &server) {
        server.get("/", [](Response res) { return res.sendText(200, "new"); });
    }) == 0);
    assert_response(stage.request("/"), 200, "new");
    assert_int_equal(released.use_count(), 1); /* the handler is destroyed with its set-up */
    assert_int_equal(kept.use_count(), 6);     /* these belong to the server */
    const auto failed = stage.server->reload([&released](Server &server) {
        server.get("/", [released](Response res) { return res.sendText(200, "wrong"); });
        server.get("x", [](Response res) { return res.sendText(200, ""); });
    });
    assert_false(!failed);
    assert_true(contains(stage.server->details().text, "\"x\""));
    assert_int_equal(released.use_count(), 1);
    bool thrown = false;
    try {
        (void)stage.server->reload([](Server &server) {
            server.get("x", [](Response res) { return res.sendText(200, ""); });
            throw std::runtime_error("no file");
        });
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    assert_true(thrown);
    assert_true(!stage.server->error()); /* or later calls would do nothing */
    assert_response(stage.request("/"), 200, "new");
}

static void test_drain_has_times_and_a_result(void **)
{
    Stage stage;
    stage.server->get("/", [](Response res) { return res.sendText(200, "x"); });
    assert_true(stage.server->drain({}) == UVHTTP_EINVAL);
    stage.listen();
    assert_response(stage.request("/"), 200, "x");
    assert_true(stage.server->drain({.delay = 0, .grace = 2, .timeout = 1}) == UVHTTP_EINVAL);
    assert_true(stage.server->drain({.delay = 0, .grace = 0, .timeout = 1}) == 0);
    uv_run(stage.server->loop(), UV_RUN_DEFAULT);
    assert_int_equal(stage.server->drainResult().cut_connections, 0);
}

/* data() of an empty span can be any pointer; C refuses a pointer with a count of 0. */
static void test_empty_spans_are_accepted(void **)
{
    static const uvhttp_address_rule_t rule = {"10.0.0.0/8", true};
    static const uvhttp_auth_user_t user = {"ann", "secret"};
    static const uvhttp_hashed_user_t hashed = {"ann", "x"};
    static const uvhttp_static_rule_t by_name = {"*.css", "X-A", "b"};
    static const char *const text = "x";
    assert_true(uvhttp::AddressRules(std::span(&rule, 0), true).allows("10.0.0.1"));
    const uvhttp::Auth auth({.users = std::span(&user, 0)},
                            uvhttp::Basic{[](std::string_view, std::string_view) { return true; }});
    assert_true(auth.error() == 0);
    const uvhttp::Passwords passwords({.users = std::span(&hashed, 0)});
    assert_true(passwords.error() == UVHTTP_ECONFIG || passwords.error() == UVHTTP_ENOTSUP);
    uvhttp::Files files({.root = UVHTTP_TESTS_DIR "/../examples/site",
                         .types = std::span(&text, 0),
                         .rules = std::span(&by_name, 0)});
    assert_true(files.error() == 0);
    assert_true(files.prewarm({.patterns = std::span(&text, 0)}) == 0);
}

static void route_is_known_and_counted(void **)
{
    Stage stage(100);
    stage.server->get("/notes/:id", [](Request req, Response res) {
        return res.sendText(200, req.route().value_or("none"));
    });
    stage.listen();
    assert_response(stage.request("/notes/1"), 200, "/notes/:id");
    std::size_t count = 0;
    stage.server->eachRouteStats([&](const uvhttp_route_stats_t &stats) {
        assert_string_equal(stats.route, "/notes/:id");
        count += stats.count;
    });
    assert_int_equal(count, 1);
}

static void chosen_files_and_own_tags_evaluate_conditions(void **)
{
    const std::string site = UVHTTP_TESTS_DIR "/../examples/site";
    uvhttp::Files files({.root = site});
    Stage stage;
    stage.server->get("/path", [&](Response res) {
        return res.sendFile(site + "/style.css",
                            {.contentType = "text/x-mine", .downloadName = "mine.css"});
    });
    stage.server->get("/files", [&](Response res) {
        return files.send(res, "style.css", {.downloadName = "s.css", .showInline = true});
    });
    stage.server->any("/own", [](Request req, Response res) {
        const bool create = req.methodName() == "PUT";
        const int status = create ? req.precondition(nullptr) : req.precondition("\"v1\"");
        return res.sendStatus(status == 0 ? 200 : status);
    });
    stage.listen();
    const RawResponse path = stage.request("/path");
    assert_int_equal(path.status, 200);
    assert_true(contains(path.head, "\r\nContent-Type: text/x-mine\r\n"));
    assert_true(contains(path.head, "attachment; filename=\"mine.css\"\r\n"));
    assert_int_equal(stage.request("/path", "If-None-Match: *\r\n").status, 304);
    assert_int_equal(stage.request("/files", "Range: bytes=0-3\r\n").status, 206);
    assert_true(contains(stage.request("/files").head, "inline; filename=\"s.css\"\r\n"));
    assert_int_equal(stage.request("/own", "If-None-Match: \"v1\"\r\n").status, 304);
    assert_int_equal(stage.request("/own", "If-Match: \"v2\"\r\n").status, 412);
    assert_int_equal(stage.request("/own", "If-None-Match: *\r\n", "x", "PUT").status, 200);
}

static void test_middleware_modules_work(void **)
{
    const std::string key(32, 'k');
    uvhttp::CookieSigner signer({key});
    uvhttp::RateLimit limit(
        {.requests = 2, .period = std::chrono::minutes(1), .name = "n"},
        [](Request req) { return req.header("Key").value_or(std::string_view()); });
    uvhttp::SizeLimit size({.maxRequestBody = 3});
    uvhttp::Files files({.root = UVHTTP_TESTS_DIR "/../examples/site"});
    uvhttp::Prepared prepared;
    assert_true(prepared.add("X-Prepared", "yes") == 0);
    prepared.setBody("set");
    assert_true(files.prewarm("/style.css") == 0);
    Stage stage;
    stage.server->group("/limited").use(limit).use(size).any("/", [](Response res) {
        return res.sendText(200, "x");
    });
    stage.server->group("/site").get("/*", files);
    stage.server->use(uvhttp::bodyEtags());
    stage.server->get("/set", [&](Response res) {
        if (Result error =
                res.setSignedCookie(signer, {.name = "user", .value = "ada", .path = "/"}))
            return res.sendText(500, error.name());
        res.usePrepared(prepared);
        return res.sendText(200, "set");
    });
    stage.server->get("/get", [&](Request req, Response res) {
        auto [error, user] = req.signedCookie(signer, "user");
        return error ? res.sendText(401, error.name()) : res.sendText(200, user);
    });
    stage.listen();
    const RawResponse set = stage.request("/set");
    if (UVHTTP_TESTS_LIBCRYPTO) {
        assert_true(contains(set.head, "\r\nX-Prepared: yes\r\n") &&
                    contains(set.head, "\r\nETag: "));
        const std::string cookie = set.head.substr(set.head.find("user="));
        assert_response(
            stage.request("/get", "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n"), 200,
            "ada");
        assert_response(stage.request("/get", "Cookie: user=x\r\n"), 401, "UVHTTP_ESIGNATURE");
    } else {
        assert_true(signer.error() == UVHTTP_ENOTSUP);
        assert_response(set, 500, "UVHTTP_ENOTSUP");
        assert_response(stage.request("/get"), 401, "UVHTTP_ENOTSUP");
    }
    assert_int_equal(stage.request("/limited/", "Key: a\r\n").status, 200);
    assert_int_equal(stage.request("/limited/", "Key: a\r\n").status, 200);
    assert_int_equal(stage.request("/limited/", "Key: a\r\n").status, 429);
    assert_int_equal(stage.request("/limited/").status, 200);
    assert_int_equal(stage.request("/site/style.css").status, 200);
    assert_int_equal(stage.request("/limited/", "Key: b\r\n", "1234").status, 413);
    assert_true(bool(uvhttp::CookieSigner({"short"}).error()));
    const uvhttp::CookieSigner many(
        {key, key, key, key, key, key, key, key, key, key, key, key, key, key, key, key, key});
    assert_true(many.error() == UVHTTP_ECONFIG);
    assert_string_equal(many.details().text, "key_count is 17; allowed are 1 to 16 keys");
}

static void test_templates_expand(void **)
{
    const uvhttp::Template text(
        {.text = "{id}: {rest}", .kind = UVHTTP_TEMPLATE_HTML, .pattern = "/t/:id/*"});
    assert_true(!text.error());
    Stage stage;
    stage.server->get("/t/:id/*", [&](Request req, Response res) {
        auto [error, expanded] = text.expand(req);
        return error ? error : res.sendHtml(200, expanded);
    });
    stage.listen();
    assert_response(stage.request("/t/5/%3Cb"), 200, "5: &lt;b");
    const uvhttp::Template invalid({.text = "{id}"});
    assert_true(invalid.error() == UVHTTP_ECONFIG);
    assert_string_equal(invalid.details().value, "{id}");
}

static void test_rewrites_and_router_data_work(void **)
{
    Stage stage;
    int data = 0;
    stage.server->rewrite("/old/*", "/new/{rest}")
        .setData(&data)
        .get("/new/*", [&](Request req, Response res) {
            return res.sendText(req.routerData() == &data ? 200 : 500, req.param("*"));
        });
    stage.listen();
    assert_response(stage.request("/old/a/b"), 200, "a/b");
    uvhttp::Server invalid;
    invalid.rewrite("/old/*", "{host}");
    assert_true(invalid.error() == UVHTTP_ECONFIG);
}

/* ---- middleware ---- */

static const char authorize_ada[] = "Authorization: Basic YWRhOmVuZ2luZQ==\r\n"; /* ada:engine */

static void test_cors_and_security_headers_are_sent(void **)
{
    int alive = 0;
    {
        const uvhttp::Cors cors(
            {.origins = "https://a.example", .credentials = true, .methods = "GET, PUT"},
            [tracked = Tracked(alive)](Request req, std::string_view origin) {
                if (origin == "https://throws.example")
                    throw std::runtime_error("no");
                return req.path() == "/" && origin == "https://b.example";
            });
        const uvhttp::SecurityHeaders security(
            {.frameOptions = "", .referrerPolicy = "no-referrer"});
        const uvhttp::RequestIds ids({.header = "X-Id", .trusted = true});
        Stage stage;
        std::string seen;
        stage.server->use(ids).use(security).use(cors).get("/", [&seen](Request req, Response res) {
            seen = req.id().value_or("none");
            return res.sendText(200, "x");
        });
        stage.listen();
        const RawResponse known =
            stage.request("/", "Origin: https://a.example\r\nX-Id: abc-1\r\n");
        assert_true(contains(known.head, "\r\nAccess-Control-Allow-Origin: https://a.example\r\n"));
        assert_true(contains(known.head, "\r\nX-Id: abc-1\r\n") && seen == "abc-1");
        assert_true(contains(known.head, "\r\nReferrer-Policy: no-referrer\r\n"));
        assert_true(contains(known.head, "\r\nX-Content-Type-Options: nosniff\r\n"));
        assert_false(contains(known.head, "X-Frame-Options"));
        assert_true(contains(stage.request("/", "Origin: https://b.example\r\n").head,
                             "Allow-Origin: https://b."));
        assert_false(
            contains(stage.request("/", "Origin: https://c.example\r\n").head, "Allow-Origin"));
        assert_false(contains(stage.request("/", "Origin: https://throws.example\r\n").head,
                              "Allow-Origin"));
        assert_true(contains(stage.errors, "exception: no"));
        assert_int_equal(alive, 1);
    }
    assert_int_equal(alive, 0);
}

static void test_authentication_and_address_rules_decide(void **)
{
    static constexpr uvhttp_auth_user_t users[] = {{"ada", "engine"}};
    static constexpr uvhttp_hashed_user_t hashed[] = {
        {"ada", "$5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA"}};
    int alive = 0;
    {
        const uvhttp::Auth table({.realm = "r", .users = users});
        const uvhttp::Auth both(
            {.scope = "s"},
            uvhttp::Basic{[tracked = Tracked(alive)](Response res, std::string_view user,
                                                     std::string_view word) {
                if (user == "throws")
                    throw std::bad_alloc();
                assert_non_null(res.native());
                return user == "ada" && word == "engine";
            }},
            uvhttp::Bearer{[tracked = Tracked(alive)](Response res,
                                                      std::string_view token) -> Result {
                if (token == "later") {
                    Result error =
                        res.defer([] { return 7; },
                                  [](Response out, int) {
                                      Result failure = out.request().setUser("late");
                                      return failure ? failure : out.decideAuth(UVHTTP_AUTH_ACCEPT);
                                  });
                    return error ? error : UVHTTP_AUTH_LATER;
                }
                return token == "known" ? UVHTTP_AUTH_FORBID : UVHTTP_AUTH_REFUSE;
            }});
        const uvhttp::Auth bearer(
            {}, uvhttp::Bearer{[](std::string_view token) { return token == "t"; }});
        const uvhttp::Passwords passwords({.users = hashed});
        const bool hashes = !passwords.error();
        const uvhttp::AddressRules none({{"10.0.0.0/8", true}});
        const uvhttp::AddressRules local({{"10.1.0.0/16", false}, {"127.0.0.0/8", true}}, true);
        assert_true(none.allows("10.2.3.4") && !none.allows("127.0.0.1") &&
                    !local.allows("10.1.0.1"));
        assert_true(local.allows("192.0.2.1") &&
                    !local.allows(std::string_view("127.0.0.1\0", 10)));
        const uvhttp::Auth hashed_only({}, passwords);
        const uvhttp::Auth with_tokens(
            {}, passwords,
            uvhttp::Bearer{[tracked = Tracked(alive)](std::string_view) { return true; }});
        assert_true(hashed_only.error() == passwords.error());
        Stage stage;
        auto send_user = [](Request req, Response res) {
            return res.sendText(200, req.user().value_or("-"));
        };
        stage.server->get("/", send_user);
        stage.server->group("").use(table).get("/table", send_user);
        stage.server->group("").use(both).get("/both", send_user);
        stage.server->group("").use(bearer).get("/bearer", send_user);
        stage.server->group("").use(none).get("/none", send_user);
        stage.server->group("").use(local).get("/local", send_user);
        stage.server->group("")
            .use([&table](Request req, Response res) { return table.handle(req, res); })
            .get("/handle", send_user);
        if (hashes) {
            stage.server->group("").use(hashed_only).get("/hashed", send_user);
            stage.server->group("").use(with_tokens).get("/with_tokens", send_user);
        }
        stage.listen();
        assert_response(stage.request("/"), 200, "-");
        for (const char *target : {"/table", "/both", "/handle"}) {
            assert_int_equal(stage.request(target).status, 401);
            assert_response(stage.request(target, authorize_ada), 200, "ada");
        }
        assert_true(
            contains(stage.request("/table").head, "\r\nWWW-Authenticate: Basic realm=\"r\""));
        assert_int_equal(stage.request("/both", "Authorization: Basic dGhyb3dzOng=\r\n").status,
                         503);
        assert_int_equal(stage.request("/both", "Authorization: Bearer known\r\n").status, 403);
        assert_int_equal(stage.request("/both", "Authorization: Bearer else\r\n").status, 401);
        assert_response(stage.request("/both", "Authorization: Bearer later\r\n"), 200, "late");
        assert_response(stage.request("/bearer", "Authorization: Bearer t\r\n"), 200, "-");
        assert_int_equal(stage.request("/bearer", authorize_ada).status, 401);
        assert_int_equal(stage.request("/none").status, 403);
        assert_int_equal(stage.request("/local").status, 200);
        if (hashes) {
            const char secret[] = "Authorization: Basic YWRhOnNlY3JldA==\r\n"; /* ada:secret */
            assert_response(stage.request("/hashed", secret), 200, "ada");
            assert_int_equal(stage.request("/hashed", authorize_ada).status, 401);
            assert_response(stage.request("/with_tokens", secret), 200, "ada");
            assert_response(stage.request("/with_tokens", "Authorization: Bearer any\r\n"), 200,
                            "-");
        }
    }
    assert_int_equal(alive, 0);
}

static void test_compression_and_filters_work(void **)
{
    const std::string large(5000, 'l');
    const uvhttp::Compress compress(
        {.minSize = 100, .codings = UVHTTP_CODING_GZIP, .gzipLevel = 9});
    int alive = 0;
    Stage stage;
    stage.server->get("/pieces", [&alive](Response res) {
        Result error = res.onSend([&alive](Response out) {
            assert_true(out.isStreamed() && uvhttp_response_is_streamed(out.native()));
            return out.filter([tracked = Tracked(alive)](Response, uvhttp_filter_event_t event,
                                                         std::string_view chunk,
                                                         uvhttp::FilterOutput output) {
                return output.append(event == UVHTTP_FILTER_END     ? "!"
                                     : event == UVHTTP_FILTER_FLUSH ? "-"
                                                                    : std::string(2, chunk[0]));
            });
        });
        for (auto step :
             {+[](Response out) { return out.begin(200, "text/plain"); },
              +[](Response out) { return out.write("a"); },
              +[](Response out) { return out.flush(); }, +[](Response out) { return out.end(); }})
            error = error ? error : step(res);
        return error;
    });
    if (!compress.error())
        stage.server->group("").use(compress).get(
            "/large", [&large](Response res) { return res.sendText(200, large); });
    else
        assert_true(compress.error() == UVHTTP_ENOTSUP);
    stage.server->get("/fails", [](Response res) {
        return (res.fail)(UVHTTP_ENOMEM); /* cmocka has a macro of this name */
    });
    stage.listen();
    assert_response(stage.request("/pieces"), 200, "aa-!");
    stage.runUntil([&] { return alive == 0; });
    assert_int_equal(stage.request("/fails").status, 503);
    if (!compress.error()) {
        const RawResponse reply = stage.request("/large", "Accept-Encoding: br, gzip\r\n");
        assert_true(contains(reply.head, "\r\nContent-Encoding: gzip\r\n") &&
                    reply.body.size() < 500);
        assert_response(stage.request("/large"), 200, large);
    }
}

static void test_invalid_middleware_keeps_error(void **)
{
    static constexpr uvhttp_auth_user_t colon[] = {{"a:b", "x"}};
    const uvhttp::Cors cors({.origins = "https://a.example/"});
    const uvhttp::Auth nothing({}), user({.users = colon}),
        text({.realm = std::string_view("a\0b", 3)});
    const uvhttp::AddressRules rules({{"10.1.2.3/8", true}});
    const uvhttp::SecurityHeaders headers({.frameOptions = "a\nb"});
    const uvhttp::RequestIds ids({.maxLength = 1000});
    const uvhttp::Compress compress({.gzipLevel = 10});
    const uvhttp::Passwords passwords({});
    const uvhttp::Auth hashed({}, passwords);
    assert_true(text.error() == UVHTTP_EINVAL && bool(passwords.error()));
    auto refused = [](const auto &middleware, std::string_view said) {
        assert_true(bool(middleware.error()));
        Server server;
        server.use(middleware);
        assert_true(server.error() == middleware.error());
        assert_true(contains(server.where() + (": " + std::string(server.details().text)), said));
        Stage stage;
        stage.server->get(
            "/", [&middleware](Request req, Response res) { return middleware.handle(req, res); });
        stage.listen();
        assert_int_equal(stage.request("/").status, 500);
    };
    refused(cors, "origins");
    refused(nothing, "");
    refused(user, "users");
    refused(text, "auth");
    refused(rules, "10.1.2.3/8");
    refused(headers, "frame_options");
    refused(ids, "max_length");
    refused(compress, compress.error() == UVHTTP_ENOTSUP ? "compress" : "gzip_level");
    refused(hashed, passwords.error() == UVHTTP_ENOTSUP ? "auth" : passwords.details().text);

    int alive = 0;
    memory_left = 0;
    const uvhttp::Cors without({.origins = "*"},
                               [tracked = Tracked(alive)](std::string_view) { return true; });
    memory_left = 0; /* the failed allocation has made it -1 */
    const uvhttp::Auth basic(
        {}, uvhttp::Basic{[](std::string_view, std::string_view) { return true; }});
    memory_left = -1;
    assert_true(without.error() == UVHTTP_ENOMEM && basic.error() == UVHTTP_ENOMEM);
    assert_int_equal(alive, 0);
}

/* ---- bodies in files and of parts ---- */

class TempDirectory
{
public:
    TempDirectory() { assert_non_null(mkdtemp(name_)); }
    TempDirectory(const TempDirectory &) = delete;
    TempDirectory &operator=(const TempDirectory &) = delete;
    ~TempDirectory() { std::filesystem::remove_all(name_); }
    std::string operator/(const std::string &file) const { return std::string(name_) + "/" + file; }
    std::string text() const { return name_; }
    void write(const std::string &file, std::string_view content) const
    {
        std::ofstream(*this / file, std::ios::binary) << content;
    }
    std::string read(const std::string &file) const
    {
        std::ostringstream all;
        all << std::ifstream(*this / file, std::ios::binary).rdbuf();
        return all.str();
    }

private:
    char name_[32] = "/tmp/uvhttp-hpp-XXXXXX";
};

static void test_uploads_and_forms_are_received(void **)
{
    const TempDirectory directory;
    int alive = 0;
    std::uint64_t progress = 0;
    Stage stage;
    stage.server->put(
        "/plain/:name",
        [&directory](Request req) { return req.uploadToFile(directory.text(), req.param("name")); },
        {.stream = true});
    stage.server->put(
        "/told/:name",
        [&](Request req) {
            return req.uploadToFile(
                directory.text(), req.param("name"),
                {.maxSize = 5,
                 .mode = 0600,
                 .keepExisting = true,
                 .progress = [](uvhttp_request_t *, std::uint64_t received, std::uint64_t,
                                void *sum) { *static_cast<std::uint64_t *>(sum) += received; },
                 .check = [](const uvhttp_upload_t *upload,
                             void *) { return upload->size == 2 ? 422 : 0; },
                 .arg = &progress},
                [tracked = Tracked(alive)](Response res, const uvhttp::Upload &upload) {
                    if (upload.size == 1)
                        throw std::runtime_error("too small");
                    return res.sendText(
                        201, std::string(upload.path.substr(upload.path.rfind('/'))) + " " +
                                 std::to_string(upload.size) + (upload.created ? "" : "!"));
                });
        },
        {.stream = true});
    stage.server->put("/nul",
                      [&directory](Request req) {
                          return req.uploadToFile(directory.text(), std::string_view("a\0b", 3));
                      },
                      {.stream = true});
    stage.server->post(
        "/form",
        [&](Request req) {
            return req.readForm(
                {.directory = directory.text(), .memoryPartSize = 10, .maxParts = 3},
                [&, tracked = Tracked(alive)](Response res, const uvhttp::FormData &form) {
                    std::string all = std::to_string(form.size());
                    for (uvhttp::FormPart part : form) {
                        all.append(";").append(part.name()).append("|");
                        all.append(part.filename().value_or("-")).append("|");
                        all.append(part.rawFilename().value_or("-")).append("|");
                        all.append(part.type().value_or("-")).append("|");
                        all.append(part.data().value_or("file"));
                        all.append(part.path() ? "" : "|").append(std::to_string(part.size()));
                    }
                    assert_false(form.part("none").has_value());
                    Result error = form.part("f")->keep(directory / "kept");
                    return error ? error : res.sendText(200, all);
                });
        },
        {.stream = true});
    stage.listen();
    assert_int_equal(stage.request("/plain/a", "", "one", "PUT").status, 201);
    assert_int_equal(stage.request("/plain/a", "", "two", "PUT").status, 204);
    assert_string_equal(directory.read("a").c_str(), "two");
    assert_int_equal(stage.request("/plain/a%2Fb", "", "x", "PUT").status, 400);
    stage.connect();
    assert_int_equal(stage.request("/nul", "", "x", "PUT").status, 400);
    stage.connect();
    assert_response(stage.request("/told/b", "", "abc", "PUT"), 201, "/b 3");
    assert_int_equal(stage.request("/told/b", "", "abc", "PUT").status, 409);
    stage.connect();
    assert_int_equal(stage.request("/told/c", "", "abcdef", "PUT").status, 413);
    stage.connect();
    assert_true(progress >= 3);
    assert_int_equal(stage.request("/told/e", "", "ab", "PUT").status, 422);
    stage.connect();
    assert_int_equal(stage.request("/told/d", "", "a", "PUT").status, 500);
    stage.connect();
    const std::string head = "--b\r\nContent-Disposition: form-data; name=";
    assert_response(
        stage.request(
            "/form", "Content-Type: multipart/form-data; boundary=b\r\n",
            head + "t\r\n\r\ntext\r\n" + head +
                "f; filename=\"../x\"\r\nContent-Type: a/b\r\n\r\nlonger than ten\r\n--b--\r\n"),
        200, "2;t|-|-|-|text|4;f|x|../x|a/b|file15");
    assert_string_equal(directory.read("kept").c_str(), "longer than ten");
    stage.connect();
    assert_int_equal(stage.request("/form", "", "x").status, 415);
    stage.runUntil([&] { return alive == 0; });
}

static void test_body_parts_are_sent(void **)
{
    const TempDirectory directory;
    directory.write("file", "0123456789");
    struct Content {
        std::string text;
        std::FILE *file;
        Tracked tracked;
        Content(const std::string &name, int &alive)
            : text(100, 't'), file(std::fopen(name.c_str(), "r")), tracked(alive)
        {
        }
        ~Content() { std::fclose(file); }
    };
    int alive = 0;
    Stage stage;
    stage.server->get("/", [&](Response res) {
        auto content = std::make_unique<Content>(directory / "file", alive);
        const int descriptor = fileno(content->file);
        const uvhttp::BodyPart parts[] = {
            uvhttp::memoryPart(content->text), uvhttp::filePart(descriptor, 2, 3),
            uvhttp::filePart(descriptor, 9, 1), uvhttp::memoryPart("end")};
        return res.sendParts(200, "text/plain", parts, std::move(content));
    });
    stage.server->get("/static", [](Response res) {
        static constexpr std::string_view words[] = {"a", "b"};
        const uvhttp::BodyPart parts[] = {uvhttp::memoryPart(words[0]),
                                          uvhttp::memoryPart(words[1])};
        assert_true(res.sendParts(200, std::string_view("a\0b", 3), parts) == UVHTTP_EINVAL);
        return res.sendParts(200, nullptr, parts);
    });
    stage.listen();
    assert_response(stage.request("/"), 200, std::string(100, 't') + "2349end");
    stage.runUntil([&] { return alive == 0; });
    assert_response(stage.request("/static"), 200, "ab");
}

static void test_files_are_served_with_options(void **)
{
    const TempDirectory directory;
    directory.write("a.weird", std::string(3000, 'a'));
    directory.write("app.0123456789abcdef.js", "x");
    directory.write("pre.txt", "plain");
    directory.write("pre.txt.gz", "coded");
    static constexpr const char *types[] = {"weird=text/weird"}, *hidden[] = {"*.gz"};
    static constexpr uvhttp::FileRule rules[] = {{"*.weird", "X-Rule", "yes"}};
    const std::string root = directory.text();
    uvhttp::FileOptions options = {.root = root,
                                   .precompressed = true,
                                   .types = types,
                                   .rules = rules,
                                   .immutableAssets = true,
                                   .uploads = true,
                                   .uploadMaxSize = 10,
                                   .cleanUrls = true,
                                   .errorPages = "404=/pre.txt",
                                   .hide = hidden};
    const uvhttp::Files files(options), mounted(options);
    assert_true(files.error() == 0);
    uvhttp::Prewarmed found = {};
    std::string loaded;
    static constexpr const char *patterns[] = {"*.weird"};
    assert_true(files.prewarm({.patterns = patterns}, &found,
                              [&loaded](const uvhttp::Prewarmed &so_far, std::string_view path) {
                                  loaded.append(path).append(std::to_string(so_far.loaded));
                                  return true;
                              }) == 0);
    assert_string_equal(loaded.c_str(), "a.weird1");
    assert_int_equal(found.loaded, 1);
    assert_true(mounted.prewarm({}) == 0 &&
                mounted.prewarm({.directory = "/none"}, &found) == UV_ENOENT);
    Stage stage;
    uvhttp::Router group = stage.server->group("/group");
    group.get("/*", files).put("/*", files.uploads(), {.stream = true});
    stage.server->files("/mounted/", mounted);
    stage.listen();
    for (const char *prefix : {"/group/", "/mounted/"}) {
        const RawResponse reply = stage.request(prefix + "a.weird"s);
        assert_true(contains(reply.head, "\r\nX-Rule: yes\r\n") &&
                    contains(reply.head, "\r\nContent-Type: text/weird\r\n"));
        assert_response(stage.request(prefix + "nowhere"s), 404, "plain");
        assert_response(stage.request(prefix + "pre.txt.gz"s), 404, "plain");
        assert_true(contains(stage.request(prefix + "app.0123456789abcdef.js"s).head, "immutable"));
        assert_response(stage.request(prefix + "pre.txt"s, "Accept-Encoding: gzip\r\n"), 200,
                        "coded");
        assert_int_equal(stage.request(prefix + "new"s + prefix[1], "", "text", "PUT").status, 201);
    }
    assert_string_equal(directory.read("newg").c_str(), "text");
    assert_int_equal(stage.request("/group/large", "", std::string(11, 'x'), "PUT").status, 413);
    const uvhttp::FileStats stats = files.readStats();
    assert_true(stats.hits + stats.misses >= 3);
    assert_true(stats.entries >= 1);

    static constexpr const char *invalid[] = {"no type"};
    options.types = invalid;
    const uvhttp::Files refused(options);
    assert_true(bool(refused.error()) && contains(refused.details().text, "no type"));
    assert_int_equal(refused.readStats().entries, 0);
    Server one, other, missing;
    assert_true(contains(one.files("/", options).details().text, "no type"));
    assert_true(contains(other.files("/", refused).details().text, "no type"));
    assert_string_equal(other.where(), "files /");
    assert_true(other.error() == refused.error());
    missing.files("/", uvhttp::FileOptions{.root = "/nowhere/at/all"});
    assert_string_equal(missing.details().value, "/nowhere/at/all");
}

/* ---- events, other threads, other sockets ---- */

static void test_event_hub_publishes_to_subscribers(void **)
{
    const uvhttp::EventHub hub;
    assert_true(hub.error() == 0 && hub.details().code == 0);
    Stage stage;
    stage.server->get("/events", [&hub](Response res) {
        Result error = hub.subscribe(res);
        return error ? error : res.sendEvent({.retry = std::chrono::milliseconds(5)});
    });
    stage.listen();
    stage.send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    stage.runUntil([&] { return hub.count() == 1 && contains(stage.received(), "retry: 5\n"); });
    assert_true(hub.publish({.id = "7", .event = "e", .data = "hello"}) == 0);
    assert_true(hub.publish({.id = "a\nb"}) == UVHTTP_EINVAL);
    stage.runUntil([&] { return contains(stage.received(), "id: 7\nevent: e\ndata: hello\n\n"); });
    hub.end();
    stage.runUntil([&] { return contains(stage.received(), "\r\n0\r\n\r\n"); });
    assert_int_equal(hub.count(), 0);
    assert_int_equal(hub.dropped(), 0);

    out_of_memory = true;
    const uvhttp::EventHub without({.keep = 1, .allocator = &counted});
    out_of_memory = false;
    assert_true(without.error() == UVHTTP_ENOMEM &&
                without.publish({.data = "x"}) == UVHTTP_ENOMEM);
    without.end();
    assert_int_equal(without.count(), 0);
    const uvhttp::EventHub refused({.keep = 1000001});
    assert_true(refused.error() == UVHTTP_ECONFIG);
    assert_string_equal(refused.details().text, "keep is 1000001; allowed are 0 to 1000000 events");
}

static void test_event_hub_sends_missed_events(void **)
{
    const uvhttp::EventHub hub({.keep = 2});
    Stage stage;
    stage.server->get("/events", [&hub](Response res) { return hub.subscribe(res); });
    stage.listen();
    for (const char *data : {"one", "two", "three"})
        assert_true(hub.publish({.data = data}) == 0);
    assert_true(hub.publish({.id = "1", .data = "own id"}) == UVHTTP_EINVAL);
    stage.send("GET /events HTTP/1.1\r\nHost: h\r\nLast-Event-ID: unknown\r\n\r\n");
    stage.runUntil([&] { return contains(stage.received(), "data: three\n\n"); });
    assert_true(contains(stage.received(), "data: two\n\n"));
    assert_false(contains(stage.received(), "data: one\n\n"));
    hub.end();
    stage.runUntil([&] { return contains(stage.received(), "\r\n0\r\n\r\n"); });
}

static void test_post_to_runs_on_worker(void **)
{
    struct Job {
        Later later;
        std::size_t worker;
        Tracked tracked;
        void operator()(std::size_t number)
        {
            assert_int_equal(number, worker);
            if (later)
                (void)later->sendText(200, "from a thread");
        }
    };
    int alive = 0;
    Stage stage;
    Server &server = *stage.server;
    std::thread thread;
    server.get("/", [&](Request req, Response res) {
        assert_ptr_equal(req.loop(), &stage.loop);
        assert_false(req.isBlocking());
        std::unique_ptr<Job> job(new Job{res.later(), req.worker(), Tracked(alive)});
        thread = std::thread(
            [&server](std::unique_ptr<Job> own) {
                assert_true(server.postTo(own->worker, own) == 0);
            },
            std::move(job));
        req.countCache(true);
    });
    std::unique_ptr<Job> none, early(new Job{Later(), 0, Tracked(alive)});
    assert_true(server.postTo(0, none) == UVHTTP_EINVAL);
    assert_true(server.postTo(0, early) == UVHTTP_EINVAL && early != nullptr);
    assert_true(server.postTo(0, [tracked = Tracked(alive)] {}) == UVHTTP_EINVAL);
    assert_int_equal(alive, 1);
    early.reset();
    stage.listen();
    assert_response(stage.request("/"), 200, "from a thread");
    thread.join();
    assert_int_equal(alive, 0);
    bool posted = false;
    assert_true(server.postTo(0, [&posted, tracked = Tracked(alive)] {
        posted = true;
        throw std::runtime_error("nobody to tell");
    }) == 0);
    stage.runUntil([&] { return posted && alive == 0; });
    assert_int_equal(server.workerCount(), 1);
    assert_int_equal(server.readStats().total_requests, 1);
    assert_int_equal(server.readStats().cache_hits, 1);
    assert_int_equal(server.workerStats(0).total_requests, 1);
    assert_int_equal(server.workerStats(1).total_requests, 0);
}

/* What `call` writes to standard output. */
template <class Call> static std::string output_of(Call &&call)
{
    char text[512] = "";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    std::fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    call();
    dup2(before, STDOUT_FILENO);
    close(before);
    assert_true(read(ends[0], text, sizeof text - 1) >= 0);
    close(ends[0]);
    return text;
}

static void main_prints_the_url_of_a_listener(void **)
{
    const std::string own = uvhttp::makeSelfSigned({"a.test"});
    assert_true(own.empty() == !UVHTTP_TESTS_HTTPS);
    uvhttp::SetupError details;
    assert_true(uvhttp::makeSelfSigned({"a b"}, &details).empty() && details.code < 0);
    const uvhttp::TlsCertificate pairs[] = {{.certificate = own.c_str()}};
    const uvhttp::Tls tls({.certificates = pairs});
    Server server;
    if (UVHTTP_TESTS_HTTPS)
        server.listenTls("127.0.0.1", 0, tls);
    else
        server.listen("127.0.0.1", 0);
    server.after(std::chrono::milliseconds(0), [&server] { server.stop(); });
    const std::string expected = std::string("listening on ") +
                                 (UVHTTP_TESTS_HTTPS ? "https" : "http") +
                                 "://127.0.0.1:" + std::to_string(server.port()) + "/\n";
    assert_string_equal(
        output_of([&server] { assert_int_equal(server.main(nullptr, 0), 0); }).c_str(),
        expected.c_str());
}

static int listening_socket()
{
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address;
    uv_ip4_addr("127.0.0.1", 0, &address);
    assert_int_equal(bind(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    assert_int_equal(listen(descriptor, 8), 0);
    return descriptor;
}

static void test_timers_and_signals_end_with_server(void **)
{
    int alive = 0, ticks = 0, once = 0, raised = 0, calls = 0, late = 0;
    Stage stage;
    Server &server = *stage.server;
    const std::chrono::milliseconds ms(1);
    server.every(ms, [&ticks, tracked = Tracked(alive)] { return ++ticks < 3; });
    server.after(ms, [&, tracked = Tracked(alive)] {
        once++;
        server.after(ms, [&once, tracked = Tracked(alive)] { once++; });
    });
    server.every(60000 * ms, [&late, tracked = std::make_unique<Tracked>(alive)] { late++; });
    server.onSignal(SIGUSR1, [&raised](int number) { raised = number; });
    server.onSignal(SIGUSR1, [&calls] { calls++; }); /* before or after the other */
    stage.listen();
    std::raise(SIGUSR1);
    stage.runUntil([&] { return alive == 1 && raised > 0 && calls > 0; });
    assert_true(ticks == 3 && once == 2 && raised == SIGUSR1 && calls == 1 && late == 0);
    stage.end();
    assert_int_equal(alive, 0);
    Server other;
    other.every(0 * ms, [tracked = Tracked(alive)] {});
    assert_true(other.error() == UVHTTP_EINVAL && alive == 0);
    assert_string_equal(other.where(), "timer");
    Server uncaught;
    uncaught.onSignal(SIGKILL, [] {});
    assert_true(uncaught.error() == UV_EINVAL);
    assert_string_equal(uncaught.details().text, "signal 9 cannot be caught");
}

static void timers_after_stop_are_no_error(void **)
{
    int alive = 0;
    Server server;
    server.listen("127.0.0.1", 0);
    server.after(std::chrono::milliseconds(0), [&server] { server.stop(); });
    server.onStopped([&] {
        server.after(std::chrono::milliseconds(1), [tracked = Tracked(alive)] {});
        server.every(std::chrono::milliseconds(1), [tracked = Tracked(alive)] {});
        server.onSignal(SIGUSR1, [] {});
        assert_int_equal(alive, 0);
    });
    assert_true(server.run() == 0);
}

static void times_of_timers_are_checked(void **)
{
    const std::chrono::milliseconds ms(1);
    {
        Server server;
        int calls = 0;
        server.listen("127.0.0.1", 0);
        server.after(-5 * ms, [&] {
            calls++;
            server.stop();
        });
        server.after(std::chrono::milliseconds(UINT32_MAX), [&calls] { calls++; });
        assert_true(server.run() == 0);
        assert_int_equal(calls, 1);
    }
    {
        Server server;
        server.every(-5 * ms, [] {});
        assert_true(server.error() == UVHTTP_EINVAL);
        assert_string_equal(server.where(), "timer");
        assert_string_equal(server.details().text,
                            "interval is -5; allowed are 1 to 4294967295 milliseconds");
    }
    {
        Server server;
        server.after(std::chrono::milliseconds(std::int64_t{UINT32_MAX} + 1), [] {});
        assert_true(server.error() == UVHTTP_EINVAL);
        assert_string_equal(server.details().text,
                            "delay is 4294967296; allowed are 0 to 4294967295 milliseconds");
    }
}

static void exceptions_of_server_callbacks_are_logged(void **)
{
    Stage stage;
    Server &server = *stage.server;
    int calls = 0;
    server.every(std::chrono::milliseconds(1), [&calls]() -> bool {
        if (calls++ == 0)
            throw std::runtime_error("first");
        return false;
    });
    server.onSignal(SIGUSR1, [] { throw std::runtime_error("second"); });
    server.onStopping([] { throw 4; });
    stage.listen();
    std::raise(SIGUSR1);
    assert_true(server.postTo(0, [] { throw 3; }) == 0);
    stage.runUntil([&] {
        return calls == 2 && contains(stage.errors, "onSignal failed: exception: second\n") &&
               contains(stage.errors, "posted function failed: exception: not a std::exception\n");
    });
    assert_true(contains(stage.errors, "timer failed: exception: first\n"));
    server.stop();
    stage.runUntil([&] {
        return contains(stage.errors, "onStopping failed: exception: not a std::exception\n");
    });
}

static uv_timer_t left_open; /* static, since the loop that it keeps open is not freed */

static void log_function_outlives_last_line(void **)
{
    int alive = 0;
    bool logged = false;
    {
        uvhttp::Config config;
        config.onLog([&, tracked = Tracked(alive)](uvhttp_log_level_t, std::string_view line) {
            assert_int_equal(alive, 1);
            logged = contains(line, "a handle is open on the server's loop");
        });
        Server server(std::move(config));
        server.own(Tracked(alive)); /* released before */
        uv_timer_init(server.loop(), &left_open);
    }
    assert_true(logged);
    assert_int_equal(alive, 0);
}

static void test_server_waits_for_threads_with_reference(void **)
{
    Server server;
    int posted = 0;
    server.listen("127.0.0.1", 0);
    std::thread thread([&posted, ref = server.ref()]() mutable {
        const uvhttp::ServerRef copy = ref;
        uvhttp::ServerRef moved = std::move(ref);
        moved.stop();
        for (int i = 0; i < 100; i++) {
            std::this_thread::yield();
            assert_true(moved.postTo(0, [&posted] { posted++; }) == 0);
        }
        assert_int_equal(copy.workerCount(), 1);
    });
    assert_true(server.run() == 0);
    assert_int_equal(posted, 100);
    thread.join();
}

static void test_sockets_proxies_and_connection_data_work(void **)
{
    const TempDirectory directory;
    int alive = 0;
    Stage stage;
    stage.server->trustProxies({"127.0.0.1"});
    stage.server->get("/", [](Request req, Response res) {
        std::string text(req.clientAddress());
        text.append(" ").append(req.peerAddress()).append(" ").append(req.scheme());
        return res.sendText(200, text.append("://").append(req.host()));
    });
    stage.server->get("/count", [&alive](Request req, Response res) {
        struct Count {
            int count;
            Tracked tracked;
        };
        Count *count = req.attachedToConnection<Count>();
        if (count == nullptr)
            count = req.attachToConnection<Count>(0, Tracked(alive));
        if (count == nullptr)
            return Result(UVHTTP_ENOMEM);
        assert_null(req.attachedToConnection<int>());
        return res.sendText(200, std::to_string(req.connectionId()) + "." +
                                     std::to_string(++count->count));
    });
    stage.server->get("/blocking",
                      [](Request req, Response res) {
                          return res.sendText(
                              200, req.attachToConnection<std::string>("x") == nullptr ? "none"
                                                                                       : "some");
                      },
                      {.blocking = true});
    assert_int_equal(stage.server->listenInherited(), 0);
    stage.server->listenUnix(directory / "socket", 0600).listenFd(listening_socket());
    assert_true(stage.server->error() == 0);
    assert_true(std::filesystem::is_socket(directory / "socket"));
    stage.connect();
    assert_response(
        stage.request("/", "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"), 200,
        "192.0.2.1 127.0.0.1 https://h");
    assert_response(stage.request("/count"), 200, "1.1");
    assert_response(stage.request("/count"), 200, "1.2");
    assert_response(stage.request("/blocking"), 200, "none");
    assert_response(stage.request("/count"), 200, "1.3");
    stage.connect();
    assert_response(stage.request("/count"), 200, "2.1");
    stage.runUntil([&] { return alive == 1; });
    stage.end();
    assert_int_equal(alive, 0);
    assert_false(std::filesystem::exists(directory / "socket"));

    Server fd, path, owned, proxies;
    assert_true(fd.listenFd(-1).error().code() < 0);
    assert_string_equal(fd.where(), "descriptor");
    assert_true(path.listenUnix("").error() == UVHTTP_EINVAL);
    assert_true(owned.listenUnix("@owned", 0, 0, std::int64_t(1) << 32).error() == UVHTTP_EINVAL);
    assert_int_equal(path.listenInherited(), 0);
    static constexpr const char *bad[] = {"10.1.2.3/8"};
    assert_true(proxies.trustProxies(bad, UVHTTP_FORWARDING_STANDARD).error() == UVHTTP_EINVAL);
    assert_string_equal(proxies.where(), "proxies");
}

static void test_tls_options_are_applied(void **)
{
    const uvhttp::TlsCertificate pairs[] = {{.certificate = TLS_CERTIFICATE, .key = TLS_KEY}};
    const uvhttp::Tls tls({.certificates = pairs, .profile = UVHTTP_TLS_MODERN, .ktls = true});
    Stage stage;
    stage.server->get("/", [](Request req, Response res) {
        return res.sendText(200, req.tls() == nullptr ? "plain" : req.tls()->version);
    });
    stage.server->get("/early", [](Request req, Response res) {
        return req.isEarly() ? res.sendStatus(500) : res.sendTooEarly();
    });
    stage.server->group("/private")
        .use(uvhttp::requireClientCertificate())
        .get("/", [](Response res) { return res.sendText(200, "x"); });
    stage.listen();
    assert_response(stage.request("/"), 200, "plain");
    assert_int_equal(stage.request("/private/").status, 403);
    assert_response(stage.request("/early"), 425, "425 Too Early\n");
    uvhttp::Server server;
    if (!UVHTTP_TESTS_HTTPS) {
        assert_true(tls.error() == UVHTTP_ENOTSUP);
        server.listenTls("127.0.0.1", 0, tls);
        assert_true(server.error() == UVHTTP_ENOTSUP);
        return;
    }
    assert_true(!tls.error() && tls.native() != nullptr && tls.expires() > 0);
    server.listenTls("127.0.0.1", 0, tls);
    assert_true(!server.error() && server.port() > 0);
    uvhttp::SetupError details;
    assert_true(tls.replace({.certificates = pairs, .ciphers = "none"}, &details) ==
                UVHTTP_ECONFIG);
    assert_string_equal(details.field, "ciphers");
    assert_true(contains(details.text, "ciphers is \"none\""));
    assert_true(tls.replace({.certificates = pairs, .ciphers = {"a\0b", 3}}, &details) ==
                UVHTTP_EINVAL);
    assert_int_equal(details.code, UVHTTP_EINVAL);
    assert_string_equal(details.text, "invalid argument");
    assert_true(!tls.replace({.certificates = pairs}) && !tls.reload());
    assert_true(
        !tls.replace({.certificates = pairs, .oneTimeTickets = true, .earlyData = 1048576}));
    assert_true(tls.replace({.certificates = pairs, .earlyData = 1048577}) == UVHTTP_ECONFIG);
    assert_true(tls.replace({.certificates = pairs, .maxUsedTickets = 16777217}) == UVHTTP_ECONFIG);
    assert_true(tls.replace({.certificates = pairs, .noTickets = true, .oneTimeTickets = true}) ==
                UVHTTP_ECONFIG);
    const uvhttp::Tls broken({});
    uvhttp::Server other, third;
    other.listenTls("127.0.0.1", 0, broken);
    assert_true(other.error() == UVHTTP_ECONFIG &&
                contains(other.details().text, "certificates is empty"));
    assert_string_equal(other.where(), "tls");
    third.listenFdTls(-1, tls);
    assert_true(bool(third.error()));
    assert_true(
        bool(uvhttp::Tls({.certificates = pairs, .groups = std::string_view("a\0b", 3)}).error()));
}

static void test_failed_allocations_of_exchange_are_handled(void **)
{
    int alive = 0;
    for (const char *target :
         {"/later", "/defer", "/up", "/pull", "/stream", "/owned", "/parts", "/connection"}) {
        int fine = 0;
        for (long left = 0; fine < 3; left++) {
            Stage stage;
            stage.server->use([&alive](Request req, Response res) {
                if (req.attach<Tracked>(alive) == nullptr)
                    return Result(UVHTTP_ENOMEM);
                Result error = res.onSend(
                    [tracked = Tracked(alive)](Response out) { return out.setHeader("X", "y"); });
                return error ? error : uvhttp::next;
            });
            stage.server->get("/later", [&alive](Response res) {
                Later later = res.later([tracked = Tracked(alive)] {});
                return later ? later->sendText(200, "x") : Result(UVHTTP_ENOMEM);
            });
            stage.server->get("/defer", [&alive](Response res) {
                return res.defer([tracked = Tracked(alive)] { return 7; },
                                 [tracked = Tracked(alive)](Response out, int) {
                                     return out.sendText(200, "x");
                                 });
            });
            stage.server->post("/up",
                               [&alive](Request req) {
                                   return req.onBody([tracked = Tracked(alive)](
                                                         Response res, std::string_view chunk) {
                                       return chunk.empty() ? res.sendText(200, "x") : Result();
                                   });
                               },
                               {.stream = true});
            stage.server->get("/pull", [&alive](Response res) {
                return res.sendPulled(200, nullptr,
                                      [tracked = Tracked(alive)](std::span<char> buffer) {
                                          buffer[0] = 'x';
                                          return uvhttp::Pulled(1, uvhttp::end);
                                      });
            });
            stage.server->get("/stream", [&alive](Response res) {
                return res.upgrade("echo", [tracked = Tracked(alive)](
                                               Stream stream, std::string_view) { stream.end(); });
            });
            stage.server->get("/parts", [&alive](Response res) {
                const uvhttp::BodyPart parts[] = {uvhttp::memoryPart("a"), uvhttp::memoryPart("b")};
                return res.sendParts(200, nullptr, parts, Tracked(alive));
            });
            stage.server->get("/connection", [&alive](Request req, Response res) {
                return req.attachToConnection<Tracked>(alive) == nullptr ? Result(UVHTTP_ENOMEM)
                                                                         : res.sendText(200, "x");
            });
            stage.server->get("/owned", [](Response res) {
                return res.sendOwned(200, nullptr, std::string(9000, 'x'));
            });
            stage.listen();
            const bool streams = target == "/stream"s, posts = target == "/up"s;
            stage.send((posts ? "POST "s : "GET "s)
                           .append(target)
                           .append(" HTTP/1.1\r\nHost: h\r\n")
                           .append(streams ? "Connection: upgrade\r\nUpgrade: echo\r\n\r\nx"
                                   : posts ? "Content-Length: 3\r\n\r\nabc"
                                           : "\r\n"));
            memory_left = left;
            bool responded = false;
            stage.runUntil([&] {
                responded = contains(stage.received(), streams ? "HTTP/1.1 101 " : "HTTP/1.1 200 ");
                return responded || stage.client.ended || contains(stage.received(), "HTTP/1.1 50");
            });
            memory_left = -1;
            fine += responded;
            stage.end();
            assert_int_equal(alive, 0);
            assert_true(left < 500);
        }
    }
}

int main()
{
    uv_replace_allocator(
        [](std::size_t size) { return count_allocation(std::malloc(size)); },
        [](void *memory, std::size_t size) { return count_allocation(std::realloc(memory, size)); },
        [](std::size_t count, std::size_t size) {
            return count_allocation(std::calloc(count, size));
        },
        std::free);
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_handlers_of_every_signature),
        cmocka_unit_test(test_captures_live_until_server_ends),
        cmocka_unit_test(test_captures_of_exchange_are_destroyed),
        cmocka_unit_test(test_request_does_not_allocate),
        cmocka_unit_test(test_exception_becomes_response),
        cmocka_unit_test(test_never_shed_exempts_requests),
        cmocka_unit_test(logged_failure_replaces_line_of_server),
        cmocka_unit_test(test_pull_functions_return_sizes_and_results),
        cmocka_unit_test(test_texts_need_no_nul),
        cmocka_unit_test(test_text_functions_return_strings),
        cmocka_unit_test(test_requests_need_no_port),
        cmocka_unit_test(test_patterns_have_types_and_suffixes),
        cmocka_unit_test(test_request_accessors_return_values),
        cmocka_unit_test(test_multipart_is_iterated),
        cmocka_unit_test(test_later_detects_end_of_exchange),
        cmocka_unit_test(test_defer_runs_work_on_threads),
        cmocka_unit_test(test_blocking_handler_runs_on_thread),
        cmocka_unit_test(blocking_files_route_is_refused),
        cmocka_unit_test(peer_end_is_reported),
        cmocka_unit_test(test_bodies_trailers_and_events_are_sent),
        cmocka_unit_test(test_stream_callbacks_are_called),
        cmocka_unit_test(test_null_text_is_an_error),
        cmocka_unit_test(test_first_setup_error_is_kept),
        cmocka_unit_test(test_server_without_memory_fails),
        cmocka_unit_test(test_server_runs_own_loop),
        cmocka_unit_test(test_server_is_destroyed_in_on_stopped),
        cmocka_unit_test(test_destroyed_server_cancels_on_stopped),
        cmocka_unit_test(test_hosts_groups_and_route_list_work),
        cmocka_unit_test(test_reload_replaces_routes),
        cmocka_unit_test(test_drain_has_times_and_a_result),
        cmocka_unit_test(test_empty_spans_are_accepted),
        cmocka_unit_test(test_middleware_modules_work),
        cmocka_unit_test(test_templates_expand),
        cmocka_unit_test(test_rewrites_and_router_data_work),
        cmocka_unit_test(test_cors_and_security_headers_are_sent),
        cmocka_unit_test(test_authentication_and_address_rules_decide),
        cmocka_unit_test(test_compression_and_filters_work),
        cmocka_unit_test(test_invalid_middleware_keeps_error),
        cmocka_unit_test(test_uploads_and_forms_are_received),
        cmocka_unit_test(test_body_parts_are_sent),
        cmocka_unit_test(test_files_are_served_with_options),
        cmocka_unit_test(route_is_known_and_counted),
        cmocka_unit_test(chosen_files_and_own_tags_evaluate_conditions),
        cmocka_unit_test(test_event_hub_publishes_to_subscribers),
        cmocka_unit_test(test_event_hub_sends_missed_events),
        cmocka_unit_test(test_post_to_runs_on_worker),
        cmocka_unit_test(test_timers_and_signals_end_with_server),
        cmocka_unit_test(timers_after_stop_are_no_error),
        cmocka_unit_test(times_of_timers_are_checked),
        cmocka_unit_test(exceptions_of_server_callbacks_are_logged),
        cmocka_unit_test(log_function_outlives_last_line),
        cmocka_unit_test(test_server_waits_for_threads_with_reference),
        cmocka_unit_test(test_sockets_proxies_and_connection_data_work),
        cmocka_unit_test(main_prints_the_url_of_a_listener),
        cmocka_unit_test(test_tls_options_are_applied),
        cmocka_unit_test(test_failed_allocations_of_exchange_are_handled),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
