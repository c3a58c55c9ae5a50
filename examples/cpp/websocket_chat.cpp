/* A chat with rooms. A room is a topic, so a message reaches all members, whichever worker has
 * their connections. The page is in examples/site_chat.
 *
 *     curl http://127.0.0.1:8080/
 *     python3 examples/clients/chat.py ws://127.0.0.1:8080/chat/kitchen ada
 *
 * Clients send texts. All members of the room receive each as "said NICK TEXT". When a client joins
 * or leaves, they receive "joined NICK NUMBER" or "left NICK NUMBER" with the number of members.
 *
 * Usage: websocket_chat [PORT [DIRECTORY]] */
#include <algorithm>
#include <optional>
#include <string>

#include <uvhttp.hpp>
#include <uvhttp/topics.hpp>

using uvhttp::Request, uvhttp::Result, uvhttp::WebSocket;

/* One object for each connection. */
struct Guest {
    uvhttp::Topics topics;
    std::string nick, room;

    void open(WebSocket ws)
    {
        if (topics.subscribe(ws, room) ||
            publish("joined " + nick + " " + std::to_string(topics.count(room))))
            ws.close(UVHTTP_WEBSOCKET_INTERNAL_ERROR);
    }
    void message(WebSocket ws, uvhttp::WebSocketKind kind, std::string_view text)
    {
        if (kind == UVHTTP_WEBSOCKET_TEXT)
            publish(("said " + nick + " ").append(text));
        else
            ws.close(UVHTTP_WEBSOCKET_UNSUPPORTED_DATA, "say it as text");
    }
    void close(WebSocket, unsigned, std::string_view)
    {
        publish("left " + nick + " " + std::to_string(topics.count(room)));
    }
    Result publish(const std::string &text) const { return topics.publish(room, text); }
};

/* '/', '+' and '#' have a meaning in topics: a room called "#" would be all rooms. A space ends a
 * nick, and control characters could disguise it. */
static bool isName(std::string_view name)
{
    const auto fits = [](unsigned char c) {
        return c > ' ' && c != 0x7f && c != '/' && c != '+' && c != '#';
    };
    return !name.empty() && name.size() <= 32 && std::ranges::all_of(name, fits);
}

int main(int argc, char **argv)
{
    uvhttp::Server server;
    uvhttp::Topics topics = server.topics();
    auto admit = [topics](Request req) -> std::optional<Guest> {
        const auto room = req.param("room"), nick = req.query("nick").value_or("");
        if (!isName(room) || !isName(nick))
            return std::nullopt;
        return Guest{topics, std::string(nick), std::string(room)};
    };
    server.webSocket("/chat/:room", admit, {.maxMessageSize = 2000});
    server.files("/", {.root = argc > 2 ? argv[2] : "examples/site_chat"});
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
