/* Streams as a view: connections after an upgrade (stream.h). Response::upgrade creates one and
 * stores its handler.
 *
 * A handler is a callable that gets a Stream and a std::string_view, empty when the client has shut
 * down its sending side; or an object with
 *
 *     void data(uvhttp::Stream, std::string_view)   required; with std::span<char> it may
 *                                                   overwrite the bytes
 *     void opened(uvhttp::Stream)                   after the 101, before any data
 *     void drain(uvhttp::Stream)                    all data was sent, after UVHTTP_EFULL
 *     void timer(uvhttp::Stream)                    the timer of setTimer has expired
 *     void stopping(uvhttp::Stream)                 the server stops: send a closing message
 *     void closed()                                 the stream has ended
 *
 * All but the first are optional. It is moved to the heap for each upgraded connection, and
 * destroyed after `closed`; if it closes the stream itself, after its function has returned. An
 * exception closes the stream. */
#ifndef UVHTTP_STREAM_HPP
#define UVHTTP_STREAM_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/callback.hpp>
#include <uvhttp/parser.hpp>
#include <uvhttp/stream.h>

namespace uvhttp
{

/* Valid until its handler is destroyed. */
class Stream
{
public:
    explicit Stream(uvhttp_stream_t *stream) noexcept : stream_(stream) {}
    uvhttp_stream_t *native() const noexcept { return stream_; }

    /* Accepts all bytes or none: UVHTTP_EFULL, ... */
    [[nodiscard]] Result write(std::string_view bytes) const noexcept
    {
        return uvhttp_stream_write(stream_, bytes.data(), bytes.size());
    }
    /* Sends both as one, for example the head and payload of a frame. */
    [[nodiscard]] Result write(std::string_view first, std::string_view second) const noexcept
    {
        const uvhttp_slice_t areas[] = {toSlice(first), toSlice(second)};
        return uvhttp_stream_write_areas(stream_, areas, 2);
    }
    std::size_t pending() const noexcept { return uvhttp_stream_pending(stream_); }
    void setBacklog(std::size_t bytes) const noexcept { uvhttp_stream_set_backlog(stream_, bytes); }
    /* Starts a one-shot timer, which replaces an earlier one; zero stops it. UVHTTP_EINVAL if
     * the handler has no `timer`. */
    Result setTimer(std::chrono::milliseconds time) const noexcept
    {
        if (time.count() < 0 || time.count() > std::int64_t{UINT32_MAX})
            return UVHTTP_EINVAL;
        return uvhttp_stream_set_timer(stream_, static_cast<std::uint32_t>(time.count()));
    }
    void pause() const noexcept { uvhttp_stream_pause(stream_); }
    void resume() const noexcept { uvhttp_stream_resume(stream_); }
    /* Ends after sending queued data; and closes immediately. */
    void end() const noexcept { uvhttp_stream_end(stream_); }
    void close() const noexcept { uvhttp_stream_close(stream_); }
    friend bool operator==(Stream a, Stream b) noexcept { return a.stream_ == b.stream_; }

private:
    uvhttp_stream_t *stream_;
};

namespace detail
{

/* The handler of one stream, and the callbacks for its type. It frees itself when the stream is
 * closed and none of its functions runs. */
template <class H> class StreamHandler
{
public:
    template <class From> explicit StreamHandler(From &&from) : handler_(std::forward<From>(from))
    {
    }

    static Result open(uvhttp_response_t *response, const char *protocol,
                       std::unique_ptr<StreamHandler> handler) noexcept
    {
        static constexpr bool drains = requires(H & h, Stream s)
        {
            h.drain(s);
        };
        static constexpr bool stops = requires(H & h, Stream s)
        {
            h.stopping(s);
        };
        static constexpr bool times = requires(H & h, Stream s)
        {
            h.timer(s);
        };
        static constexpr uvhttp_stream_events_t events = {onData, drains ? onDrain : nullptr,
                                                          stops ? onStopping : nullptr,
                                                          times ? onTimer : nullptr, onClosed};
        StreamHandler *self = handler.get();
        self->running_++; /* the stream may be closed before this returns */
        uvhttp_stream_t *stream;
        const int error = uvhttp_response_upgrade(response, protocol, &events, self, &stream);
        if (error != 0)
            return error;
        (void)handler.release();
        if constexpr (requires(H & h, Stream s) { h.opened(s); }) {
            if (!self->closed_)
                self->call(stream, [&] { self->handler_.opened(Stream(stream)); });
        }
        self->leave();
        return 0;
    }

private:
    template <class Call> void call(uvhttp_stream_t *stream, Call function) noexcept
    {
        if (!swallow(function) && !closed_)
            uvhttp_stream_close(stream);
    }
    template <class Call> void run(uvhttp_stream_t *stream, Call function) noexcept
    {
        running_++;
        call(stream, function);
        leave();
    }
    void leave() noexcept
    {
        if (--running_ == 0 && closed_)
            delete this;
    }

    static void onData(uvhttp_stream_t *stream, char *data, std::size_t size, void *arg) noexcept
    {
        auto *self = static_cast<StreamHandler *>(arg);
        self->run(stream, [&] {
            if constexpr (std::is_invocable_v<H &, Stream, std::string_view>)
                self->handler_(Stream(stream), std::string_view(data, size));
            else if constexpr (std::is_invocable_v<H &, Stream, std::span<char>>)
                self->handler_(Stream(stream), std::span<char>(data, size));
            else if constexpr (requires(H & h, Stream s, std::string_view b) { h.data(s, b); })
                self->handler_.data(Stream(stream), std::string_view(data, size));
            else
                self->handler_.data(Stream(stream), std::span<char>(data, size));
        });
    }
    static void onDrain(uvhttp_stream_t *stream, void *arg) noexcept
    {
        auto *self = static_cast<StreamHandler *>(arg);
        if constexpr (requires(H & h, Stream s) { h.drain(s); })
            self->run(stream, [&] { self->handler_.drain(Stream(stream)); });
    }
    static void onTimer(uvhttp_stream_t *stream, void *arg) noexcept
    {
        auto *self = static_cast<StreamHandler *>(arg);
        if constexpr (requires(H & h, Stream s) { h.timer(s); })
            self->run(stream, [&] { self->handler_.timer(Stream(stream)); });
    }
    static void onStopping(uvhttp_stream_t *stream, void *arg) noexcept
    {
        auto *self = static_cast<StreamHandler *>(arg);
        if constexpr (requires(H & h, Stream s) { h.stopping(s); })
            self->run(stream, [&] { self->handler_.stopping(Stream(stream)); });
    }
    static void onClosed(uvhttp_stream_t *, void *arg) noexcept
    {
        auto *self = static_cast<StreamHandler *>(arg);
        self->running_++;
        if constexpr (requires(H & h) { h.closed(); })
            swallow([&] { self->handler_.closed(); });
        self->closed_ = true;
        self->leave();
    }

    H handler_;
    unsigned running_ = 0;
    bool closed_ = false;
};

} // namespace detail

} // namespace uvhttp

#endif
