/* WebSocket (websocket.h), with callables that have captures.
 *
 *     server.webSocket("/echo", [](uvhttp::WebSocket ws, uvhttp::WebSocketKind kind,
 *                                  std::string_view data) { ws.send(kind, data); });
 *
 * The handler of an endpoint is one of:
 * - a callable for each message, as above, or without the kind: then it gets binary messages, too;
 * - an object for all connections, with the functions below;
 * - a callable that creates an object per connection: it gets the Request, the Response, both or
 *   nothing, and returns the object, a std::optional or a std::unique_ptr of it. An empty one
 *   rejects the client with 403, unless the callable has responded. The object is destroyed after
 *   its `close`.
 *
 *     void message(uvhttp::WebSocket, uvhttp::WebSocketKind, std::string_view)
 *                                       required, also without the kind (then for texts and
 *                                       binary messages); or instead:
 *     void chunk(uvhttp::WebSocket, uvhttp::WebSocketKind, std::string_view, bool last)
 *     void open(uvhttp::WebSocket)
 *     void drain(uvhttp::WebSocket)
 *     void ping(uvhttp::WebSocket, std::string_view)                  and pong
 *     void close(uvhttp::WebSocket, unsigned code, std::string_view reason)
 *     bool admit(uvhttp::Request)       of an object for all connections: accepts or rejects
 *                                       a client; or returns a Result, as in C
 *
 * An object that ends its connection is destroyed when its function has returned. An exception
 * closes the connection with INTERNAL_ERROR. With several workers an object for all connections,
 * and captured state, is used on several threads concurrently. */
#ifndef UVHTTP_WEBSOCKET_HPP
#define UVHTTP_WEBSOCKET_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/callback.hpp>
#include <uvhttp/router.hpp>
#include <uvhttp/tls_client.hpp>
#include <uvhttp/websocket.h>

namespace uvhttp
{

using WebSocketKind = uvhttp_websocket_kind_t;
using WebSocketStats = uvhttp_websocket_stats_t;

/* The sites whose pages may connect: any, or those of a list (an array, vector or span of const
 * char *). An empty list admits no browser. */
class WebSocketOrigins
{
public:
    WebSocketOrigins() noexcept = default; /* an empty list */
    template <class List>
    requires std::convertible_to<List &&, std::span<const char *const>>
    WebSocketOrigins(List &&list)
    noexcept : list_(std::forward<List>(list)) {}
    static WebSocketOrigins any() noexcept
    {
        WebSocketOrigins made;
        made.list_.reset();
        return made;
    }
    /* Absent: any. */
    const std::optional<std::span<const char *const>> &list() const noexcept { return list_; }

private:
    std::optional<std::span<const char *const>> list_ = std::span<const char *const>();
};

/* Options of an endpoint (uvhttp_websocket_options_t); lists are copied. */
struct WebSocketOptions {
    std::span<const char *const> protocols = {}; /* in order of preference */
    bool protocolRequired = false;
    WebSocketOrigins origins = WebSocketOrigins::any();
    std::size_t maxMessageSize = 0;
    std::size_t maxFrameSize = 0;
    std::size_t maxFragments = 0;
    std::size_t maxMessageRate = 0;
    std::size_t highWatermark = 0;
    std::size_t lowWatermark = 0;
    std::size_t maxQueueSize = 0;
    uvhttp_websocket_slow_t slow = UVHTTP_WEBSOCKET_SLOW_CLOSE;
    std::chrono::milliseconds pingInterval = {}; /* uvhttp::never */
    std::chrono::milliseconds idleTimeout = {};
    std::chrono::milliseconds closeTimeout = {};
    uvhttp_websocket_compression_t compression = UVHTTP_WEBSOCKET_COMPRESS_NOT;
    int compressionLevel = 0;
    std::size_t compressionMinSize = 0;
    int windowBits = 0;
    std::size_t maxRatio = 0;
    std::size_t memoryPerConnection = 0;
    std::size_t memory = 0;
    uvhttp_websocket_endpoint_t *sharesMemoryWith = nullptr; /* the native() of an endpoint */
};

/* Target of an outgoing connection. */
struct WebSocketTarget {
    std::string_view url = {};      /* "ws://host[:port]/path?query" or "wss://..." */
    std::string_view fields = {};   /* additional request fields, each "Name: value\r\n" */
    SetupError *details = nullptr;  /* receives the error, or code 0 */
    const TlsClient *tls = nullptr; /* for wss://; omitted: the system's authorities */
};

/* An endpoint, owned by its server: a view. As a handler it performs the handshake:
 * group.get("/chat", endpoint). */
class WebSocketEndpoint
{
public:
    explicit WebSocketEndpoint(uvhttp_websocket_endpoint_t *endpoint = nullptr) noexcept
        : endpoint_(endpoint)
    {
    }
    /* NULL after an error. */
    uvhttp_websocket_endpoint_t *native() const noexcept { return endpoint_; }
    operator Native() const noexcept
    {
        return {uvhttp_websocket_handle_request, endpoint_,
                endpoint_ == nullptr ? Result(UVHTTP_ENOMEM) : Result(), "webSocket"};
    }
    WebSocketStats readStats() const noexcept
    {
        WebSocketStats stats = {};
        if (endpoint_ != nullptr)
            uvhttp_websocket_read_stats(endpoint_, &stats);
        return stats;
    }

private:
    uvhttp_websocket_endpoint_t *endpoint_;
};

/* A message for many connections, framed and compressed once; copies are references, and may
 * outlive the server. Any thread. */
class WebSocketMessage
{
public:
    WebSocketMessage(WebSocketEndpoint endpoint, WebSocketKind kind, std::string_view data) noexcept
        : message_(
              endpoint.native() == nullptr
                  ? nullptr
                  : uvhttp_websocket_message_new(endpoint.native(), kind, data.data(), data.size()))
    {
    }
    WebSocketMessage(WebSocketEndpoint endpoint, std::string_view text) noexcept
        : WebSocketMessage(endpoint, UVHTTP_WEBSOCKET_TEXT, text)
    {
    }
    WebSocketMessage(const WebSocketMessage &other) noexcept : message_(other.message_)
    {
        if (message_ != nullptr)
            uvhttp_websocket_message_ref(message_);
    }
    WebSocketMessage(WebSocketMessage &&other) noexcept
        : message_(std::exchange(other.message_, nullptr))
    {
    }
    WebSocketMessage &operator=(WebSocketMessage other) noexcept
    {
        std::swap(message_, other.message_);
        return *this;
    }
    ~WebSocketMessage()
    {
        if (message_ != nullptr)
            uvhttp_websocket_message_unref(message_);
    }
    /* False when out of memory, if a text is not UTF-8, for an invalid kind, or after a move. */
    explicit operator bool() const noexcept { return message_ != nullptr; }
    uvhttp_websocket_message_t *native() const noexcept { return message_; }

private:
    uvhttp_websocket_message_t *message_;
};

/* A connection as a view: valid until its `close` has run. On its own thread. */
class WebSocket
{
public:
    explicit WebSocket(uvhttp_websocket_t *ws = nullptr) noexcept : ws_(ws) {}
    uvhttp_websocket_t *native() const noexcept { return ws_; }

    /* Result::queued(): accepted, and the queue is long; pause until `drain`. UVHTTP_EFULL: not
     * accepted, by WebSocketOptions::slow. */
    Result send(WebSocketKind kind, std::string_view data) const noexcept
    {
        return uvhttp_websocket_send(ws_, kind, data.data(), data.size());
    }
    Result send(const WebSocketMessage &message) const noexcept
    {
        return message ? uvhttp_websocket_send_message(ws_, message.native()) : int{UVHTTP_ENOMEM};
    }
    Result sendText(std::string_view text) const noexcept
    {
        return send(UVHTTP_WEBSOCKET_TEXT, text);
    }
    Result sendBinary(std::string_view data) const noexcept
    {
        return send(UVHTTP_WEBSOCKET_BINARY, data);
    }
    Result sendBinary(std::span<const std::byte> data) const noexcept
    {
        return uvhttp_websocket_send(ws_, UVHTTP_WEBSOCKET_BINARY, data.data(), data.size());
    }
    /* A streamed message of unknown length. */
    [[nodiscard]] Result sendFragment(WebSocketKind kind, std::string_view chunk,
                                      bool last) const noexcept
    {
        return uvhttp_websocket_send_fragment(ws_, kind, chunk.data(), chunk.size(), last);
    }
    Result ping(std::string_view data = {}) const noexcept
    {
        return uvhttp_websocket_ping(ws_, data.data(), data.size());
    }
    /* Sends queued data, then the code (0: none) and the reason. */
    Result close(unsigned code = UVHTTP_WEBSOCKET_NORMAL,
                 const Text &reason = nullptr) const noexcept
    {
        return reason.error() != 0 ? reason.error()
                                   : uvhttp_websocket_close(ws_, code, reason.c_str());
    }
    /* Closes immediately. */
    void abort() const noexcept { uvhttp_websocket_abort(ws_); }
    void pause() const noexcept { uvhttp_websocket_pause(ws_); }
    void resume() const noexcept { uvhttp_websocket_resume(ws_); }

    WebSocketEndpoint endpoint() const noexcept
    {
        return WebSocketEndpoint(uvhttp_websocket_endpoint_of(ws_));
    }
    /* For Server::postTo. */
    std::size_t worker() const noexcept { return uvhttp_websocket_worker(ws_); }
    /* The negotiated subprotocol, or "". */
    std::string_view protocol() const noexcept { return uvhttp_websocket_protocol(ws_); }
    bool compressed() const noexcept { return uvhttp_websocket_compressed(ws_); }
    std::size_t pending() const noexcept { return uvhttp_websocket_pending(ws_); }
    friend bool operator==(WebSocket a, WebSocket b) noexcept { return a.ws_ == b.ws_; }

private:
    uvhttp_websocket_t *ws_;
};

namespace detail
{

/* ---- handler traits ---- */

template <class H>
concept TakesMessages = std::is_invocable_v<H &, WebSocket, WebSocketKind, std::string_view> ||
    std::is_invocable_v<H &, WebSocket, std::string_view> ||
    requires(H &h, WebSocket ws, WebSocketKind kind, std::string_view data)
{
    h.message(ws, kind, data);
} || requires(H &h, WebSocket ws, std::string_view data)
{
    h.message(ws, data);
};
template <class H>
concept TakesPieces = requires(H &h, WebSocket ws, WebSocketKind kind, std::string_view data)
{
    h.chunk(ws, kind, data, true);
};
template <class H>
concept WebSocketHandler = TakesMessages<H> || TakesPieces<H>;

template <class H>
void giveMessage(H &handler, WebSocket ws, WebSocketKind kind, std::string_view data)
{
    if constexpr (std::is_invocable_v<H &, WebSocket, WebSocketKind, std::string_view>)
        handler(ws, kind, data);
    else if constexpr (std::is_invocable_v<H &, WebSocket, std::string_view>)
        handler(ws, data);
    else if constexpr (requires { handler.message(ws, kind, data); })
        handler.message(ws, kind, data);
    else
        handler.message(ws, data);
}

/* Result of a callable that creates objects: the object, or a type that may be empty. */
template <class T> struct MadeObject {
    using Object = T;
};
template <class T> struct MadeObject<std::optional<T>> {
    using Object = T;
};
template <class T> struct MadeObject<std::unique_ptr<T>> {
    using Object = T;
};

template <class F> decltype(auto) makeWith(F &make, Request request, Response response)
{
    if constexpr (isHandler<F>)
        return callHandler(make, request, response);
    else
        return make();
}

/* The object of one connection. It frees itself when the connection has ended and none of its
 * functions runs. */
template <class H> class Held
{
public:
    template <class From> explicit Held(From &&from) : handler(std::forward<From>(from)) {}

    void enter() noexcept { running_++; }
    void leave() noexcept
    {
        if (--running_ == 0 && over_)
            delete this;
    }
    static void release(void *data) noexcept
    {
        auto *self = static_cast<Held *>(data);
        self->enter();
        self->over_ = true;
        self->leave();
    }

    H handler;

private:
    unsigned running_ = 0;
    bool over_ = false;
};

/* Location of the handler for callbacks of an endpoint: with the server, or with the connection. */
template <class H> struct ForAll {
    using Handler = H;
    using Kept = H;
    template <class Call> static void with(uvhttp_websocket_t *, void *arg, Call call) noexcept
    {
        call(stored<H>(arg));
    }
    static int admit(uvhttp_request_t *request, void **, void *arg) noexcept
    {
        return guard(uvhttp_request_response(request), [&] {
            if constexpr (requires(H & h, Request r) {
                              {
                                  h.admit(r)
                                  } -> std::same_as<bool>;
                          })
                return stored<H>(arg).admit(Request(request)) ? 0 : int{UVHTTP_DECLINED};
            else
                return stored<H>(arg).admit(Request(request));
        });
    }
    static constexpr bool admits = requires(H & h, Request request) { h.admit(request); };
    static constexpr void (*release)(void *) = nullptr;
};

template <class F> struct ForEach {
    using Kept = F;
    using Given =
        std::decay_t<decltype(makeWith(std::declval<F &>(), Request(nullptr), Response(nullptr)))>;
    using Handler = typename MadeObject<Given>::Object;
    using Holder =
        Held<std::conditional_t<std::is_same_v<Given, std::unique_ptr<Handler>>, Given, Handler>>;
    static_assert(WebSocketHandler<Handler>,
                  "the factory must return an object with message or chunk");

    template <class Call> static void with(uvhttp_websocket_t *ws, void *, Call call) noexcept
    {
        auto *holder = static_cast<Holder *>(uvhttp_websocket_data(ws));
        holder->enter();
        if constexpr (std::is_same_v<Given, Handler> ||
                      std::is_same_v<Given, std::optional<Handler>>)
            call(holder->handler);
        else
            call(*holder->handler);
        holder->leave();
    }
    static int admit(uvhttp_request_t *request, void **data, void *arg) noexcept
    {
        return guard(uvhttp_request_response(request), [&]() -> int {
            Given given = makeWith(stored<F>(arg), Request(request),
                                   Response(uvhttp_request_response(request)));
            if constexpr (std::is_same_v<Given, std::optional<Handler>>)
                return given ? hold(std::move(*given), data) : int{UVHTTP_DECLINED};
            else if constexpr (!std::is_same_v<Given, Handler>)
                return given ? hold(std::move(given), data) : int{UVHTTP_DECLINED};
            else
                return hold(std::move(given), data);
        });
    }
    template <class From> static int hold(From &&from, void **data)
    {
        *data = new (std::nothrow) Holder(std::forward<From>(from));
        return *data == nullptr ? int{UVHTTP_ENOMEM} : 0;
    }
    static constexpr bool admits = true;
    static constexpr void (*release)(void *) = Holder::release;
};

template <class F, bool = WebSocketHandler<F>> struct BindingOf {
    using Type = ForAll<F>;
};
template <class F> struct BindingOf<F, false> {
    using Type = ForEach<F>;
};

/* ---- callbacks ---- */

template <class B> class WebSocketEvents
{
    using H = typename B::Handler;

    template <class Call> static void run(uvhttp_websocket_t *ws, void *arg, Call call) noexcept
    {
        B::with(ws, arg, [&](H &handler) {
            if (!swallow([&] { call(handler, WebSocket(ws)); }))
                (void)uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_INTERNAL_ERROR, nullptr);
        });
    }
    static void onOpen(uvhttp_websocket_t *ws, void *arg) noexcept
    {
        run(ws, arg, [](auto &handler, WebSocket socket) { handler.open(socket); });
    }
    static void onMessage(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                          std::size_t size, void *arg) noexcept
    {
        run(ws, arg, [&](auto &handler, WebSocket socket) {
            giveMessage(handler, socket, kind, std::string_view(data, size));
        });
    }
    static void onChunk(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                        std::size_t size, bool last, void *arg) noexcept
    {
        run(ws, arg, [&](auto &handler, WebSocket socket) {
            handler.chunk(socket, kind, std::string_view(data, size), last);
        });
    }
    static void onDrain(uvhttp_websocket_t *ws, void *arg) noexcept
    {
        run(ws, arg, [](auto &handler, WebSocket socket) { handler.drain(socket); });
    }
    static void onPing(uvhttp_websocket_t *ws, const char *data, std::size_t size,
                       void *arg) noexcept
    {
        run(ws, arg, [&](auto &handler, WebSocket socket) {
            handler.ping(socket, std::string_view(data, size));
        });
    }
    static void onPong(uvhttp_websocket_t *ws, const char *data, std::size_t size,
                       void *arg) noexcept
    {
        run(ws, arg, [&](auto &handler, WebSocket socket) {
            handler.pong(socket, std::string_view(data, size));
        });
    }
    static void onClose(uvhttp_websocket_t *ws, unsigned code, const char *reason,
                        void *arg) noexcept
    {
        B::with(ws, arg, [&](H &handler) {
            swallow([&] { handler.close(WebSocket(ws), code, std::string_view(reason)); });
        });
    }

public:
    static uvhttp_websocket_events_t table() noexcept
    {
        uvhttp_websocket_events_t raw = {};
        raw.open = nullptr;
        raw.message = nullptr;
        raw.chunk = nullptr;
        raw.drain = nullptr;
        raw.ping = nullptr;
        raw.pong = nullptr;
        raw.close = nullptr;
        if constexpr (requires(H & h, WebSocket ws) { h.open(ws); })
            raw.open = onOpen;
        if constexpr (TakesMessages<H>)
            raw.message = onMessage;
        else
            raw.chunk = onChunk;
        if constexpr (requires(H & h, WebSocket ws) { h.drain(ws); })
            raw.drain = onDrain;
        if constexpr (requires(H & h, WebSocket ws) { h.ping(ws, std::string_view()); })
            raw.ping = onPing;
        if constexpr (requires(H & h, WebSocket ws) { h.pong(ws, std::string_view()); })
            raw.pong = onPong;
        if constexpr (requires(H & h, WebSocket ws) { h.close(ws, 0U, std::string_view()); })
            raw.close = onClose;
        return raw;
    }
};

/* A list for C, NULL-terminated. */
class OptionList
{
public:
    /* An empty list, unless `from` is absent. */
    explicit OptionList(std::optional<std::span<const char *const>> given) noexcept
    {
        if (!given)
            return;
        const std::span<const char *const> from = *given;
        list_.reset(new (std::nothrow) const char *[from.size() + 1]);
        if (!list_) {
            error_ = UVHTTP_ENOMEM;
            return;
        }
        for (std::size_t i = 0; i < from.size(); i++)
            list_[i] = from[i];
        list_[from.size()] = nullptr;
    }
    const char *const *get() const noexcept { return list_.get(); }
    int error() const noexcept { return error_; }

private:
    std::unique_ptr<const char *[]> list_;
    int error_ = 0;
};

template <class B>
uvhttp_websocket_endpoint_t *newEndpoint(Setup &setup, typename B::Kept *kept,
                                         const WebSocketOptions &options,
                                         std::string_view what) noexcept
{
    const OptionList protocols(options.protocols.empty() ? std::nullopt
                                                         : std::optional(options.protocols));
    const OptionList origins(options.origins.list());
    if (kept == nullptr || !setup.note(errorOf(protocols, origins), "webSocket", what))
        return nullptr;
    uvhttp_websocket_options_t raw = {};
    raw.events = WebSocketEvents<B>::table();
    raw.arg = kept;
    raw.protocols = protocols.get();
    raw.protocol_required = options.protocolRequired;
    raw.origins = origins.get();
    raw.admit = nullptr;
    if constexpr (B::admits)
        raw.admit = B::admit;
    raw.release = B::release;
    raw.max_message_size = options.maxMessageSize;
    raw.max_frame_size = options.maxFrameSize;
    raw.max_fragments = options.maxFragments;
    raw.max_message_rate = options.maxMessageRate;
    raw.high_watermark = options.highWatermark;
    raw.low_watermark = options.lowWatermark;
    raw.max_queue_size = options.maxQueueSize;
    raw.slow = options.slow;
    raw.ping_interval_ms = detail::toMs(options.pingInterval);
    raw.idle_timeout_ms = detail::toMs(options.idleTimeout);
    raw.close_timeout_ms = detail::toMs(options.closeTimeout);
    raw.compression = options.compression;
    raw.compression_level = options.compressionLevel;
    raw.compression_min_size = options.compressionMinSize;
    raw.window_bits = options.windowBits;
    raw.max_ratio = options.maxRatio;
    raw.memory_per_connection = options.memoryPerConnection;
    raw.memory = options.memory;
    raw.shares_memory_with = options.sharesMemoryWith;
    uvhttp_websocket_endpoint_t *endpoint = nullptr;
    SetupError details = {};
    const int error = uvhttp_websocket_endpoint_new(&endpoint, setup.server(), &raw, &details);
    setup.note(error, "webSocket", what, &details);
    return endpoint;
}

} // namespace detail

/* An endpoint with a known handler type: from Server::webSocketEndpoint. */
template <class F> class WebSocketEndpointOf : public WebSocketEndpoint
{
    using Binding = typename detail::BindingOf<F>::Type;

public:
    using WebSocketEndpoint::WebSocketEndpoint;

    /* Connects to a server. `open` runs on success; otherwise `close` with the reason. The first
     * worker's thread. */
    [[nodiscard]] Result connect(const WebSocketTarget &target,
                                 WebSocket *ws = nullptr) const noexcept
        requires(detail::WebSocketHandler<F>)
    {
        return connectWith(target, nullptr, ws);
    }
    /* The same for endpoints with an object per connection: passes the object, instead of the
     * callable's. */
    template <class From>
    [[nodiscard]] Result connect(const WebSocketTarget &target, From &&object,
                                 WebSocket *ws = nullptr) const
        requires(!detail::WebSocketHandler<F>)
    {
        void *data = nullptr;
        if (const int error = Binding::hold(std::forward<From>(object), &data))
            return refuse(target, error);
        const Result error = connectWith(target, data, ws);
        if (error)
            Binding::release(data);
        return error;
    }

private:
    /* An error found before the call. */
    static Result refuse(const WebSocketTarget &target, int error) noexcept
    {
        if (target.details != nullptr)
            detail::setError(*target.details, error);
        return error;
    }
    Result connectWith(const WebSocketTarget &target, void *data, WebSocket *ws) const noexcept
    {
        const detail::Option url(target.url), fields(target.fields);
        const int unfit = detail::errorOf(url, fields);
        if (ws != nullptr)
            *ws = WebSocket();
        if (unfit != 0 || native() == nullptr)
            return refuse(target, unfit != 0 ? unfit : int{UVHTTP_ENOMEM});
        /* do not fall back to the system's authorities */
        if (target.tls != nullptr && target.tls->error()) {
            if (target.details != nullptr)
                *target.details = target.tls->details();
            return target.tls->error();
        }
        if (target.tls != nullptr && target.tls->native() == nullptr) /* moved from */
            return refuse(target, UVHTTP_EINVAL);
        uvhttp_websocket_target_t raw = {};
        raw.url = url.c_str();
        raw.fields = fields.c_str();
        raw.tls = target.tls == nullptr ? nullptr : target.tls->native();
        uvhttp_websocket_t *made = nullptr;
        const int error = uvhttp_websocket_connect(native(), &raw, data, &made, target.details);
        if (ws != nullptr)
            *ws = WebSocket(made);
        return error;
    }
};

template <class Self>
template <class F>
WebSocketEndpointOf<std::decay_t<F>>
detail::Routes<Self>::webSocketEndpoint(F &&handler, const WebSocketOptions &options)
{
    using Kept = std::decay_t<F>;
    Kept *kept = setup().keep(std::forward<F>(handler), "webSocket");
    return WebSocketEndpointOf<Kept>(
        newEndpoint<typename BindingOf<Kept>::Type>(setup(), kept, options, ""));
}

template <class Self>
template <class F>
Self &detail::Routes<Self>::webSocket(const Text &pattern, F &&handler,
                                      const WebSocketOptions &options)
{
    using Kept = std::decay_t<F>;
    const std::string_view path = pattern.view();
    if (!setup().note(pattern.error(), "webSocket", path))
        return self();
    Kept *kept = setup().keep(std::forward<F>(handler), "webSocket", path);
    const WebSocketEndpoint endpoint(
        newEndpoint<typename BindingOf<Kept>::Type>(setup(), kept, options, path));
    return endpoint.native() == nullptr ? self() : get(pattern, endpoint);
}

template <class Self>
template <class F>
Self &detail::Routes<Self>::webSocket(const Text &pattern, F &&handler)
{
    return webSocket(pattern, std::forward<F>(handler), WebSocketOptions());
}

} // namespace uvhttp

#endif
