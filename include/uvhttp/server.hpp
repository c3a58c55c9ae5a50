/* The server (server.h) and its configuration.
 *
 * Setup is a chain of calls without individual checks: after the first error, further calls do
 * nothing; run() and error() return it. Loop thread only, except stop(). With several workers
 * (config.h) handlers run on several threads concurrently. */
#ifndef UVHTTP_SERVER_HPP
#define UVHTTP_SERVER_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/access_log.h>
#include <uvhttp/callback.hpp>
#include <uvhttp/config.h>
#include <uvhttp/embedding.h>
#include <uvhttp/health.h>
#include <uvhttp/metrics.h>
#include <uvhttp/modules.hpp>
#include <uvhttp/router.hpp>
#include <uvhttp/server.h>
#include <uvhttp/static.h>
#include <uvhttp/status_page.h>
#include <uvhttp/tls.hpp>

namespace uvhttp
{

class Topics;
struct TopicsOptions;

using Stats = uvhttp_stats_t;
using Outcome = uvhttp_outcome_t;

/* A uvhttp_config_t with all defaults: config->max_connections = 100. Move it into a server:
 * Server server(std::move(config)). */
class Config
{
public:
    Config() noexcept
    {
        const std::unique_ptr<uvhttp_config_t, detail::Freer<uvhttp_config_free>> defaults(
            uvhttp_config_new());
        if (defaults)
            values_ = *defaults;
        else
            error_ = UVHTTP_ENOMEM;
    }
    uvhttp_config_t *operator->() noexcept { return &values_; }
    const uvhttp_config_t *operator->() const noexcept { return &values_; }

    /* `log` gets a uvhttp_log_level_t and a std::string_view; also called on other threads of
     * the server (config.h). */
    template <class F> Config &onLog(F &&log)
    {
        using Kept = std::decay_t<F>;
        std::unique_ptr<Kept> kept(new (std::nothrow) Kept(std::forward<F>(log)));
        if (!kept) {
            error_ = UVHTTP_ENOMEM;
            return *this;
        }
        values_.log = [](uvhttp_log_level_t level, const char *message, void *arg) noexcept {
            detail::swallow([&] { detail::stored<Kept>(arg)(level, std::string_view(message)); });
        };
        values_.log_arg = kept.get();
        log_ = {kept.release(), detail::destroy<Kept>};
        return *this;
    }

private:
    friend class Server;

    uvhttp_config_t values_ = {};
    Result error_;
    std::unique_ptr<void, void (*)(void *)> log_ = {nullptr, nullptr};
};

namespace detail
{

/* Posting to the workers of a server: Server and ServerRef. Any thread. */
template <class Derived> class Posts
{
public:
    /* Calls `function`, with the worker's number if it takes one, on the thread of a worker:
     * Request::worker for a response from another thread; 0 for timers and signals. It is moved to
     * the heap, and destroyed after the call on the worker's thread; after an error immediately, on
     * this thread. An exception is logged. */
    template <class F> [[nodiscard]] Result postTo(std::size_t worker, F &&function) const
    {
        using Kept = std::decay_t<F>;
        std::unique_ptr<Kept> kept(new (std::nothrow) Kept(std::forward<F>(function)));
        return kept ? postTo(worker, kept) : Result(UVHTTP_ENOMEM);
    }
    /* The same with a function on the heap, which the caller keeps after an error: for functions
     * that hold a Later, which no other thread may destroy. */
    template <class F>
    [[nodiscard]] Result postTo(std::size_t worker, std::unique_ptr<F> &function) const noexcept
    {
        static_assert(takes<F, std::size_t>,
                      "the function takes no argument or the index of the worker");
        if (!function)
            return UVHTTP_EINVAL;
        /* it may run and be destroyed before the call returns */
        F *const given = function.release();
        const int error = uvhttp_server_post(
            server(), worker,
            [](uvhttp_server_t *posted, std::size_t number, void *arg) noexcept {
                const std::unique_ptr<F> run(static_cast<F *>(arg));
                logged(posted, "posted function", [&] { callWith(*run, number); });
            },
            given);
        if (error != 0)
            function.reset(given);
        return error;
    }
    std::size_t workerCount() const noexcept { return uvhttp_server_worker_count(server()); }

private:
    uvhttp_server_t *server() const noexcept
    {
        return static_cast<const Derived *>(this)->native();
    }
};

} // namespace detail

/* A reference to a server for a thread that posts: the server does not end before the reference is
 * destroyed, so posting to it succeeds, and Server::run waits for the thread (uvhttp_server_ref).
 * So does the destructor of a server that does not listen, after it has called onStopping. Any
 * thread. */
class ServerRef : public detail::Posts<ServerRef>
{
public:
    ServerRef(const ServerRef &other) noexcept : ServerRef(other.server_) {}
    ServerRef(ServerRef &&other) noexcept : server_(std::exchange(other.server_, nullptr)) {}
    ServerRef &operator=(ServerRef other) noexcept
    {
        std::swap(server_, other.server_);
        return *this;
    }
    ~ServerRef() { uvhttp_server_unref(server_); }

    /* NULL after a move. */
    uvhttp_server_t *native() const noexcept { return server_; }
    void stop() const noexcept { uvhttp_server_stop(server_); }

private:
    friend class Server;
    explicit ServerRef(uvhttp_server_t *server) noexcept : server_(server)
    {
        uvhttp_server_ref(server);
    }

    uvhttp_server_t *server_;
};

/* For Server::onError: the body becomes {"error": reason}. */
inline Result errorAsJson(Request request, Response response, std::string_view reason) noexcept
{
    const Text text(reason);
    return text.error() != 0
               ? text.error()
               : uvhttp_error_as_json(request.native(), response.native(), text.c_str(), nullptr);
}

class Server : public detail::Routes<Server>, public detail::Posts<Server>
{
public:
    /* Without `loop` the server owns a loop, which run() runs. Otherwise the loop must outlive
     * the server, whose memory is released when the loop has run the last close callback. May
     * throw std::bad_alloc only; error() returns other failures. */
    explicit Server(uv_loop_s *loop = nullptr) : setup_(std::make_unique<detail::Setup>())
    {
        begin(uvhttp_server_new(loop));
    }
    explicit Server(Config config) : Server(nullptr, std::move(config)) {}
    Server(uv_loop_s *loop, Config config) : setup_(std::make_unique<detail::Setup>())
    {
        begin(config.error_ ? nullptr : uvhttp_server_new_with(loop, &config.values_));
        if (!config.log_ || setup_->error())
            return;
        const int error = uvhttp_server_own(native(), config.log_.get_deleter(), config.log_.get());
        if (setup_->note(error, "log")) {
            (void)config.log_.release();
            return;
        }
        uvhttp_server_free(native()); /* would log to the destroyed function */
        setup_->setServer(nullptr);
    }
    Server(Server &&) noexcept = default;
    Server &operator=(Server &&) noexcept = default;
    /* Closes all connections immediately, and destroys handlers. Not from a handler. */
    ~Server() = default;

    /* NULL when out of memory, and after a move; no other function may be called then. */
    uvhttp_server_t *native() const noexcept { return setup_ ? setup_->server() : nullptr; }

    /* The first error of setup, and the call or object that it is of: "GET /:a/:a", "files /",
     * "tls"; valid as long as the server. */
    Result error() const noexcept { return setup_->error(); }
    const char *where() const noexcept { return setup_->where(); }
    /* What was wrong: option, value and reason; valid as long as the server. */
    const SetupError &details() const noexcept { return setup_->details(); }

    Router router() noexcept { return Router(*setup_, routes()); }
    Router group(const Text &prefix) noexcept { return router().group(prefix); }
    /* A virtual host: "example.com", "*.example.com". */
    Router host(const Text &name) noexcept
    {
        uvhttp_router_t *host = nullptr;
        if (!setup_->error() && setup_->note(name.error(), "host"))
            setup_->note(uvhttp_router_host(routes(), name.c_str(), &host), "host", name.view());
        return Router(*setup_, host);
    }

    /* Serves a directory below `prefix` ("/assets/"); static.h. */
    Server &files(const Text &prefix, const FileOptions &options) noexcept
    {
        if (!setup_->error() && setup_->note(prefix.error(), "files")) {
            SetupError details = {};
            const int error = options.with([&](const uvhttp_static_options_t &raw) {
                return uvhttp_static_mount(native(), prefix.c_str(), &raw, &details);
            });
            setup_->note(error, "files", prefix.view(), &details);
        }
        return *this;
    }
    /* The same with an open one, which must outlive the server. */
    Server &files(const Text &prefix, const Files &files) noexcept
    {
        const Native given = files;
        if (!setup_->error() && setup_->note(prefix.error(), "files") &&
            setup_->note(given.error.code(), given.what, prefix.view(), given.details)) {
            SetupError details = {};
            setup_->note(
                uvhttp_static_mount_context(native(), prefix.c_str(), files.native(), &details),
                "files", prefix.view(), &details);
        }
        return *this;
    }
    /* The server keeps a temporary one. */
    Server &files(const Text &prefix, Files &&given)
    {
        const Files *kept = setup_->keep(std::move(given), "files");
        return kept == nullptr ? *this : files(prefix, *kept);
    }
    /* A GET route with the counters of this server for Prometheus. */
    Server &metrics(const Text &pattern)
    {
        return get(pattern, Native{uvhttp_metrics_handle_request, native()});
    }

    /* A GET route with the status page of this server (status_page.h). */
    Server &status(const Text &pattern)
    {
        setup_->note(uvhttp_server_route_status(native(), pattern.c_str()), "status",
                     pattern.view());
        return *this;
    }

    /* GET routes for probes (health.h). */
    Server &health(const Text &live = "/healthz", const Text &ready = "/readyz")
    {
        return get(live, Native{uvhttp_health_handle_live, nullptr})
            .get(ready, Native{uvhttp_health_handle_ready, nullptr});
    }
    /* A check of readiness: returns NULL, or the reason in one line, as a const char *. An
     * exception is a failure. */
    template <class F> Server &readyCheck(const Text &name, F &&check)
    {
        using Kept = std::decay_t<F>;
        if (Kept *kept = setup_->keep<uvhttp_server_keep>(std::forward<F>(check), "readyCheck"))
            setup_->note(uvhttp_server_add_check(
                             native(), name.c_str(),
                             [](void *arg) noexcept -> const char * {
                                 const char *reason = "the check has thrown an exception";
                                 detail::swallow([&] { reason = detail::stored<Kept>(arg)(); });
                                 return reason;
                             },
                             kept),
                         "readyCheck", name.view());
        return *this;
    }

    /* Topics for WebSockets, owned by the server; see topics.hpp. */
    Topics topics() noexcept;
    Topics topics(const TopicsOptions &options) noexcept;

    /* `finished` gets a Request, a Response and a const Outcome & after each exchange. A second
     * call replaces the first. */
    template <class F> Server &onFinished(F &&finished)
    {
        using Kept = std::decay_t<F>;
        if constexpr (std::is_same_v<Kept, AccessLog>) {
            if (!setup_->error() &&
                setup_->note(finished.error().code(), "access log", {}, &finished.details()))
                uvhttp_server_on_finished(native(), uvhttp_access_log_finished, finished.native());
            if constexpr (!std::is_lvalue_reference_v<F>)
                (void)setup_->keep(std::forward<F>(finished), "access log");
        } else if (Kept *kept = setup_->keep(std::forward<F>(finished), "onFinished")) {
            uvhttp_server_on_finished(
                native(),
                [](uvhttp_request_t *request, uvhttp_response_t *response,
                   const uvhttp_outcome_t *outcome, void *arg) noexcept {
                    detail::logged(response, [&] {
                        detail::stored<Kept>(arg)(Request(request), Response(response), *outcome);
                    });
                },
                kept);
        }
        return *this;
    }

    /* The form of error responses (uvhttp_server_on_error): `error` gets a Request, a Response and
     * the reason as std::string_view, optionally without the Request, and changes fields and body
     * with setHeader and replaceBody. server.onError(uvhttp::errorAsJson). A second call replaces
     * the first. */
    template <class F> Server &onError(F &&error)
    {
        using Kept = std::decay_t<F>;
        static_assert(detail::takes<Kept, Request, Response, std::string_view>,
                      "the function takes a Response and the reason as a std::string_view");
        if (Kept *kept = setup_->keep(std::forward<F>(error), "onError"))
            uvhttp_server_on_error(
                native(),
                [](uvhttp_request_t *request, uvhttp_response_t *response, const char *reason,
                   void *arg) noexcept {
                    return detail::guard(response, [&] {
                        return detail::callWith(detail::stored<Kept>(arg), Request(request),
                                                Response(response), std::string_view(reason));
                    });
                },
                kept);
        return *this;
    }

    /* Requests that overload_guard never sheds (uvhttp_server_never_shed): `neverShed` gets a
     * Request and returns true for those; an exception counts as false. A second call replaces the
     * first. */
    template <class F> Server &neverShed(F &&neverShed)
    {
        using Kept = std::decay_t<F>;
        if (Kept *kept = setup_->keep(std::forward<F>(neverShed), "neverShed"))
            uvhttp_server_never_shed(
                native(),
                [](uvhttp_request_t *request, void *arg) noexcept {
                    bool exempt = false;
                    detail::logged(uvhttp_request_response(request),
                                   [&] { exempt = detail::stored<Kept>(arg)(Request(request)); });
                    return exempt;
                },
                kept);
        return *this;
    }

    /* Called once, on the first worker's thread, when the server begins to stop. */
    template <class F> Server &onStopping(F &&stopping)
    {
        using Kept = std::decay_t<F>;
        if (Kept *kept = setup_->keep<uvhttp_server_keep>(std::forward<F>(stopping), "onStopping"))
            uvhttp_server_on_stopping(
                native(),
                [](uvhttp_server_t *server, void *arg) noexcept {
                    detail::logged(server, "onStopping", [&] { detail::stored<Kept>(arg)(); });
                },
                kept);
        return *this;
    }

    /* Called once, when the last connection of a stopped server is closed; on a caller's loop it
     * may destroy the server. Not called if the server is destroyed before. */
    template <class F> Server &onStopped(F &&stopped)
    {
        using Kept = std::decay_t<F>;
        if (Kept *kept = setup_->keep<uvhttp_server_keep>(std::forward<F>(stopped), "onStopped"))
            uvhttp_server_on_stopped(
                native(),
                [](uvhttp_server_t *, void *arg) noexcept {
                    /* Moved out of the server, which it may destroy. */
                    detail::swallow([&] {
                        Kept last(std::move(detail::stored<Kept>(arg)));
                        last();
                    });
                },
                kept);
        return *this;
    }

    /* Calls `function` every `interval`, or once after `delay`, on the first worker's thread, until
     * the server has stopped; `every` also until it returns false. Before run(), or on that thread.
     * The function is destroyed when the timer has ended: immediately if the server has stopped,
     * for example in onStopped. Exceptions are logged. An interval has at least 1 ms; a negative
     * delay is 0; the maximum of both is 4294967295 ms (49 days). */
    template <class F> Server &every(std::chrono::milliseconds interval, F &&function)
    {
        return timer(uvhttp_server_every, "interval", 1, interval, std::forward<F>(function));
    }
    template <class F> Server &after(std::chrono::milliseconds delay, F &&function)
    {
        using std::chrono::milliseconds;
        return timer(uvhttp_server_after, "delay", 0, std::max(delay, milliseconds(0)),
                     std::forward<F>(function));
    }
    /* Calls `function`, with the number if it takes one, on each signal, on the first worker's
     * thread: server.onSignal(SIGHUP, reload). Exceptions are logged. After the server has stopped
     * it does nothing. */
    template <class F> Server &onSignal(int number, F &&function)
    {
        using Kept = std::decay_t<F>;
        static_assert(detail::takes<Kept, int>, "the function takes no argument or the signal");
        if (Kept *kept = setup_->keep<uvhttp_server_keep>(std::forward<F>(function), "onSignal"))
            noteRunning(uvhttp_server_on_signal(
                            native(), number,
                            [](uvhttp_server_t *server, int raised, void *arg) noexcept {
                                detail::logged(server, "onSignal", [&] {
                                    detail::callWith(detail::stored<Kept>(arg), raised);
                                });
                            },
                            kept),
                        "onSignal");
        return *this;
    }

    /* Replaces the set-up of a running server: `setUp` gets this server, and adds routes as before
     * it listened; see uvhttp_server_begin_reload for what is replaced, and for the thread. On an
     * error, which details() describes, or an exception the present set-up goes on. */
    template <class F> [[nodiscard]] Result reload(F &&setUp)
    {
        struct AtEnd {
            uvhttp_server_t *server;
            detail::Setup *setup;
            ~AtEnd()
            {
                uvhttp_server_cancel_reload(server); /* nothing after the reload was applied */
                setup->forgetError();
            }
        };
        if (const int error = uvhttp_server_begin_reload(native()))
            return error;
        const AtEnd atEnd{native(), setup_.get()};
        setup_->forgetError();
        setUp(*this);
        if (!setup_->error())
            (void)setup_->note(uvhttp_server_apply_reload(native()), "reload");
        return setup_->error();
    }

    /* Keeps an object for handlers: as long as the set-up, which a reload replaces, or as long as
     * the server. Returns its address, also after an error of set-up; NULL when out of memory, and
     * without a server. A reload that fails destroys what it has given to own(), and keeps what it
     * has given to keep(). */
    template <class T> std::decay_t<T> *own(T &&object)
    {
        return setup_->keepAlways(std::forward<T>(object), "own");
    }
    template <class T> std::decay_t<T> *keep(T &&object)
    {
        return setup_->keepAlways<uvhttp_server_keep>(std::forward<T>(object), "keep");
    }

    /* Listens on a numeric address; port 0 selects a free port. May be called repeatedly. */
    Server &listen(const Text &address, int port) noexcept
    {
        char where[96];
        std::snprintf(where, sizeof where, "%s port %d",
                      address.c_str() == nullptr ? "" : address.c_str(), port);
        if (!setup_->error() && setup_->note(address.error(), "listen"))
            setup_->note(uvhttp_server_listen(native(), address.c_str(), port), where);
        return *this;
    }
    /* The same with TLS (tls.hpp). */
    Server &listenTls(const Text &address, int port, const Tls &tls) noexcept
    {
        char where[96];
        std::snprintf(where, sizeof where, "%s port %d",
                      address.c_str() == nullptr ? "" : address.c_str(), port);
        if (!setup_->error() && setup_->note(address.error(), "listen") && takes(tls))
            setup_->note(uvhttp_server_listen_tls(native(), address.c_str(), port, tls.native()),
                         where);
        return *this;
    }
    /* On a Unix socket; `mode` is the permissions of its file, 0: by the umask; `owner` and `group`
     * are numbers, -1: those of the process (embedding.h). */
    Server &listenUnix(const Text &path, unsigned mode = 0, std::int64_t owner = -1,
                       std::int64_t group = -1) noexcept
    {
        if (!setup_->error() && setup_->note(path.error(), "listen"))
            setup_->note(
                uvhttp_server_listen_unix_owned(native(), path.c_str(), mode, owner, group),
                "listen", path.view());
        return *this;
    }
    /* On a listening socket, which the server then owns; after an error the caller keeps it. */
    Server &listenFd(int descriptor) noexcept
    {
        if (!setup_->error())
            setup_->note(uvhttp_server_listen_fd(native(), descriptor), "descriptor");
        return *this;
    }
    /* The same with TLS. */
    Server &listenFdTls(int descriptor, const Tls &tls) noexcept
    {
        if (!setup_->error() && takes(tls))
            setup_->note(uvhttp_server_listen_fd_tls(native(), descriptor, tls.native()),
                         "descriptor");
        return *this;
    }
    /* On sockets inherited from systemd; returns their number. */
    std::size_t listenInherited() noexcept
    {
        std::size_t count = 0;
        if (!setup_->error())
            setup_->note(uvhttp_server_listen_inherited(native(), &count), "inherited sockets");
        return count;
    }
    /* Sets the trusted proxies: server.trustProxies({"10.0.0.0/8", "unix"}). */
    Server &trustProxies(std::span<const char *const> prefixes,
                         uvhttp_forwarding_t fields = UVHTTP_FORWARDING_X) noexcept
    {
        if (!setup_->error())
            setup_->note(
                uvhttp_server_trust_proxies(native(), prefixes.data(), prefixes.size(), fields),
                "proxies");
        return *this;
    }
    Server &trustProxies(std::initializer_list<const char *> prefixes,
                         uvhttp_forwarding_t fields = UVHTTP_FORWARDING_X) noexcept
    {
        return trustProxies(std::span(prefixes.begin(), prefixes.size()), fields);
    }
    /* Ends listening at an address and port, at the path of a Unix socket, or on a descriptor;
     * connections stay. */
    Result unlisten(const char *address, int port) noexcept
    {
        return uvhttp_server_unlisten(native(), address, port);
    }
    Result unlistenUnix(const char *path) noexcept
    {
        return uvhttp_server_unlisten_unix(native(), path);
    }
    Result unlistenFd(int fd) noexcept { return uvhttp_server_unlisten_fd(native(), fd); }
    /* Connections of these proxies begin with a header of the PROXY protocol. */
    Server &acceptProxyProtocol(std::initializer_list<const char *> sources,
                                uvhttp_proxy_others_t others = UVHTTP_PROXY_OTHERS_DIRECT) noexcept
    {
        if (!setup_->error())
            setup_->note(uvhttp_server_accept_proxy_protocol(native(), sources.begin(),
                                                             sources.size(), others),
                         "PROXY protocol");
        return *this;
    }
    /* SIGINT and SIGTERM stop the server, a second signal immediately. */
    Server &stopOnSignals() noexcept
    {
        if (!setup_->error())
            setup_->note(uvhttp_server_stop_on_signals(native()), "signals");
        return *this;
    }

    /* Runs until the server has stopped. Returns the first error of setup, or an error of libuv. */
    [[nodiscard]] Result run() noexcept
    {
        if (!setup_->error())
            setup_->note(uvhttp_server_run(native()), "run");
        return setup_->error();
    }
    /* Sets a number of the configuration (uvhttp_server_set): server.set("workers", "4"). */
    Server &set(const Text &name, const Text &value) noexcept
    {
        const int error = detail::errorOf(name, value);
        if (!setup_->error())
            setup_->note(error != 0 ? error
                                    : uvhttp_server_set(native(), name.c_str(), value.c_str()),
                         "set", name.view());
        return *this;
    }
    /* The end of the main function: listens, prints the URLs, stops on SIGINT and SIGTERM, and
     * runs; or prints the first error of setup (uvhttp_server_main):
     *
     *     return server.main("127.0.0.1", 8080);
     *
     * `address` nullptr: the server listens already. Returns the exit status. The server is
     * destroyed, as after a move. */
    [[nodiscard]] int main(const Text &address, int port) noexcept
    {
        if (!setup_->error() && setup_->note(address.error(), "listen")) {
            const int status = uvhttp_server_main(native(), address.c_str(), port);
            setup_->setServer(nullptr);
            return status;
        }
        std::fprintf(stderr, "%s\n", details().text);
        return 1;
    }
    /* Any thread. */
    void stop() noexcept { uvhttp_server_stop(native()); }
    Result drain(const uvhttp_drain_t &times) noexcept
    {
        return Result(uvhttp_server_drain(native(), &times));
    }
    /* All 0 unless the server has stopped. */
    uvhttp_drain_result_t drainResult() noexcept
    {
        uvhttp_drain_result_t result = {};
        uvhttp_server_drain_result(native(), &result);
        return result;
    }

    /* For a thread that posts, taken in a handler or before the server stops. */
    ServerRef ref() const noexcept { return ServerRef(native()); }

    /* The ports of the first and the last listener, 0 before; the loop; the refreshed counters, all
     * 0 without a server. */
    int port() noexcept { return uvhttp_server_port(native()); }
    int lastPort() noexcept { return uvhttp_server_last_port(native()); }
    uv_loop_s *loop() noexcept { return uvhttp_server_loop(native()); }
    const Stats &stats() noexcept
    {
        static constexpr Stats none = {};
        const Stats *found = uvhttp_server_stats(native());
        return found == nullptr ? none : *found;
    }
    /* Calls `each` with a const uvhttp_route_stats_t & for each route, method and status class
     * (config->route_stats). */
    template <class F> void eachRouteStats(F &&each) const
    {
        auto call = [&each](const uvhttp_route_stats_t &stats) { each(stats); };
        (void)uvhttp_server_each_route_stats(
            native(),
            [](const uvhttp_route_stats_t *stats, void *arg) noexcept {
                return detail::swallow([&] { detail::stored<decltype(call)>(arg)(*stats); })
                           ? 0
                           : int{UVHTTP_EINVAL};
            },
            &call);
    }
    /* A copy of the counters, of all workers or of one, on any thread; all 0 without a server. */
    Stats readStats() const noexcept
    {
        Stats stats = {};
        (void)uvhttp_server_read_stats(native(), &stats);
        return stats;
    }
    Stats workerStats(std::size_t worker) const noexcept
    {
        Stats stats = {};
        (void)uvhttp_server_worker_stats(native(), worker, &stats);
        return stats;
    }

private:
    /* For calls that an application also makes in onStopped: a stopped server is no error of its
     * set-up, which run() would return. True if the call has succeeded. */
    bool noteRunning(int error, const char *what) noexcept
    {
        return error != UVHTTP_ESTOPPED && setup_->note(error, what);
    }
    bool checkTime(const char *name, int least, std::chrono::milliseconds time) noexcept
    {
        if (time.count() >= least && time.count() <= std::int64_t{UINT32_MAX})
            return true;
        const auto value = static_cast<long long>(time.count());
        char allowed[64];
        std::snprintf(allowed, sizeof allowed, "allowed are %d to 4294967295 milliseconds", least);
        SetupError details = {};
        details.code = UVHTTP_EINVAL;
        std::snprintf(details.field, sizeof details.field, "%s", name);
        std::snprintf(details.value, sizeof details.value, "%lld", value);
        std::snprintf(details.reason, sizeof details.reason, "%s", allowed);
        std::snprintf(details.text, sizeof details.text, "%s is %lld; %s", name, value, allowed);
        return setup_->note(UVHTTP_EINVAL, "timer", {}, &details);
    }
    template <class Start, class F>
    Server &timer(Start start, const char *name, int least, std::chrono::milliseconds time,
                  F &&function)
    {
        struct Timer {
            std::decay_t<F> function;
            uvhttp_timer_t *handle;
        };
        if (setup_->error() || !checkTime(name, least, time))
            return *this;
        std::unique_ptr<Timer> kept(new (std::nothrow) Timer{std::forward<F>(function), nullptr});
        if (!setup_->note(kept ? 0 : int{UVHTTP_ENOMEM}, "timer"))
            return *this;
        const auto run = [](uvhttp_server_t *server, void *arg) noexcept {
            Timer &timer = detail::stored<Timer>(arg);
            detail::logged(server, "timer", [&] {
                if constexpr (std::is_same_v<decltype(timer.function()), bool>) {
                    if (!timer.function())
                        uvhttp_timer_stop(timer.handle);
                } else {
                    timer.function();
                }
            });
        };
        const int error = start(native(), static_cast<std::uint32_t>(time.count()), run, kept.get(),
                                &kept->handle);
        if (noteRunning(error, "timer")) {
            uvhttp_timer_own(kept->handle, detail::destroy<Timer>);
            (void)kept.release();
        }
        return *this;
    }
    bool takes(const Tls &tls) noexcept
    {
        return setup_->note(tls.error().code(), "tls", {}, &tls.details());
    }
    friend class detail::Routes<Server>;

    detail::Setup &setup() noexcept { return *setup_; }
    uvhttp_router_t *routes() const noexcept { return uvhttp_server_router(native()); }
    void begin(uvhttp_server_t *server) noexcept
    {
        setup_->setServer(server);
        setup_->note(server == nullptr ? int{UVHTTP_ENOMEM} : 0, "server");
    }

    std::unique_ptr<detail::Setup> setup_;
};

} // namespace uvhttp

#endif
