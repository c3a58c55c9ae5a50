/* The response as a view (response.h), with std::string_view, and callables with captures for
 * callbacks.
 *
 * A Response is one copyable pointer without ownership; it is valid until it is sent or the
 * client has disconnected. To respond later, keep a Later, which tracks this. Callables passed
 * to a response are moved into the exchange's memory and destroyed when the exchange ends, so
 * set a callback once, not repeatedly (for an event stream). They may take the Response as first
 * argument. */
#ifndef UVHTTP_RESPONSE_HPP
#define UVHTTP_RESPONSE_HPP

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/callback.hpp>
#include <uvhttp/cookie.h>
#include <uvhttp/request.hpp>
#include <uvhttp/response.h>
#include <uvhttp/sse.h>
#include <uvhttp/stream.hpp>

namespace uvhttp
{

/* A cookie to set; omitted fields are not sent (cookie.h). */
struct Cookie {
    std::string_view name = {};
    std::string_view value = {};
    std::string_view domain = {};
    std::string_view path = {};
    std::int64_t maxAge = 0; /* seconds; UVHTTP_COOKIE_DELETE deletes it */
    std::int64_t expires = 0;
    bool secure = false;
    bool httpOnly = false;
    bool partitioned = false;
    uvhttp_same_site_t sameSite = UVHTTP_SAME_SITE_UNSET;
};

/* An event of a text/event-stream; omitted fields are not sent (sse.h). */
struct Event {
    std::string_view id = {};
    std::string_view event = {};
    std::string_view data = {};
    std::string_view comment = {};
    std::chrono::milliseconds retry = {};

    uvhttp_sse_event_t native() const noexcept
    {
        return {toSlice(id), toSlice(event), toSlice(data), toSlice(comment), detail::toMs(retry)};
    }
};

/* A part of a body for Response::sendParts: memory, or a range of an open regular file. */
using BodyPart = uvhttp_part_t;

inline BodyPart memoryPart(std::string_view bytes) noexcept
{
    return {bytes.data(), -1, 0, bytes.size()};
}

inline BodyPart filePart(int descriptor, std::uint64_t offset, std::uint64_t size) noexcept
{
    return {nullptr, descriptor, offset, size};
}

/* Output of a filter (Response::filter). */
class FilterOutput
{
public:
    explicit FilterOutput(uvhttp_filter_output_t *output) noexcept : output_(output) {}
    uvhttp_filter_output_t *native() const noexcept { return output_; }
    [[nodiscard]] Result append(std::string_view bytes) const noexcept
    {
        return uvhttp_filter_output_append(output_, bytes.data(), bytes.size());
    }

private:
    uvhttp_filter_output_t *output_;
};

/* How a file is sent (response.h). */
struct SendFileOptions {
    std::string_view contentType = {};  /* omitted: derived from the name */
    std::string_view downloadName = {}; /* omitted: no Content-Disposition */
    bool showInline = false;

    /* Calls `call` with the C options, unless the path or an option is invalid. */
    template <class Call> int with(const Text &path, Call call) const noexcept
    {
        const detail::Option type(contentType), name(downloadName);
        const int unfit = path.error() != 0 ? path.error() : detail::errorOf(type, name);
        if (unfit != 0)
            return unfit;
        uvhttp_send_file_options_t raw = {};
        raw.content_type = type.c_str();
        raw.download_name = name.c_str();
        raw.show_inline = showInline;
        return call(raw);
    }
};

/* Fields encoded once and sent many times. */
class Prepared
{
public:
    Prepared() noexcept : prepared_(uvhttp_prepared_new(nullptr)) {}
    /* UVHTTP_ENOMEM also if the constructor ran out of memory. */
    [[nodiscard]] Result add(const Text &name, const Text &value) noexcept
    {
        const int error = prepared_ ? detail::errorOf(name, value) : int{UVHTTP_ENOMEM};
        return error != 0 ? error
                          : uvhttp_prepared_add(prepared_.get(), name.c_str(), value.c_str());
    }
    /* See uvhttp_prepared_set_body: the caller owns the bytes, which must not change while this
     * object lives. */
    void setBody(std::string_view body) noexcept
    {
        if (prepared_)
            uvhttp_prepared_set_body(prepared_.get(), body.data(), body.size());
    }
    /* See uvhttp_prepared_set_descriptor. */
    void setDescriptor(int descriptor, std::uint64_t offset, std::size_t size) noexcept
    {
        if (prepared_)
            uvhttp_prepared_set_descriptor(prepared_.get(), descriptor, offset, size);
    }
    const uvhttp_prepared_t *native() const noexcept { return prepared_.get(); }

private:
    std::unique_ptr<uvhttp_prepared_t, detail::Freer<uvhttp_prepared_free>> prepared_;
};

class Later;

/* What a pull function has written, and what follows. Converts from a number of bytes (more follow;
 * a negative one is an error code), and from a Result: uvhttp::end, uvhttp::again or an error. */
class Pulled
{
public:
    template <class T>
    requires std::is_integral_v<T>
    constexpr Pulled(T size) noexcept
        : size_(size < 0 ? 0 : static_cast<std::size_t>(size)),
          result_(size < 0 ? static_cast<int>(size) : 0)
    {
    }
    template <class E>
    requires std::is_enum_v<E>
    constexpr Pulled(E code) noexcept : result_(code) {}
    constexpr Pulled(Result result) noexcept : result_(result) {}
    constexpr Pulled(std::size_t size, Result result) noexcept : size_(size), result_(result) {}
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr Result result() const noexcept { return result_; }

private:
    std::size_t size_ = 0;
    Result result_;
};

class Response
{
public:
    explicit Response(uvhttp_response_t *response) noexcept : response_(response) {}
    uvhttp_response_t *native() const noexcept { return response_; }
    Request request() const noexcept { return Request(uvhttp_response_request(response_)); }

    /* ---- status and fields ---- */

    [[nodiscard]] Result setStatus(int status) const noexcept
    {
        return uvhttp_response_set_status(response_, status);
    }
    int status() const noexcept { return uvhttp_response_status(response_); }
    /* Fail with UVHTTP_EHEADER, for a name or value that is none, or UVHTTP_ENOMEM; the response
     * is sent without the field then. */
    Result setHeader(const Text &name, const Text &value) const noexcept
    {
        return withTexts(uvhttp_response_set_header, name, value);
    }
    Result addHeader(const Text &name, const Text &value) const noexcept
    {
        return withTexts(uvhttp_response_add_header, name, value);
    }
    /* setHeader, for a chain: res.with("ETag", tag).sendJson(200, text). */
    Response with(const Text &name, const Text &value) const noexcept
    {
        setHeader(name, value);
        return *this;
    }
    /* The value set so far, also of prepared fields; valid until the fields change. */
    std::optional<std::string_view> header(const Text &name) const noexcept
    {
        const uvhttp_slice_t value = name.error() != 0
                                         ? uvhttp_slice_t{nullptr, 0}
                                         : uvhttp_response_header_slice(response_, name.c_str());
        return value.base == nullptr ? std::nullopt : std::optional(toView(value));
    }
    void removeHeader(const Text &name) const noexcept
    {
        if (name.error() == 0)
            uvhttp_response_remove_header(response_, name.c_str());
    }
    Result setCookie(const Cookie &cookie) const noexcept
    {
        return withCookie(cookie, [this](const uvhttp_cookie_t *raw) {
            return uvhttp_response_set_cookie(response_, raw);
        });
    }
    [[nodiscard]] Result setSignedCookie(const CookieSigner &signer,
                                         const Cookie &cookie) const noexcept;
    /* `prepared` must live until the response is sent. */
    void usePrepared(const Prepared &prepared) const noexcept
    {
        uvhttp_response_use_prepared(response_, prepared.native());
    }

    /* ---- a response sent as a whole; status 0 means the one that was set ---- */

    /* Copies bytes that cannot be sent immediately. `type` NULL: as set before. */
    Result send(int status, const Text &type, std::string_view body) const noexcept
    {
        return type.error() != 0 ? type.error()
                                 : uvhttp_response_send(response_, status, type.c_str(),
                                                        body.data(), body.size());
    }
    /* Takes ownership of the bytes: for large bodies in a string. */
    Result sendOwned(int status, const Text &type, std::string body) const noexcept
    {
        if (type.error() != 0)
            return type.error();
        auto *kept = lend(std::move(body));
        return kept == nullptr
                   ? int{UVHTTP_ENOMEM}
                   : uvhttp_response_send_borrowed(response_, status, type.c_str(), kept->data(),
                                                   kept->size(), giveBack<std::string>, kept);
    }
    /* One body made of consecutive parts. Their data must live until they are sent: it outlives
     * the server, or belongs to `keep`, which is moved into the exchange's memory and destroyed
     * when no longer needed (so moving it must not move its bytes: a std::vector, a
     * std::unique_ptr). */
    [[nodiscard]] Result sendParts(int status, const Text &type,
                                   std::span<const BodyPart> parts) const noexcept
    {
        return type.error() != 0
                   ? type.error()
                   : uvhttp_response_send_parts(response_, status, type.c_str(), parts.data(),
                                                parts.size(), nullptr, nullptr);
    }
    template <class Keep>
    [[nodiscard]] Result sendParts(int status, const Text &type, std::span<const BodyPart> parts,
                                   Keep &&keep) const
    {
        if (type.error() != 0)
            return type.error();
        auto *kept = lend(std::forward<Keep>(keep));
        return kept == nullptr
                   ? int{UVHTTP_ENOMEM}
                   : uvhttp_response_send_parts(response_, status, type.c_str(), parts.data(),
                                                parts.size(), giveBack<std::decay_t<Keep>>, kept);
    }
    /* Refers to the bytes, which must outlive the server: literals, tables. */
    Result sendStatic(int status, const Text &type, std::string_view body) const noexcept
    {
        return type.error() != 0 ? type.error()
                                 : uvhttp_response_send_static(response_, status, type.c_str(),
                                                               body.data(), body.size());
    }
    /* Copy bytes that cannot be sent immediately; they take ownership of a std::string that is
     * temporary or moved. */
    Result sendText(int status, std::string_view text) const noexcept
    {
        return send(status, "text/plain; charset=utf-8", text);
    }
    template <std::same_as<std::string> Owned>
    Result sendText(int status, Owned &&text) const noexcept
    {
        return sendOwned(status, "text/plain; charset=utf-8", std::move(text));
    }
    Result sendHtml(int status, std::string_view html) const noexcept
    {
        return send(status, "text/html; charset=utf-8", html);
    }
    template <std::same_as<std::string> Owned>
    Result sendHtml(int status, Owned &&html) const noexcept
    {
        return sendOwned(status, "text/html; charset=utf-8", std::move(html));
    }
    Result sendJson(int status, std::string_view json) const noexcept
    {
        return send(status, "application/json", json);
    }
    template <std::same_as<std::string> Owned>
    Result sendJson(int status, Owned &&json) const noexcept
    {
        return sendOwned(status, "application/json", std::move(json));
    }
    Result sendStatus(int status) const noexcept
    {
        return uvhttp_response_send_status(response_, status);
    }
    /* An error with a reason for the client, of at most 511 bytes (uvhttp_response_send_error). */
    Result sendError(int status, std::string_view reason) const noexcept
    {
        return uvhttp_response_send_error(response_, status, "%.*s",
                                          UVHTTP_SLICE_ARGS(toSlice(reason)));
    }
    /* 425, for an early request (Request::isEarly). */
    Result sendTooEarly() const noexcept { return uvhttp_response_send_too_early(response_); }
    Result redirect(int status, const Text &location) const noexcept
    {
        return location.error() != 0
                   ? location.error()
                   : uvhttp_response_redirect(response_, status, location.c_str());
    }
    [[nodiscard]] Result sendFile(int status, const Text &path) const noexcept
    {
        return path.error() != 0 ? path.error()
                                 : uvhttp_response_send_file(response_, status, path.c_str());
    }
    /* With ETag and Last-Modified, by the conditions and the Range of the request; the server's
     * files (Files::send) also from its cache. */
    Result sendFile(const Text &path, const SendFileOptions &options = {}) const noexcept
    {
        return options.with(path, [&](const uvhttp_send_file_options_t &raw) {
            return uvhttp_response_send_file_with(response_, path.c_str(), &raw);
        });
    }
    Result sendEarlyHints() const noexcept { return uvhttp_response_send_early_hints(response_); }

    /* ---- a streamed response ---- */

    [[nodiscard]] Result begin(int status, const Text &type,
                               std::uint64_t length = UVHTTP_LENGTH_UNKNOWN) const noexcept
    {
        return type.error() != 0 ? type.error()
                                 : uvhttp_response_begin(response_, status, type.c_str(), length);
    }
    [[nodiscard]] Result write(std::string_view chunk) const noexcept
    {
        return uvhttp_response_write(response_, chunk.data(), chunk.size());
    }
    [[nodiscard]] Result addTrailer(const Text &name, const Text &value) const noexcept
    {
        return withTexts(uvhttp_response_add_trailer, name, value);
    }
    Result end() const noexcept { return uvhttp_response_end(response_); }
    /* Flushes the filters (compression). */
    Result flush() const noexcept { return uvhttp_response_flush(response_); }
    std::size_t pending() const noexcept { return uvhttp_response_pending(response_); }

    /* The client has shut down its sending side; most have then closed the connection. */
    bool peerEnded() const noexcept { return uvhttp_response_peer_ended(response_); }

    /* Called once when the client has shut down its sending side; most have then closed the
     * connection. A response is still possible; UVHTTP_EDISCONNECTED as its result closes the
     * connection. */
    template <class F> [[nodiscard]] Result onPeerEnd(F &&ended) const
    {
        using Kept = std::decay_t<F>;
        static_assert(detail::takes<Kept, Response>,
                      "a peer end function takes no argument or a Response");
        Kept *kept = store(std::forward<F>(ended));
        if (kept == nullptr)
            return UVHTTP_ENOMEM;
        return uvhttp_response_on_peer_end(
            response_,
            [](uvhttp_response_t *response, void *arg) noexcept {
                return detail::guard(response, [&] {
                    return detail::callWith(detail::stored<Kept>(arg), Response(response));
                });
            },
            kept);
    }

    /* Called after UVHTTP_EFULL, in a later loop iteration, when all queued data is sent. */
    template <class F> [[nodiscard]] Result onDrain(F &&drain) const
    {
        using Kept = std::decay_t<F>;
        static_assert(detail::takes<Kept, Response>,
                      "a drain function takes no argument or a Response");
        Kept *kept = store(std::forward<F>(drain));
        if (kept == nullptr)
            return UVHTTP_ENOMEM;
        uvhttp_response_on_drain(
            response_,
            [](uvhttp_response_t *response, void *arg) noexcept {
                return detail::guard(response, [&] {
                    return detail::callWith(detail::stored<Kept>(arg), Response(response));
                });
            },
            kept);
        return 0;
    }

    /* Sends a pulled body: `pull` gets a std::span<char>, writes bytes there and returns a
     * Pulled. */
    template <class F>
    [[nodiscard]] Result sendPulled(int status, const Text &type, F &&pull,
                                    std::uint64_t length = UVHTTP_LENGTH_UNKNOWN) const
    {
        using Kept = std::decay_t<F>;
        static_assert(detail::takes<Kept, Response, std::span<char>>,
                      "a pull function takes a std::span<char>");
        if (type.error() != 0)
            return type.error();
        Kept *kept = store(std::forward<F>(pull));
        return kept == nullptr ? int{UVHTTP_ENOMEM}
                               : uvhttp_response_send_pulled(response_, status, type.c_str(),
                                                             length, pullFrom<Kept>, nullptr, kept);
    }
    void resumePull() const noexcept { uvhttp_response_resume_pull(response_); }

    /* An event stream; end() ends it. */
    [[nodiscard]] Result beginEvents() const noexcept
    {
        return uvhttp_response_begin_events(response_);
    }
    Result sendEvent(const Event &event) const noexcept
    {
        const uvhttp_sse_event_t raw = event.native();
        return uvhttp_response_send_event(response_, &raw);
    }

    /* ---- later responses and jobs ---- */

    /* Keeps the response for a later response from a callback on this loop. `onAbort` is called on
     * a disconnect, a timeout or a server stop before that. Empty when out of memory. A second
     * call replaces the first. */
    template <class F> Later later(F &&onAbort) const;
    Later later() const;

    /* Runs `work()` on a thread of the quick lane, then `done` with its result on the loop,
     * optionally with the Response as first argument. An HttpError of `work` is sent; another
     * exception becomes a 500 (std::bad_alloc: 503), and `done` does not run. UVHTTP_EFULL: the
     * queue is full; a handler that returns it sends 503. */
    template <class Work, class Done> [[nodiscard]] Result defer(Work &&work, Done &&done) const;

    /* The same in the heavy lane, for long work. */
    template <class Work, class Done>
    [[nodiscard]] Result deferHeavy(Work &&work, Done &&done) const;

    /* Continues after a middleware that delayed the request. */
    Result proceed() const noexcept { return uvhttp_response_proceed(response_); }
    /* The decision after UVHTTP_AUTH_LATER. */
    [[nodiscard]] Result decideAuth(uvhttp_auth_verdict_t verdict) const noexcept
    {
        return uvhttp_auth_decide(response_, verdict);
    }
    /* Responds as if a handler had returned this error. */
    Result fail(Result error) const noexcept
    {
        return uvhttp_response_fail(response_, error.code());
    }

    /* Upgrades to another protocol; see stream.hpp for handlers of streams. */
    template <class H> [[nodiscard]] Result upgrade(const Text &protocol, H &&handler) const
    {
        using Handler = detail::StreamHandler<std::decay_t<H>>;
        if (protocol.error() != 0)
            return protocol.error();
        std::unique_ptr<Handler> kept(new (std::nothrow) Handler(std::forward<H>(handler)));
        return kept ? Handler::open(response_, protocol.c_str(), std::move(kept))
                    : Result(UVHTTP_ENOMEM);
    }

    /* ---- callbacks and filters ---- */

    /* Called just before the response is sent, by any sender. */
    template <class F> [[nodiscard]] Result onSend(F &&send) const
    {
        using Kept = std::decay_t<F>;
        static_assert(detail::takes<Kept, Response>,
                      "the function takes no argument or a Response");
        Kept *kept = store(std::forward<F>(send));
        return kept == nullptr
                   ? int{UVHTTP_ENOMEM}
                   : uvhttp_response_on_send(
                         response_,
                         [](uvhttp_request_t *, uvhttp_response_t *response, void *arg) noexcept {
                             return detail::guard(response, [&] {
                                 return detail::callWith(detail::stored<Kept>(arg),
                                                         Response(response));
                             });
                         },
                         kept);
    }
    /* In such a callback: data() is NULL if not in memory; length UVHTTP_LENGTH_UNKNOWN. */
    std::string_view body() const noexcept { return toView(uvhttp_response_body(response_)); }
    std::uint64_t bodyLength() const noexcept { return uvhttp_response_body_length(response_); }
    [[nodiscard]] Result replaceBody(std::string_view body) const noexcept
    {
        return uvhttp_response_replace_body(response_, body.data(), body.size());
    }
    /* The body is streamed: valid in such a callback and afterwards. */
    bool isStreamed() const noexcept { return uvhttp_response_is_streamed(response_); }
    /* Filters the chunks with a callable that gets a uvhttp_filter_event_t, a std::string_view
     * and a FilterOutput, optionally with a Response first. Its output is sent instead. In a
     * callback of onSend. */
    template <class F> [[nodiscard]] Result filter(F &&filter) const
    {
        using Kept = std::decay_t<F>;
        static_assert(
            detail::takes<Kept, Response, uvhttp_filter_event_t, std::string_view, FilterOutput>,
            "a filter takes a uvhttp_filter_event_t, a std::string_view and a FilterOutput");
        Kept *kept = lend(std::forward<F>(filter));
        return kept == nullptr
                   ? int{UVHTTP_ENOMEM}
                   : uvhttp_response_filter(
                         response_,
                         [](uvhttp_response_t *response, uvhttp_filter_event_t event,
                            const void *data, std::size_t size, uvhttp_filter_output_t *output,
                            void *arg) noexcept {
                             return detail::guard(response, [&] {
                                 return detail::callWith(
                                     detail::stored<Kept>(arg), Response(response), event,
                                     std::string_view(static_cast<const char *>(data), size),
                                     FilterOutput(output));
                             });
                         },
                         giveBack<Kept>, kept);
    }
    void limitBody(std::uint64_t most) const noexcept
    {
        uvhttp_response_limit_body(response_, most);
    }
    /* 0 removes the limit; see uvhttp_response_limit_rate. */
    [[nodiscard]] Result limitRate(std::uint64_t bytes_per_second,
                                   std::uint64_t burst = 0) const noexcept
    {
        return uvhttp_response_limit_rate(response_, bytes_per_second, burst);
    }

    void closeAfter() const noexcept { uvhttp_response_close_after(response_); }
    /* Nothing was sent, and the client is connected. */
    bool isOpen() const noexcept { return uvhttp_response_open(response_); }
    void log(uvhttp_log_level_t level, std::string_view text) const noexcept
    {
        uvhttp_response_log(response_, level, "%.*s", UVHTTP_SLICE_ARGS(toSlice(text)));
    }
    /* The reason of an error that the handler returns next, instead of the server's own line. */
    void logFailure(std::string_view text) const noexcept
    {
        uvhttp_response_log_failure(response_, "%.*s", UVHTTP_SLICE_ARGS(toSlice(text)));
    }
    /* The loop time in milliseconds. */
    std::uint64_t now() const noexcept { return uvhttp_response_now(response_); }

private:
    template <class F> std::decay_t<F> *store(F &&from) const
    {
        return detail::storeInExchange<std::decay_t<F>>(request().native(), nullptr,
                                                        std::forward<F>(from));
    }
    /* Also memory of the exchange, but destroyed by giveBack: for callables that C releases
     * itself. */
    template <class F> std::decay_t<F> *lend(F &&from) const
    {
        using Kept = std::decay_t<F>;
        static_assert(alignof(Kept) <= alignof(std::max_align_t));
        void *memory = uvhttp_request_allocate(request().native(), sizeof(Kept));
        return memory == nullptr ? nullptr : ::new (memory) Kept(std::forward<F>(from));
    }
    template <class Kept> static void giveBack(void *arg) noexcept
    {
        std::destroy_at(static_cast<Kept *>(arg));
    }
    template <class Call>
    Result withTexts(Call call, const Text &name, const Text &value) const noexcept
    {
        const int error = detail::errorOf(name, value);
        if (error != 0)
            return error == UVHTTP_EINVAL ? UVHTTP_EHEADER : error;
        return call(response_, name.c_str(), value.c_str());
    }
    /* Calls `call` with the C cookie; its strings are copied to the stack, unless long. */
    template <class Call> static Result withCookie(const Cookie &cookie, Call call) noexcept
    {
        const Text name(cookie.name), value(cookie.value), domain(cookie.domain), path(cookie.path);
        const int error = detail::errorOf(name, value, domain, path);
        if (error != 0)
            return error == UVHTTP_EINVAL ? UVHTTP_EHEADER : error;
        uvhttp_cookie_t raw = {};
        raw.name = name.c_str();
        raw.value = value.c_str();
        raw.domain = cookie.domain.empty() ? nullptr : domain.c_str();
        raw.path = cookie.path.empty() ? nullptr : path.c_str();
        raw.max_age = cookie.maxAge;
        raw.expires = cookie.expires;
        raw.secure = cookie.secure;
        raw.http_only = cookie.httpOnly;
        raw.partitioned = cookie.partitioned;
        raw.same_site = cookie.sameSite;
        return call(&raw);
    }
    template <class F>
    static int pullFrom(uvhttp_response_t *response, char *buffer, std::size_t size,
                        std::size_t *length, void *arg) noexcept
    {
        return detail::guard(response, [&]() -> int {
            const Pulled pulled = detail::callWith(detail::stored<F>(arg), Response(response),
                                                   std::span<char>(buffer, size));
            *length = pulled.size();
            return pulled.result().code();
        });
    }

    uvhttp_response_t *response_;
};

namespace detail
{

/* State shared by a Later and its exchange. Lives in the exchange, and notifies the Later if
 * that ends first. */
struct Waiting {
    explicit Waiting(uvhttp_response_t *of) noexcept : response(of) {}
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;
    inline ~Waiting();
    inline void forget() noexcept;

    uvhttp_response_t *response;
    Later *owner = nullptr;
};

template <class F> struct WaitingWith : Waiting {
    template <class From>
    WaitingWith(uvhttp_response_t *of, From &&from) : Waiting(of), onAbort(std::forward<From>(from))
    {
    }
    static void aborted(uvhttp_response_t *, void *arg) noexcept
    {
        auto *self = static_cast<WaitingWith *>(arg);
        self->forget();
        swallow(self->onAbort);
    }
    F onAbort;
};

struct Nothing {
    void operator()() const noexcept {}
};

/* A job. The exchange waits for it, so this lives as long. */
template <class Work, class Done> class Deferred
{
public:
    template <class W, class D>
    Deferred(W &&work, D &&done) : work_(std::forward<W>(work)), done_(std::forward<D>(done))
    {
    }

    static void run(void *arg) noexcept
    {
        auto *self = static_cast<Deferred *>(arg);
#ifdef __cpp_exceptions
        try {
            self->work();
        } catch (...) {
            self->thrown_ = std::current_exception();
        }
#else
        self->work();
#endif
    }
    static int finish(uvhttp_response_t *response, void *arg) noexcept
    {
        auto *self = static_cast<Deferred *>(arg);
        return guard(response, [&] {
#ifdef __cpp_exceptions
            if (self->thrown_)
                std::rethrow_exception(std::move(self->thrown_));
#endif
            if constexpr (std::is_void_v<Value>)
                return callWith(self->done_, Response(response));
            else
                return callWith(self->done_, Response(response), std::move(*self->value_));
        });
    }

private:
    using Value = std::invoke_result_t<Work &>;

    void work()
    {
        if constexpr (std::is_void_v<Value>)
            work_();
        else
            value_.emplace(work_());
    }

    Work work_;
    Done done_;
    std::optional<std::conditional_t<std::is_void_v<Value>, Nothing, Value>> value_;
#ifdef __cpp_exceptions
    std::exception_ptr thrown_;
#endif
};

} // namespace detail

/* The obligation to respond later: res.later(), kept until then. False in a condition once a
 * response is no longer possible:
 *
 *     if (later)
 *         later->sendText(200, "at last\n");
 *
 * If destroyed without a response it sends 500; a body that has begun is ended. Movable; loop
 * thread only, like everything of a response. */
class Later
{
public:
    Later() noexcept = default;
    Later(Later &&other) noexcept
        : response_(other.response_), waiting_(std::exchange(other.waiting_, nullptr))
    {
        seat();
    }
    Later &operator=(Later &&other) noexcept
    {
        if (this == &other)
            return *this;
        finish();
        response_ = other.response_;
        waiting_ = std::exchange(other.waiting_, nullptr);
        seat();
        return *this;
    }
    ~Later() { finish(); }

    explicit operator bool() const noexcept { return waiting_ != nullptr; }
    /* Only while true in a condition. */
    const Response *operator->() const noexcept { return &response_; }
    Response operator*() const noexcept { return response_; }

    /* Releases the obligation: no callback runs and nothing is sent on destruction. Then send a
     * response, or call proceed(). */
    Response release() noexcept
    {
        if (waiting_ != nullptr)
            uvhttp_response_on_abort(response_.native(), nullptr, nullptr);
        forget();
        return response_;
    }

private:
    friend class Response;
    friend struct detail::Waiting;

    explicit Later(detail::Waiting *waiting) noexcept : waiting_(waiting)
    {
        if (waiting != nullptr)
            response_ = Response(waiting->response);
        seat();
    }
    void seat() noexcept
    {
        if (waiting_ != nullptr)
            waiting_->owner = this;
    }
    void forget() noexcept
    {
        if (waiting_ != nullptr)
            waiting_->owner = nullptr;
        waiting_ = nullptr;
    }
    void finish() noexcept
    {
        if (waiting_ == nullptr)
            return;
        const Response response = release();
        /* Neither is needed once the response is sent. */
        if (response.isOpen())
            response.sendStatus(500);
        else
            response.end();
    }

    Response response_ = Response(nullptr);
    detail::Waiting *waiting_ = nullptr;
};

inline void detail::Waiting::forget() noexcept
{
    if (owner != nullptr)
        owner->forget();
}

inline detail::Waiting::~Waiting()
{
    forget();
}

template <class F> Later Response::later(F &&onAbort) const
{
    using Kept = detail::WaitingWith<std::decay_t<F>>;
    static_assert(std::is_invocable_v<std::decay_t<F> &>,
                  "the function takes no argument: the response is invalid");
    Kept *kept = detail::storeInExchange<Kept>(request().native(), nullptr, response_,
                                               std::forward<F>(onAbort));
    if (kept != nullptr)
        uvhttp_response_on_abort(response_, Kept::aborted, kept);
    return Later(kept);
}

inline Later Response::later() const
{
    return later(detail::Nothing());
}

namespace detail
{

using DeferFunction = decltype(&uvhttp_response_defer);

template <class Work, class Done>
Result deferBy(DeferFunction defer, Response response, Work &&work, Done &&done)
{
    using Kept = Deferred<std::decay_t<Work>, std::decay_t<Done>>;
    Kept *kept = storeInExchange<Kept>(response.request().native(), nullptr,
                                       std::forward<Work>(work), std::forward<Done>(done));
    return kept == nullptr ? int{UVHTTP_ENOMEM}
                           : defer(response.native(), Kept::run, Kept::finish, kept);
}

} // namespace detail

template <class Work, class Done> Result Response::defer(Work &&work, Done &&done) const
{
    return detail::deferBy(uvhttp_response_defer, *this, std::forward<Work>(work),
                           std::forward<Done>(done));
}

template <class Work, class Done> Result Response::deferHeavy(Work &&work, Done &&done) const
{
    return detail::deferBy(uvhttp_response_defer_heavy, *this, std::forward<Work>(work),
                           std::forward<Done>(done));
}

template <class F> Result Request::onBody(F &&take) const
{
    using Kept = std::decay_t<F>;
    static_assert(detail::takes<Kept, Response, std::string_view>,
                  "a body function takes a std::string_view");
    Kept *kept = detail::storeInExchange<Kept>(request_, nullptr, std::forward<F>(take));
    return kept == nullptr
               ? int{UVHTTP_ENOMEM}
               : uvhttp_request_on_body(
                     request_,
                     [](uvhttp_request_t *, uvhttp_response_t *response, const char *data,
                        std::size_t size, void *arg) noexcept {
                         return detail::guard(response, [&] {
                             return detail::callWith(detail::stored<Kept>(arg), Response(response),
                                                     std::string_view(data, size));
                         });
                     },
                     kept);
}

template <class F>
Result Request::uploadToFile(const Text &directory, const Text &name, const UploadOptions &options,
                             F &&done) const
{
    using Kept = std::decay_t<F>;
    static_assert(detail::takes<Kept, Response, const Upload &>,
                  "the function takes a const uvhttp::Upload &");
    Kept *kept = detail::storeInExchange<Kept>(request_, nullptr, std::forward<F>(done));
    if (kept == nullptr)
        return UVHTTP_ENOMEM;
    return upload(
        directory, name, options,
        [](uvhttp_request_t *, uvhttp_response_t *response, const uvhttp_upload_t *upload,
           void *arg) noexcept {
            return detail::guard(response, [&] {
                return detail::callWith(detail::stored<Kept>(arg), Response(response),
                                        Upload{upload->path, upload->size, upload->created,
                                               upload->sha256 == nullptr ? "" : upload->sha256});
            });
        },
        kept);
}

template <class F> Result Request::readForm(const FormOptions &options, F &&done) const
{
    using Kept = std::decay_t<F>;
    static_assert(detail::takes<Kept, Response, const FormData &>,
                  "the function takes a const uvhttp::FormData &");
    const detail::Option directory(options.directory);
    Kept *kept = detail::storeInExchange<Kept>(request_, nullptr, std::forward<F>(done));
    if (kept == nullptr || directory.error() != 0)
        return kept == nullptr ? int{UVHTTP_ENOMEM} : directory.error();
    uvhttp_form_options_t raw = {};
    raw.directory = directory.c_str();
    raw.memory_part_size = options.memoryPartSize;
    raw.memory_size = options.memorySize;
    raw.max_size = options.maxSize;
    raw.max_part_size = options.maxPartSize;
    raw.max_parts = options.maxParts;
    raw.max_header_size = options.maxHeaderSize;
    raw.mode = options.mode;
    return uvhttp_form_data_read(
        request_, &raw,
        [](uvhttp_request_t *, uvhttp_response_t *response, const uvhttp_form_data_t *form,
           void *arg) noexcept {
            return detail::guard(response, [&] {
                return detail::callWith(detail::stored<Kept>(arg), Response(response),
                                        FormData(form));
            });
        },
        kept);
}

inline Response Request::response() const noexcept
{
    return Response(uvhttp_request_response(request_));
}

} // namespace uvhttp

#endif
