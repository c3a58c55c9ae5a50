/* The server's middleware as objects: rate and size limits, access control (addresses, passwords,
 * tokens), CORS, security headers, request IDs, compression, entity tags.
 *
 *     server.use(uvhttp::Cors({.origins = "https://app.example.com", .credentials = true}));
 *
 * Each is created from a struct of options, in which omitted fields have their defaults; the C
 * header of the same name describes them. Strings and lists are read during construction,
 * callables are moved into the object. If creation fails, error() returns the reason and
 * details() the invalid option, and the setup of a server that uses the object fails with it.
 * The server keeps a temporary one. Others, which several routers and servers may use, must outlive
 * the servers: declare them first. */
#ifndef UVHTTP_MIDDLEWARE_HPP
#define UVHTTP_MIDDLEWARE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/address_rules.h>
#include <uvhttp/auth.h>
#include <uvhttp/body_etag.h>
#include <uvhttp/callback.hpp>
#include <uvhttp/compress.h>
#include <uvhttp/cors.h>
#include <uvhttp/passwords.h>
#include <uvhttp/rate_limit.h>
#include <uvhttp/request_id.h>
#include <uvhttp/router.hpp>
#include <uvhttp/security_headers.h>
#include <uvhttp/size_limit.h>

namespace uvhttp
{

namespace detail
{

/* A C object, the argument of its callbacks, and the error if its creation failed. */
template <class T, auto Free> class Made
{
public:
    Result error() const noexcept { return error_; }
    /* The invalid option, its value and the reason; details().text is a line for users. */
    const SetupError &details() const noexcept { return details_; }
    T *native() const noexcept { return made_.get(); }

protected:
    template <class Config>
    void make(int (*create)(T **, const Config *, SetupError *), const Config &raw) noexcept
    {
        T *made = nullptr;
        error_ = create(&made, &raw, &details_);
        made_.reset(made);
    }
    /* Stores an error; false if the object cannot be created. */
    bool fine(Result error) noexcept
    {
        error_ = error;
        setError(details_, error.code());
        return !error;
    }
    bool fine(const SetupError &details) noexcept
    {
        error_ = details.code;
        details_ = details;
        return !error_;
    }
    /* Moves the callable to the heap; NULL when out of memory. */
    template <class F> std::decay_t<F> *keep(F &&from)
    {
        using Kept = std::decay_t<F>;
        std::unique_ptr<Kept> kept(new (std::nothrow) Kept(std::forward<F>(from)));
        Kept *const address = kept.get();
        kept_ = {kept.release(), destroy<Kept>};
        return fine(address == nullptr ? int{UVHTTP_ENOMEM} : 0) ? address : nullptr;
    }

private:
    std::unique_ptr<void, void (*)(void *)> kept_ = {nullptr, nullptr};
    std::unique_ptr<T, Freer<Free>> made_;
    Result error_;
    SetupError details_ = {};
};

template <class T, auto Free, uvhttp_handler_cb Handle> class Middleware : public Made<T, Free>
{
public:
    /* Runs it from another middleware. */
    Result handle(Request request, Response response) const noexcept
    {
        return this->error() ? this->error().code()
                             : Handle(request.native(), response.native(), this->native());
    }
    operator Native() const && = delete; /* the server keeps a temporary one, not this view */
    operator Native() const &noexcept
    {
        return {Handle, this->native(), this->error(), what_, &this->details()};
    }

protected:
    explicit Middleware(const char *what) noexcept : what_(what) {}

private:
    const char *what_;
};

} // namespace detail

/* ---- limits ---- */

/* Limits the requests of a client (rate_limit.h). */
struct RateLimitOptions {
    std::size_t requests = 0; /* required */
    std::chrono::milliseconds period = {};
    std::size_t burst = 0;
    bool global = false;
    std::size_t maxClients = 0;
    std::size_t ipv4Prefix = 0;
    std::size_t ipv6Prefix = 0;
    std::string_view name = {};
    bool silent = false;
};

class RateLimit : public detail::Middleware<uvhttp_rate_limit_t, uvhttp_rate_limit_free,
                                            uvhttp_rate_limit_handle_request>
{
public:
    explicit RateLimit(const RateLimitOptions &options) noexcept : Middleware("rate limit")
    {
        create(options, nullptr, nullptr);
    }
    /* `key` gets a Request and returns the bucket as std::string_view; data() NULL selects that
     * of the client's address. */
    template <class F>
    RateLimit(const RateLimitOptions &options, F &&key) : Middleware("rate limit")
    {
        using Kept = std::decay_t<F>;
        if (Kept *kept = keep(std::forward<F>(key)))
            create(
                options,
                [](uvhttp_request_t *request, uvhttp_slice_t *to, void *arg) noexcept {
                    return detail::guard(uvhttp_request_response(request), [&] {
                        *to = toSlice(detail::stored<Kept>(arg)(Request(request)));
                    });
                },
                kept);
    }

private:
    void create(const RateLimitOptions &options, uvhttp_rate_key_cb key, void *arg) noexcept
    {
        const detail::Option name(options.name);
        uvhttp_rate_limit_options_t raw = {};
        raw.requests = options.requests;
        raw.period_ms = detail::toMs(options.period);
        raw.burst = options.burst;
        raw.global = options.global;
        raw.key = key;
        raw.key_arg = arg;
        raw.max_clients = options.maxClients;
        raw.ipv4_prefix = options.ipv4Prefix;
        raw.ipv6_prefix = options.ipv6Prefix;
        raw.name = name.c_str();
        raw.silent = options.silent;
        if (fine(name.error()))
            make(uvhttp_rate_limit_new, raw);
    }
};

/* Limits body sizes (size_limit.h). */
struct SizeLimitOptions {
    std::size_t maxRequestBody = 0;
    std::size_t maxResponseBody = 0;
};

class SizeLimit : public detail::Middleware<uvhttp_size_limit_t, uvhttp_size_limit_free,
                                            uvhttp_size_limit_handle_request>
{
public:
    explicit SizeLimit(const SizeLimitOptions &options) noexcept : Middleware("size limit")
    {
        uvhttp_size_limit_options_t raw = {};
        raw.max_request_body = options.maxRequestBody;
        raw.max_response_body = options.maxResponseBody;
        make(uvhttp_size_limit_new, raw);
    }
};

/* ---- access control ---- */

/* Rules by address; the first matching rule applies (address_rules.h): AddressRules
 * office({{"10.1.0.0/16", false}, {"10.0.0.0/8", true}}). */
class AddressRules : public detail::Middleware<uvhttp_address_rules_t, uvhttp_address_rules_free,
                                               uvhttp_address_rules_handle_request>
{
public:
    explicit AddressRules(std::span<const uvhttp_address_rule_t> rules,
                          bool allowOthers = false) noexcept
        : Middleware("address rules")
    {
        uvhttp_address_rules_options_t raw = {};
        raw.rules = detail::dataOf(rules);
        raw.rule_count = rules.size();
        raw.allow_others = allowOthers;
        make(uvhttp_address_rules_new, raw);
    }
    explicit AddressRules(std::initializer_list<uvhttp_address_rule_t> rules,
                          bool allowOthers = false) noexcept
        : AddressRules(std::span(rules.begin(), rules.size()), allowOthers)
    {
    }
    /* True if a client with that address is accepted. Any thread. */
    bool allows(const Text &address) const noexcept
    {
        return native() != nullptr && address.error() == 0 &&
               uvhttp_address_rules_allow(native(), address.c_str());
    }
};

/* Users with hashed passwords (passwords.h), for Auth. */
struct PasswordsOptions {
    List<uvhttp_hashed_user_t> users = {};
    std::string_view file = {};
    std::chrono::milliseconds remember = {};
};

class Passwords : public detail::Made<uvhttp_passwords_t, uvhttp_passwords_free>
{
public:
    explicit Passwords(const PasswordsOptions &options) noexcept
    {
        const detail::Option file(options.file);
        uvhttp_passwords_options_t raw = {};
        raw.users = options.users.data();
        raw.user_count = options.users.size();
        raw.file = file.c_str();
        raw.remember_ms = detail::toMs(options.remember);
        if (fine(file.error()))
            make(uvhttp_passwords_new, raw);
    }
};

/* Application-defined checks for Auth. For Basic the callable gets user and password, for Bearer
 * the token, as std::string_views that live as long as the request; optionally with a Response
 * first. It returns a bool (false: 401), a uvhttp_auth_verdict_t, or a Result with either or an
 * error. After UVHTTP_AUTH_LATER call Response::decideAuth. Compare secrets with
 * uvhttp_equal_constant_time (secret.h). */
template <class F> struct Basic {
    F check;
};
template <class F> Basic(F) -> Basic<F>;

template <class F> struct Bearer {
    F check;
};
template <class F> Bearer(F) -> Bearer<F>;

/* Authentication (auth.h). `users` have passwords in plain text; those of a Passwords or a Basic
 * are checked after them, and other tokens than `token` by a Bearer. */
struct AuthOptions {
    std::string_view realm = {};
    List<uvhttp_auth_user_t> users = {};
    std::string_view token = {};
    std::string_view scope = {};
};

class Auth : public detail::Middleware<uvhttp_auth_t, uvhttp_auth_free, uvhttp_auth_handle_request>
{
public:
    explicit Auth(const AuthOptions &options) noexcept : Middleware("auth")
    {
        create(options, nullptr, nullptr, nullptr);
    }
    template <class F> Auth(const AuthOptions &options, Basic<F> basic) : Middleware("auth")
    {
        createWith(options, std::move(basic.check), detail::Nothing());
    }
    template <class F> Auth(const AuthOptions &options, Bearer<F> bearer) : Middleware("auth")
    {
        createWith(options, detail::Nothing(), std::move(bearer.check));
    }
    template <class F, class G>
    Auth(const AuthOptions &options, Basic<F> basic, Bearer<G> bearer) : Middleware("auth")
    {
        createWith(options, std::move(basic.check), std::move(bearer.check));
    }
    /* `passwords` must outlive the servers, too. */
    Auth(const AuthOptions &options, const Passwords &passwords) noexcept : Middleware("auth")
    {
        if (fine(passwords.details()))
            create(options, uvhttp_passwords_check, nullptr, passwords.native());
    }
    template <class F>
    Auth(const AuthOptions &options, const Passwords &passwords, Bearer<F> bearer)
        : Middleware("auth")
    {
        if (fine(passwords.details()))
            createWith(options, passwords.native(), std::move(bearer.check));
    }
    Auth(const AuthOptions &, const Passwords &&) = delete;
    template <class F> Auth(const AuthOptions &, const Passwords &&, Bearer<F>) = delete;

private:
    template <class F, class G> struct Checks {
        F basic; /* or a uvhttp_passwords_t *, or Nothing */
        G bearer;
    };

    static std::string_view view(const char *text) noexcept { return text; }
    template <class F, class G> void createWith(const AuthOptions &options, F &&basic, G &&bearer)
    {
        using Given = std::decay_t<F>;
        using Kept = Checks<Given, std::decay_t<G>>;
        static constexpr bool asksBearer = !std::is_same_v<std::decay_t<G>, detail::Nothing>;
        if constexpr (asksBearer)
            static_assert(detail::takes<std::decay_t<G>, Response, std::string_view>,
                          "a check of Bearer takes the token as a std::string_view");
        Kept *kept = keep(Kept{std::forward<F>(basic), std::forward<G>(bearer)});
        if (kept == nullptr)
            return;
        uvhttp_auth_check_cb checkBearer = nullptr;
        if constexpr (asksBearer)
            checkBearer = [](uvhttp_request_t *, uvhttp_response_t *response,
                             const uvhttp_credentials_t *given, void *arg) noexcept {
                return detail::guard(response, [&] {
                    return detail::callWith(detail::stored<Kept>(arg).bearer, Response(response),
                                            view(given->token));
                });
            };
        if constexpr (std::is_same_v<Given, detail::Nothing>) {
            create(options, nullptr, checkBearer, kept);
        } else if constexpr (std::is_same_v<Given, uvhttp_passwords_t *>) {
            create(
                options,
                [](uvhttp_request_t *request, uvhttp_response_t *response,
                   const uvhttp_credentials_t *given, void *arg) noexcept {
                    return uvhttp_passwords_check(request, response, given,
                                                  detail::stored<Kept>(arg).basic);
                },
                checkBearer, kept);
        } else {
            static_assert(detail::takes<Given, Response, std::string_view, std::string_view>,
                          "a check of Basic takes user and password as std::string_views");
            create(
                options,
                [](uvhttp_request_t *, uvhttp_response_t *response,
                   const uvhttp_credentials_t *given, void *arg) noexcept {
                    return detail::guard(response, [&] {
                        return detail::callWith(detail::stored<Kept>(arg).basic, Response(response),
                                                view(given->user), view(given->password));
                    });
                },
                checkBearer, kept);
        }
    }
    void create(const AuthOptions &options, uvhttp_auth_check_cb basic, uvhttp_auth_check_cb bearer,
                void *arg) noexcept
    {
        const detail::Option realm(options.realm), token(options.token), scope(options.scope);
        uvhttp_auth_options_t raw = {};
        raw.realm = realm.c_str();
        raw.users = options.users.data();
        raw.user_count = options.users.size();
        raw.check_basic = basic;
        raw.token = token.c_str();
        raw.check_bearer = bearer;
        raw.arg = arg;
        raw.scope = scope.c_str();
        if (fine(detail::errorOf(realm, token, scope)))
            make(uvhttp_auth_new, raw);
    }
};

/* ---- fields for browsers ---- */

/* Origins that may access this server (cors.h). */
struct CorsOptions {
    std::string_view origins = {};
    bool credentials = false;
    std::string_view methods = {};
    std::string_view headers = {};
    std::string_view exposed = {};
    std::size_t maxAge = 0;
};

class Cors : public detail::Middleware<uvhttp_cors_t, uvhttp_cors_free, uvhttp_cors_handle_request>
{
public:
    explicit Cors(const CorsOptions &options) noexcept : Middleware("CORS")
    {
        create(options, nullptr, nullptr);
    }
    /* `allow` gets the origin as std::string_view, optionally with a Request first, and returns
     * a bool. Called for origins not in the list. */
    template <class F> Cors(const CorsOptions &options, F &&allow) : Middleware("CORS")
    {
        using Kept = std::decay_t<F>;
        static_assert(detail::takes<Kept, Request, std::string_view>,
                      "the function takes the origin as a std::string_view");
        if (Kept *kept = keep(std::forward<F>(allow)))
            create(
                options,
                [](uvhttp_request_t *request, const char *origin, void *arg) noexcept {
                    bool allowed = false;
                    detail::logged(uvhttp_request_response(request), [&] {
                        allowed = detail::callWith(detail::stored<Kept>(arg), Request(request),
                                                   std::string_view(origin));
                    });
                    return allowed;
                },
                kept);
    }

private:
    void create(const CorsOptions &options, uvhttp_cors_origin_cb allow, void *arg) noexcept
    {
        const detail::Option origins(options.origins), methods(options.methods),
            headers(options.headers), exposed(options.exposed);
        uvhttp_cors_options_t raw = {};
        raw.origins = origins.c_str();
        raw.allow = allow;
        raw.allow_arg = arg;
        raw.credentials = options.credentials;
        raw.methods = methods.c_str();
        raw.headers = headers.c_str();
        raw.exposed = exposed.c_str();
        raw.max_age = options.maxAge;
        if (fine(detail::errorOf(origins, methods, headers, exposed)))
            make(uvhttp_cors_new, raw);
    }
};

/* Security-related fields for browsers (security_headers.h). Omitted: the default; "": not sent. */
struct SecurityHeadersOptions {
    std::string_view contentSecurityPolicy = {};
    std::string_view contentTypeOptions = {};
    std::string_view frameOptions = {};
    std::string_view referrerPolicy = {};
    std::string_view permissionsPolicy = {};
    std::string_view crossOriginOpenerPolicy = {};
    std::string_view crossOriginResourcePolicy = {};
    std::string_view crossOriginEmbedderPolicy = {};
    std::string_view strictTransportSecurity = {};
    bool https = false;
};

class SecurityHeaders
    : public detail::Middleware<uvhttp_security_headers_t, uvhttp_security_headers_free,
                                uvhttp_security_headers_handle_request>
{
public:
    explicit SecurityHeaders(const SecurityHeadersOptions &options = {}) noexcept
        : Middleware("security headers")
    {
        using detail::Option;
        const Option content(options.contentSecurityPolicy), type(options.contentTypeOptions),
            frame(options.frameOptions), referrer(options.referrerPolicy),
            permissions(options.permissionsPolicy), opener(options.crossOriginOpenerPolicy),
            resource(options.crossOriginResourcePolicy),
            embedder(options.crossOriginEmbedderPolicy), transport(options.strictTransportSecurity);
        uvhttp_security_headers_options_t raw = {};
        raw.content_security_policy = content.c_str();
        raw.content_type_options = type.c_str();
        raw.frame_options = frame.c_str();
        raw.referrer_policy = referrer.c_str();
        raw.permissions_policy = permissions.c_str();
        raw.cross_origin_opener_policy = opener.c_str();
        raw.cross_origin_resource_policy = resource.c_str();
        raw.cross_origin_embedder_policy = embedder.c_str();
        raw.strict_transport_security = transport.c_str();
        raw.https = options.https;
        if (fine(detail::errorOf(content, type, frame, referrer, permissions, opener, resource,
                                 embedder, transport)))
            make(uvhttp_security_headers_new, raw);
    }
};

/* ---- IDs, compression, tags ---- */

/* An ID for each request (request_id.h); handlers read it with Request::id. */
struct RequestIdsOptions {
    std::string_view header = {};
    bool trusted = false;
    std::size_t maxLength = 0;
};

class RequestIds : public detail::Middleware<uvhttp_request_ids_t, uvhttp_request_ids_free,
                                             uvhttp_request_ids_handle_request>
{
public:
    explicit RequestIds(const RequestIdsOptions &options = {}) noexcept : Middleware("request ids")
    {
        const detail::Option header(options.header);
        uvhttp_request_ids_options_t raw = {};
        raw.header = header.c_str();
        raw.trusted = options.trusted;
        raw.max_length = options.maxLength;
        if (fine(header.error()))
            make(uvhttp_request_ids_new, raw);
    }
};

/* Compression of responses (compress.h). */
struct CompressOptions {
    std::size_t minSize = 0;
    std::size_t maxSize = 0;
    std::size_t jobSize = 0;
    std::string_view types = {};
    unsigned codings = 0; /* UVHTTP_CODING_BROTLI | UVHTTP_CODING_GZIP; 0: all */
    int gzipLevel = 0;
    int brotliLevel = 0;
    int zstdLevel = 0;
};

class Compress : public detail::Middleware<uvhttp_compress_t, uvhttp_compress_free,
                                           uvhttp_compress_handle_request>
{
public:
    explicit Compress(const CompressOptions &options = {}) noexcept : Middleware("compress")
    {
        const detail::Option types(options.types);
        uvhttp_compress_options_t raw = {};
        raw.min_size = options.minSize;
        raw.max_size = options.maxSize;
        raw.job_size = options.jobSize;
        raw.types = types.c_str();
        raw.codings = options.codings;
        raw.gzip_level = options.gzipLevel;
        raw.brotli_level = options.brotliLevel;
        raw.zstd_level = options.zstdLevel;
        if (fine(types.error()))
            make(uvhttp_compress_new, raw);
    }
};

/* Entity tags for dynamic responses (body_etag.h). */
inline Native bodyEtags() noexcept
{
    return {uvhttp_body_etag_handle_request, nullptr};
}

} // namespace uvhttp

#endif
