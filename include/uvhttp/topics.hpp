/* Topics (topics.h): publish and subscribe for WebSockets.
 *
 *     uvhttp::Topics topics = server.topics();
 *     server.webSocket("/news", [topics](uvhttp::WebSocket ws, std::string_view topic) {
 *         topics.subscribe(ws, topic);
 *     });
 *     topics.publish("weather", "rain"); // any thread, after the server listens
 *
 * The server owns the topics; a Topics is a copyable view of them. */
#ifndef UVHTTP_TOPICS_HPP
#define UVHTTP_TOPICS_HPP

#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/callback.hpp>
#include <uvhttp/server.hpp>
#include <uvhttp/topics.h>
#include <uvhttp/websocket.hpp>

namespace uvhttp
{

struct TopicsOptions {
    std::size_t maxTopicSize = 0;
    std::size_t maxSubscriptions = 0; /* per connection */
    std::size_t memory = 0;           /* of messages in transit */
};

class Topics
{
public:
    /* None yet: for a variable that is declared before its server. Without use after the server's
     * end. */
    Topics() noexcept = default;
    Topics(detail::Setup &setup, uvhttp_topics_t *topics) noexcept : setup_(&setup), topics_(topics)
    {
    }
    /* NULL for none, and after an error of setup; all functions then return UVHTTP_ENOMEM. */
    uvhttp_topics_t *native() const noexcept { return topics_; }

    /* On the connection's thread. '+' matches one level, '#' at the end any number. */
    Result subscribe(WebSocket ws, const Text &pattern) const noexcept
    {
        const int unfit = check(pattern);
        return unfit != 0 ? unfit
                          : uvhttp_websocket_subscribe(ws.native(), topics_, pattern.c_str());
    }
    Result unsubscribe(WebSocket ws, const Text &pattern) const noexcept
    {
        const int unfit = check(pattern);
        return unfit != 0 ? unfit
                          : uvhttp_websocket_unsubscribe(ws.native(), topics_, pattern.c_str());
    }

    /* To all subscribers. Any thread. */
    Result publish(const Text &topic, WebSocketKind kind, std::string_view data) const noexcept
    {
        const int unfit = check(topic);
        return unfit != 0
                   ? unfit
                   : uvhttp_topics_publish(topics_, topic.c_str(), kind, data.data(), data.size());
    }
    Result publish(const Text &topic, std::string_view text) const noexcept
    {
        return publish(topic, UVHTTP_WEBSOCKET_TEXT, text);
    }
    /* To all except the publisher, on its thread. */
    Result publishFrom(WebSocket ws, const Text &topic, WebSocketKind kind,
                       std::string_view data) const noexcept
    {
        const int unfit = check(topic);
        return unfit != 0 ? unfit
                          : uvhttp_websocket_publish(ws.native(), topics_, topic.c_str(), kind,
                                                     data.data(), data.size());
    }
    Result publishFrom(WebSocket ws, const Text &topic, std::string_view text) const noexcept
    {
        return publishFrom(ws, topic, UVHTTP_WEBSOCKET_TEXT, text);
    }
    /* Delivers a message of another machine to the subscribers of this one. Any thread. */
    Result deliver(const Text &topic, WebSocketKind kind, std::string_view data) const noexcept
    {
        const int unfit = check(topic);
        return unfit != 0
                   ? unfit
                   : uvhttp_topics_deliver(topics_, topic.c_str(), kind, data.data(), data.size());
    }

    /* Subscribers of exactly this pattern, on this machine. */
    std::size_t count(const Text &pattern) const noexcept
    {
        return check(pattern) != 0 ? 0 : uvhttp_topics_count(topics_, pattern.c_str());
    }
    /* `onChange` gets a pattern (std::string_view) and its number of subscribers when that changes;
     * with several workers on several threads concurrently. A second call replaces the first.
     * Before the server listens. */
    template <class F> const Topics &onPresence(F &&onChange) const
    {
        using Kept = std::decay_t<F>;
        if (topics_ == nullptr)
            return *this;
        if (Kept *kept = setup_->keep<uvhttp_server_keep>(std::forward<F>(onChange), "onPresence");
            kept != nullptr)
            uvhttp_topics_on_presence(
                topics_,
                [](uvhttp_topics_t *, const char *pattern, std::size_t count, void *arg) noexcept {
                    detail::swallow(
                        [&] { detail::stored<Kept>(arg)(std::string_view(pattern), count); });
                },
                kept);
        return *this;
    }

    /* Transport to other machines: an object with `int publish(std::string_view topic,
     * uvhttp::WebSocketKind, std::string_view data)` and optionally `void
     * subscribe(std::string_view pattern)` and `void unsubscribe(std::string_view pattern)`.
     * Destroyed with the topics. */
    template <class Adapter>
    const Topics &setAdapter(std::unique_ptr<Adapter> adapter) const noexcept
    {
        uvhttp_topics_adapter_t raw = {};
        raw.publish = [](void *self, const char *topic, uvhttp_websocket_kind_t kind,
                         const void *data, std::size_t size) noexcept -> int {
            int error = UVHTTP_EINVAL; /* after an exception */
            detail::swallow([&] {
                error = static_cast<Adapter *>(self)->publish(
                    std::string_view(topic), kind,
                    std::string_view(static_cast<const char *>(data), size));
            });
            return error;
        };
        raw.subscribe = nullptr;
        if constexpr (requires(Adapter & a) { a.subscribe(std::string_view()); })
            raw.subscribe = [](void *self, const char *pattern) noexcept {
                detail::swallow(
                    [&] { static_cast<Adapter *>(self)->subscribe(std::string_view(pattern)); });
            };
        raw.unsubscribe = nullptr;
        if constexpr (requires(Adapter & a) { a.unsubscribe(std::string_view()); })
            raw.unsubscribe = [](void *self, const char *pattern) noexcept {
                detail::swallow(
                    [&] { static_cast<Adapter *>(self)->unsubscribe(std::string_view(pattern)); });
            };
        raw.release = detail::destroy<Adapter>;
        if (topics_ != nullptr &&
            setup_->note(uvhttp_topics_set_adapter(topics_, &raw, adapter.get()), "adapter"))
            (void)adapter.release();
        return *this;
    }

private:
    int check(const Text &text) const noexcept
    {
        return topics_ == nullptr ? int{UVHTTP_ENOMEM} : text.error();
    }

    detail::Setup *setup_ = nullptr;
    uvhttp_topics_t *topics_ = nullptr;
};

inline Topics Server::topics(const TopicsOptions &options) noexcept
{
    uvhttp_topics_options_t raw = {};
    raw.max_topic_size = options.maxTopicSize;
    raw.max_subscriptions = options.maxSubscriptions;
    raw.memory = options.memory;
    uvhttp_topics_t *topics = nullptr;
    SetupError details = {};
    if (!setup_->error())
        setup_->note(uvhttp_topics_new(&topics, native(), &raw, &details), "topics", {}, &details);
    return Topics(*setup_, topics);
}

inline Topics Server::topics() noexcept
{
    return topics(TopicsOptions());
}

} // namespace uvhttp

#endif
