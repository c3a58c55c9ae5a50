/* Compressed responses: a JSON document, a table that is streamed line by line, and server-sent
 * events, each with the content coding that the client prefers.
 *
 *     curl -sS --compressed -D - http://127.0.0.1:8080/items
 *     curl -sS --compressed -H "Accept-Encoding: gzip" http://127.0.0.1:8080/table
 *     curl -sS --compressed -N http://127.0.0.1:8080/numbers
 *
 * Usage: compressed [PORT] */
#include <string>

#include <uvhttp.hpp>

using uvhttp::Response, uvhttp::Result;

static Result send_items(Response res)
{
    std::string json = "[";
    for (int i = 0; i < 200; i++) {
        const std::string id = std::to_string(i);
        json.append(i == 0 ? "" : ",\n ").append(R"({"id": )").append(id);
        json.append(R"(, "name": "item )").append(id).append("\"}");
    }
    /* sent as W/"items-1" when the response is compressed */
    if (Result error = res.setHeader("ETag", "\"items-1\""))
        return error;
    return res.sendOwned(200, "application/json", json + "]\n");
}

/* The compressor collects data until sending it is efficient. `flush` sends the collected data at
 * once. */
static Result send_table(Response res)
{
    Result error = res.begin(200, "text/csv");
    for (int i = 1; i <= 1000 && !error; i++) {
        std::string line = std::to_string(i);
        line.append(",")
            .append(std::to_string(i * i))
            .append(",")
            .append(std::to_string(i * i * i));
        error = res.write(line + "\n");
    }
    return error ? error : res.end();
}

/* Each event is sent at once. */
static Result send_numbers(Response res)
{
    Result error = res.beginEvents();
    for (int i = 1; i <= 3 && !error; i++)
        error = res.sendEvent({.data = "number " + std::to_string(i)});
    return error ? error : res.end();
}

int main(int argc, char **argv)
{
    const uvhttp::Compress compress({.minSize = 512});
    uvhttp::Server server;
    server.use(compress).get("/items", send_items);
    server.get("/table", send_table).get("/numbers", send_numbers);
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
