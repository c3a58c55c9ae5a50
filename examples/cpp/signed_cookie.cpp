/* A login with a signed cookie, which only this server can make. It is valid for an hour.
 *
 *     curl -i -c jar -d "user=ada" http://127.0.0.1:8080/login
 *     curl -i -b jar http://127.0.0.1:8080/
 *     curl -i -b "user=AAAAAAAAAAA" http://127.0.0.1:8080/
 *     curl -i -b jar -c jar -d "" http://127.0.0.1:8080/logout
 *
 * Usage: signed_cookie [PORT] */
#include <cstdio>
#include <string>

#include <uv.h>
#include <uvhttp.hpp>

using uvhttp::Request, uvhttp::Response, uvhttp::Result;

static Result set_user(Response res, const uvhttp::CookieSigner &signer, std::string_view user,
                       std::int64_t seconds)
{
    /* With HTTPS also .secure = true, and a name that begins with "__Host-". */
    return res.setSignedCookie(signer, {.name = "user",
                                        .value = user,
                                        .path = "/",
                                        .maxAge = seconds,
                                        .httpOnly = true,
                                        .sameSite = UVHTTP_SAME_SITE_LAX});
}

int main(int argc, char **argv)
{
    char key[32]; /* read it from a file if logins must survive a restart */
    if (int error = uv_random(nullptr, nullptr, key, sizeof key, 0, nullptr)) {
        std::fprintf(stderr, "%s\n", uv_strerror(error));
        return 1;
    }
    uvhttp::CookieSigner signer({std::string_view(key, sizeof key)});
    if (signer.error()) {
        std::fprintf(stderr, "%s\n", signer.details().text);
        return 1;
    }

    uvhttp::Server server;
    server.get("/", [&signer](Request req, Response res) {
        auto [error, user] = req.signedCookie(signer, "user");
        if (error == UVHTTP_EEXPIRED)
            return res.sendText(401, "you have been away for long: log in again\n");
        if (error == UVHTTP_ESIGNATURE)
            return res.sendText(401, "log in first\n");
        return error ? error : res.sendText(200, "hello, " + std::string(user) + "\n");
    });
    server.post("/login", [&signer](Request req, Response res) {
        /* A real application checks a password, too. */
        auto user = req.form("user");
        if (!user || user->empty())
            return res.sendStatus(422);
        Result error = set_user(res, signer, *user, 3600);
        return error ? error : res.redirect(303, "/");
    });
    server.post("/logout", [&signer](Response res) {
        Result error = set_user(res, signer, "", UVHTTP_COOKIE_DELETE);
        return error ? error : res.redirect(303, "/");
    });
    return server.main("127.0.0.1", argc > 1 ? std::stoi(argv[1]) : 8080);
}
