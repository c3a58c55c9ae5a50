/* Publishes events to all subscribed streams (event_hub.h).
 *
 *     uvhttp::EventHub hub;
 *     uvhttp::Server server;
 *     server.get("/news", [&hub](uvhttp::Response res) { return hub.subscribe(res); });
 *
 * and anywhere on the loop thread hub.publish({.data = "hello"}). A hub belongs to one loop and
 * its thread. It outlives the server, or ends its streams when destroyed before. */
#ifndef UVHTTP_EVENT_HUB_HPP
#define UVHTTP_EVENT_HUB_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

#include <uvhttp/callback.hpp>
#include <uvhttp/event_hub.h>
#include <uvhttp/response.hpp>

namespace uvhttp
{

class EventHub
{
public:
    explicit EventHub(const uvhttp_allocator_t *allocator = nullptr) noexcept
        : hub_(uvhttp_event_hub_new(allocator))
    {
    }
    /* UVHTTP_ENOMEM if the constructor ran out of memory; subscribe and publish then return it,
     * too. */
    Result error() const noexcept { return hub_ ? 0 : int{UVHTTP_ENOMEM}; }
    uvhttp_event_hub_t *native() const noexcept { return hub_.get(); }

    /* Makes the response a stream that gets all events published from now on. */
    [[nodiscard]] Result subscribe(Response response) const noexcept
    {
        return hub_ ? uvhttp_event_hub_subscribe(native(), response.native()) : int{UVHTTP_ENOMEM};
    }
    Result publish(const Event &event) const noexcept
    {
        const uvhttp_sse_event_t raw = event.native();
        return hub_ ? uvhttp_event_hub_publish(native(), &raw) : int{UVHTTP_ENOMEM};
    }
    /* Ends all streams, for a stopping server. */
    void end() const noexcept
    {
        if (hub_)
            uvhttp_event_hub_end(native());
    }
    /* Number of current streams; and of streams dropped because they read too slowly. */
    std::size_t count() const noexcept { return hub_ ? uvhttp_event_hub_count(native()) : 0; }
    std::uint64_t dropped() const noexcept { return hub_ ? uvhttp_event_hub_dropped(native()) : 0; }

private:
    std::unique_ptr<uvhttp_event_hub_t, detail::Freer<uvhttp_event_hub_free>> hub_;
};

} // namespace uvhttp

#endif
