/* Routes, groups, hosts and middleware (router.h), with callables that have captures.
 *
 * A handler takes a Request and a Response, or one of them, and returns nothing, a Result or an
 * int. Nothing and 0 mean that it responds now or later; uvhttp::next continues with the next
 * handler; an error becomes 500 or 503. Middleware is the same but must return a result. Both are
 * moved to the heap when added, owned by the server, and destroyed with it. With several workers
 * (config.h), and on blocking threads (RouteOptions::blocking), one handler runs for several
 * requests concurrently: captured state then needs a lock.
 *
 * After the first error (Server::error) nothing more is added, and callables are destroyed
 * immediately. */
#ifndef UVHTTP_ROUTER_HPP
#define UVHTTP_ROUTER_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/callback.hpp>
#include <uvhttp/request.hpp>
#include <uvhttp/response.hpp>
#include <uvhttp/router.h>

namespace uvhttp
{

struct WebSocketOptions;
template <class F> class WebSocketEndpointOf;

/* Options of a route; see uvhttp_route_t. For middleware of a single route use group(""). */
struct RouteOptions {
    bool stream = false;    /* the handler reads the body with Request::onBody */
    bool blocking = false;  /* the handler may block: it runs on a thread of its own */
    bool neverShed = false; /* overload_guard and blocking_wait_ms do not apply */
    std::size_t maxBody = 0;
    std::uint32_t handlerTimeout = 0; /* seconds */
    std::uint32_t bodyTimeout = 0;
    std::uint32_t writeTimeout = 0;
    unsigned timeoutStatus = 0;
    std::string_view upgrade = {}; /* upgrade protocol that clients must offer */
};

/* A C handler or middleware with its argument, for example those of modules.hpp. `error` is set
 * if its creation failed. */
struct Native {
    uvhttp_handler_cb handler = nullptr;
    void *arg = nullptr;
    Result error = {};
    const char *what = "";
    const SetupError *details = nullptr;
};

namespace detail
{

template <class F>
inline constexpr bool takesBoth = std::is_invocable_v<std::decay_t<F> &, Request, Response>;
template <class F>
inline constexpr bool takesResponse = std::is_invocable_v<std::decay_t<F> &, Response>;
template <class F>
inline constexpr bool isHandler =
    takesBoth<F> || takesResponse<F> || std::is_invocable_v<std::decay_t<F> &, Request>;

/* A temporary object of middleware.hpp or modules.hpp, which the server keeps. */
template <class F>
inline constexpr bool isTemporary =
    std::is_convertible_v<const std::decay_t<F> &, Native> && !std::is_convertible_v<F &&, Native>;

template <class F> decltype(auto) callHandler(F &handler, Request request, Response response)
{
    if constexpr (takesBoth<F>)
        return handler(request, response);
    else if constexpr (takesResponse<F>)
        return handler(response);
    else
        return handler(request);
}

template <class F>
int handle(uvhttp_request_t *request, uvhttp_response_t *response, void *arg) noexcept
{
    return guard(response,
                 [&] { return callHandler(stored<F>(arg), Request(request), Response(response)); });
}

/* Common base of a server and its groups. `Self` has setup() and routes(), the C router. */
template <class Self> class Routes
{
public:
    /* `handler` is a callable or a Native. The method "" means any. */
    template <class Handler>
    Self &route(const Text &method, const Text &pattern, Handler &&handler,
                const RouteOptions &options = {})
    {
        const std::string_view verb = method.view(), path = pattern.view();
        const Text protocol(options.upgrade);
        if (!setup().note(errorOf(method, pattern, protocol), verb, path))
            return self();
        const Native native = nativeOf(std::forward<Handler>(handler), verb, path);
        if (native.handler == nullptr)
            return self();
        uvhttp_route_t route = {};
        route.method = verb.empty() ? nullptr : method.c_str();
        route.pattern = pattern.c_str();
        route.handler = native.handler;
        route.arg = native.arg;
        route.max_body_size = options.maxBody;
        route.handler_timeout = options.handlerTimeout;
        route.body_timeout = options.bodyTimeout;
        route.write_timeout = options.writeTimeout;
        route.timeout_status = options.timeoutStatus;
        if (options.stream)
            route.flags |= UVHTTP_ROUTE_STREAM;
        if (options.blocking)
            route.flags |= UVHTTP_ROUTE_BLOCKING;
        if (options.neverShed)
            route.flags |= UVHTTP_ROUTE_NEVER_SHED;
        route.upgrade = options.upgrade.empty() ? nullptr : protocol.c_str();
        setup().note(uvhttp_router_add(self().routes(), &route), verb, path);
        return self();
    }
    template <class Handler>
    Self &get(const Text &pattern, Handler &&handler, const RouteOptions &options = {})
    {
        return route("GET", pattern, std::forward<Handler>(handler), options);
    }
    template <class Handler>
    Self &post(const Text &pattern, Handler &&handler, const RouteOptions &options = {})
    {
        return route("POST", pattern, std::forward<Handler>(handler), options);
    }
    template <class Handler>
    Self &put(const Text &pattern, Handler &&handler, const RouteOptions &options = {})
    {
        return route("PUT", pattern, std::forward<Handler>(handler), options);
    }
    template <class Handler>
    Self &patch(const Text &pattern, Handler &&handler, const RouteOptions &options = {})
    {
        return route("PATCH", pattern, std::forward<Handler>(handler), options);
    }
    /* DELETE. */
    template <class Handler>
    Self &del(const Text &pattern, Handler &&handler, const RouteOptions &options = {})
    {
        return route("DELETE", pattern, std::forward<Handler>(handler), options);
    }
    template <class Handler>
    Self &any(const Text &pattern, Handler &&handler, const RouteOptions &options = {})
    {
        return route("", pattern, std::forward<Handler>(handler), options);
    }

    /* WebSocket: defined in websocket.hpp, which describes handlers. */
    template <class F>
    Self &webSocket(const Text &pattern, F &&handler, const WebSocketOptions &options);
    template <class F> Self &webSocket(const Text &pattern, F &&handler);
    /* An endpoint without a route: for clients, messages to many connections, and routes with
     * options. */
    template <class F>
    WebSocketEndpointOf<std::decay_t<F>> webSocketEndpoint(F &&handler,
                                                           const WebSocketOptions &options);

    /* Adds a middleware: a callable, or one of modules.hpp. */
    template <class Middleware> Self &use(Middleware &&middleware)
    {
        if constexpr (!std::is_convertible_v<Middleware &&, Native> && !isTemporary<Middleware>) {
            static_assert(isHandler<Middleware>,
                          "a middleware takes a Request and a Response, or one of them");
            static_assert(
                !std::is_void_v<decltype(callHandler(std::declval<std::decay_t<Middleware> &>(),
                                                     Request(nullptr), Response(nullptr)))>,
                "a middleware returns uvhttp::next or the result of sending a response");
        }
        const Native native = nativeOf(std::forward<Middleware>(middleware), "middleware", {});
        if (native.handler != nullptr)
            setup().note(uvhttp_router_use(self().routes(), native.handler, native.arg),
                         "middleware");
        return self();
    }

    /* Sets the handling of a trailing slash: UVHTTP_SLASH_REDIRECT, ... */
    Self &slash(uvhttp_slash_t policy) noexcept
    {
        setup().note(uvhttp_router_set_slash(self().routes(), policy), "slash");
        return self();
    }

    /* Rewrites paths before routing: rewrite("/user/:id", "/users/{id}"). */
    Self &rewrite(const Text &pattern, const Text &to)
    {
        if (setup().note(errorOf(pattern, to), "rewrite", pattern.view()))
            setup().note(uvhttp_router_rewrite(self().routes(), pattern.c_str(), to.c_str()),
                         "rewrite", pattern.view());
        return self();
    }

    /* A pointer for handlers, see Request::routerData. */
    Self &setData(void *data) noexcept
    {
        uvhttp_router_set_data(self().routes(), data);
        return self();
    }

    /* True once the server listens, or has tried to: additions fail with UVHTTP_EFROZEN. */
    bool isFrozen() const noexcept
    {
        return uvhttp_router_is_frozen(static_cast<const Self *>(this)->routes());
    }

    /* Calls `each` with a const uvhttp_route_info_t & for every route, in the order added. */
    template <class F> void eachRoute(F &&each) const
    {
        auto call = [&each](const uvhttp_route_info_t &route) { each(route); };
        (void)uvhttp_router_each(
            static_cast<const Self *>(this)->routes(),
            [](const uvhttp_route_info_t *route, void *arg) noexcept {
                return swallow([&] { stored<decltype(call)>(arg)(*route); }) ? 0
                                                                             : int{UVHTTP_EINVAL};
            },
            &call);
    }

protected:
    Routes() = default;

private:
    Self &self() noexcept { return *static_cast<Self *>(this); }
    Setup &setup() noexcept { return self().setup(); }
    template <class Handler>
    Native nativeOf(Handler &&handler, std::string_view what, std::string_view which)
    {
        if constexpr (std::is_convertible_v<Handler &&, Native>) {
            const Native native = std::forward<Handler>(handler);
            if (native.error)
                setup().note(native.error.code(), native.what, {}, native.details);
            return setup().error() ? Native{} : native;
        } else if constexpr (isTemporary<Handler>) {
            const auto *kept = setup().keep(std::forward<Handler>(handler), what, which);
            return kept == nullptr ? Native{} : nativeOf(*kept, what, which);
        } else {
            static_assert(isHandler<Handler>,
                          "a handler takes a Request and a Response, or one of them");
            auto *kept = setup().keep(std::forward<Handler>(handler), what, which);
            return kept == nullptr ? Native{} : Native{handle<std::decay_t<Handler>>, kept};
        }
    }
};

} // namespace detail

/* A group or a host: a view, valid as long as its server. */
class Router : public detail::Routes<Router>
{
public:
    Router(detail::Setup &setup, uvhttp_router_t *router) noexcept : setup_(&setup), router_(router)
    {
    }
    /* NULL after an error. */
    uvhttp_router_t *native() const noexcept { return router_; }

    /* A group in this one; "" for middleware only. */
    Router group(const Text &prefix) const noexcept
    {
        uvhttp_router_t *group = nullptr;
        if (!setup_->error() && setup_->note(prefix.error(), "group"))
            setup_->note(uvhttp_router_group(router_, prefix.c_str(), &group), "group",
                         prefix.view());
        return Router(*setup_, group);
    }

private:
    friend class detail::Routes<Router>;
    detail::Setup &setup() const noexcept { return *setup_; }
    uvhttp_router_t *routes() const noexcept { return router_; }

    detail::Setup *setup_;
    uvhttp_router_t *router_;
};

} // namespace uvhttp

#endif
