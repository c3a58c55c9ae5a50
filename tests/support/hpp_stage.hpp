/* For the tests of uvhttp.hpp: an allocator that counts and fails on demand, and a server with a
 * client on one thread. Only one file of a program includes this, since it replaces `new` and
 * `delete`. That file includes uvhttp.hpp before. */
#ifndef UVH_SUPPORT_HPP_STAGE_HPP
#define UVH_SUPPORT_HPP_STAGE_HPP

#include <atomic>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include <uv.h>

#include <uvhttp.hpp>

extern "C" {
#include "support/raw_client.h"
/* Last, since it defines the macros skip and fail. */
#include <cmocka.h>
}

using uvhttp::Server;

/* ---- counted memory ---- */

/* atomic, since threads of the pool allocate, too */
[[maybe_unused]] static std::atomic<std::size_t> allocations;

static bool out_of_memory; /* for the server's allocator */
/* Number of allocations that still succeed, by the server's allocator and by `new` with
 * std::nothrow. Negative: no limit. */
static long memory_left = -1;

static bool has_memory()
{
    return !out_of_memory && (memory_left < 0 || memory_left-- > 0);
}

[[gnu::noinline]] static void *count_allocation(void *memory)
{
    allocations++;
    return memory;
}

[[gnu::noinline]] void *operator new(std::size_t size)
{
    if (void *memory = count_allocation(std::malloc(size == 0 ? 1 : size)))
        return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
    return has_memory() ? count_allocation(std::malloc(size == 0 ? 1 : size)) : nullptr;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept
{
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

static const uvhttp_allocator_t counted = {
    [](std::size_t size, void *) {
        return has_memory() ? count_allocation(std::malloc(size)) : nullptr;
    },
    [](void *memory, std::size_t size, void *) {
        return has_memory() ? count_allocation(std::realloc(memory, size)) : nullptr;
    },
    [](void *memory, void *) { std::free(memory); }, nullptr};

/* ---- a server and a client on one thread ---- */

/* Counts its live objects in `alive`, moved-from objects included. */
class Tracked
{
public:
    explicit Tracked(int &alive) : alive_(&alive) { ++*alive_; }
    Tracked(Tracked &&other) noexcept : alive_(other.alive_) { ++*alive_; }
    Tracked(const Tracked &) = delete;
    Tracked &operator=(const Tracked &) = delete;
    ~Tracked() { --*alive_; }

private:
    int *alive_;
};

struct RawResponse {
    int status = 0;
    std::string head;
    std::string body;
};

[[maybe_unused]] static raw_client closed_client()
{
    raw_client client = {};
    client.socket = -1;
    return client;
}

class Stage
{
public:
    explicit Stage(std::size_t routeStats = 0)
    {
        assert_int_equal(uv_loop_init(&loop), 0);
        uv_timer_init(&loop, &pulse_);
        uv_unref(reinterpret_cast<uv_handle_t *>(&pulse_));
        uvhttp::Config config;
        config->allocator = &counted;
        config->drain_timeout = 0;
        config->route_stats = routeStats;
        config.onLog([this](uvhttp_log_level_t level, std::string_view message) {
            if (level == UVHTTP_LOG_ERROR)
                (errors += message) += "\n";
        });
        server.emplace(&loop, std::move(config));
    }
    Stage(const Stage &) = delete;
    Stage &operator=(const Stage &) = delete;
    ~Stage() { end(); }

    /* The loop closes, so the server has released all of its handles. */
    void end()
    {
        if (ended_)
            return;
        ended_ = true;
        raw_client_close(&client, false);
        server.reset();
        uv_close(reinterpret_cast<uv_handle_t *>(&pulse_), nullptr);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&loop), 0);
    }
    void listen()
    {
        server->listen("127.0.0.1", 0);
        if (server->error())
            print_error("%s: %s\n", server->where(), server->error().text());
        assert_false(bool(server->error()));
        connect();
    }
    void connect()
    {
        raw_client_close(&client, false);
        raw_client_connect(&client, server->port(), 0);
        offset_ = 0;
    }
    void iterate()
    {
        raw_client_step(&client, 65536);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    template <class Done> void runUntil(Done done)
    {
        for (int i = 0; i < 200000; i++) {
            if (done())
                return;
            raw_client_step(&client, 65536);
            /* Blocks for a short time at most, for work on other threads. Repeats, since the first
             * timeout may expire before the loop polls. */
            uv_timer_start(
                &pulse_, [](uv_timer_t *) {}, 1, 1);
            uv_run(&loop, UV_RUN_ONCE);
        }
        fail_msg("no progress");
    }
    void send(std::string_view text) { raw_client_send(&client, text.data(), text.size()); }
    RawResponse response(bool bodiless = false)
    {
        raw_response raw = {};
        runUntil(
            [&] { return raw_client_response(&client, &offset_, bodiless, &raw) || client.ended; });
        return {raw.status, std::string(raw.head == nullptr ? "" : raw.head, raw.head_length),
                std::string(raw.body == nullptr ? "" : raw.body, raw.body_length)};
    }
    RawResponse request(const std::string &target, const std::string &fields = "",
                        const std::string &body = "", const std::string &method = "")
    {
        send((!method.empty() ? method
              : body.empty()  ? "GET"
                              : "POST") +
             " " + target + " HTTP/1.1\r\nHost: h\r\n" + fields +
             (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") +
             "\r\n" + body);
        return response();
    }
    std::string received() const
    {
        return client.data == nullptr
                   ? std::string()
                   : std::string(client.data + offset_, client.received - offset_);
    }

    uv_loop_t loop;
    std::string errors;
    std::optional<Server> server;
    raw_client client = closed_client();

private:
    uv_timer_t pulse_;
    std::size_t offset_ = 0;
    bool ended_ = false;
};

[[maybe_unused]] static void assert_response(const RawResponse &response, int status,
                                             std::string_view body)
{
    if (response.body != body)
        print_error("received '%s', expected '%.*s'\n", response.body.c_str(),
                    static_cast<int>(body.size()), body.data());
    assert_int_equal(response.status, status);
    assert_true(response.body == body);
}

[[maybe_unused]] static bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != text.npos;
}

#endif
