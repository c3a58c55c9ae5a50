/* Publishes events to all subscribed streams, on all workers (event_hub.h).
 *
 *     uvhttp::EventHub hub({.keep = 100});
 *     uvhttp::Server server;
 *     server.get("/news", hub);
 *
 * and on any thread hub.publish({.data = "hello"}). A hub outlives the server, or ends its streams
 * when destroyed before. */
#ifndef UVHTTP_EVENT_HUB_HPP
#define UVHTTP_EVENT_HUB_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

#include <uvhttp/callback.hpp>
#include <uvhttp/event_hub.h>
#include <uvhttp/response.hpp>
#include <uvhttp/router.hpp>

namespace uvhttp
{

struct EventHubOptions {
    std::size_t keep = 0; /* events for clients that reconnect */
    const uvhttp_allocator_t *allocator = nullptr;
};

class EventHub
{
public:
    explicit EventHub(const EventHubOptions &options = {}) noexcept
    {
        uvhttp_event_hub_t *hub = nullptr;
        uvhttp_event_hub_options_t raw = {};
        raw.keep = options.keep;
        raw.allocator = options.allocator;
        (void)uvhttp_event_hub_new(&hub, &raw, &details_);
        hub_.reset(hub);
    }
    /* That of the constructor, and what was wrong. subscribe and publish then return
     * UVHTTP_ENOMEM. */
    Result error() const noexcept { return details_.code; }
    const SetupError &details() const noexcept { return details_; }
    uvhttp_event_hub_t *native() const noexcept { return hub_.get(); }

    /* As a handler: server.get("/news", hub). */
    operator Native() const && = delete;
    operator Native() const &noexcept
    {
        return {uvhttp_event_hub_handle_request, native(), error(), "event hub", &details_};
    }
    /* Makes the response a stream that gets all events published from now on, and before them the
     * kept ones that its client has missed. On the request's thread; all others on any thread. */
    [[nodiscard]] Result subscribe(Response response) const noexcept
    {
        return hub_ ? uvhttp_event_hub_subscribe(native(), response.native()) : int{UVHTTP_ENOMEM};
    }
    Result publish(const Event &event) const noexcept
    {
        const uvhttp_sse_event_t raw = event.native();
        return hub_ ? uvhttp_event_hub_publish(native(), &raw) : int{UVHTTP_ENOMEM};
    }
    /* Ends all streams. A stopping server does this itself. */
    void end() const noexcept
    {
        if (hub_)
            uvhttp_event_hub_end(native());
    }
    /* Number of current streams; and of streams dropped because they read too slowly. */
    std::size_t count() const noexcept { return hub_ ? uvhttp_event_hub_count(native()) : 0; }
    std::uint64_t dropped() const noexcept { return hub_ ? uvhttp_event_hub_dropped(native()) : 0; }

private:
    SetupError details_ = {};
    std::unique_ptr<uvhttp_event_hub_t, detail::Freer<uvhttp_event_hub_free>> hub_;
};

} // namespace uvhttp

#endif
