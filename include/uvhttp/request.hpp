/* The request as a view (request.h), with std::string_view and ranges.
 *
 * A Request is one copyable pointer without ownership. Its values live until the exchange ends.
 * Absent values are std::nullopt, or, where absence is a program error, empty with data() NULL. */
#ifndef UVHTTP_REQUEST_HPP
#define UVHTTP_REQUEST_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/auth.h>
#include <uvhttp/callback.hpp>
#include <uvhttp/embedding.h>
#include <uvhttp/multipart.h>
#include <uvhttp/parser.hpp>
#include <uvhttp/request.h>
#include <uvhttp/request_id.h>
#include <uvhttp/stream.h>
#include <uvhttp/text.hpp>
#include <uvhttp/tls.h>
#include <uvhttp/trace.h>
#include <uvhttp/uploads.hpp>

namespace uvhttp
{

class Response;

/* The fields of a request in wire order: for (auto [name, value] : req.headers()). */
class Headers
{
public:
    class Iterator
    {
    public:
        using value_type = NameValue;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::forward_iterator_tag;

        Iterator() noexcept = default;
        Iterator(uvhttp_request_t *request, std::size_t at) noexcept : request_(request), at_(at) {}
        NameValue operator*() const noexcept
        {
            uvhttp_slice_t name;
            uvhttp_slice_t value;
            uvhttp_request_header_at(request_, at_, &name, &value);
            return {toView(name), toView(value)};
        }
        Iterator &operator++() noexcept
        {
            at_++;
            return *this;
        }
        Iterator operator++(int) noexcept { return {request_, at_++}; }
        friend bool operator==(const Iterator &a, const Iterator &b) noexcept
        {
            return a.at_ == b.at_;
        }

    private:
        uvhttp_request_t *request_ = nullptr;
        std::size_t at_ = 0;
    };

    explicit Headers(uvhttp_request_t *request) noexcept : request_(request) {}
    Iterator begin() const noexcept { return {request_, 0}; }
    Iterator end() const noexcept { return {request_, size()}; }
    std::size_t size() const noexcept { return uvhttp_request_header_count(request_); }

private:
    uvhttp_request_t *request_;
};

/* A part of a form with files. All values are untrusted: a file name is not a path. The views
 * are valid until the next part. */
struct Part {
    std::string_view name;
    std::string_view filename; /* data() is NULL if it is not a file */
    /* data() is NULL if absent, which means text/plain */
    std::string_view type;
    std::string_view data;
};

/* Iterates once over the parts of a form (multipart/form-data) with a complete body:
 *
 *     uvhttp::Multipart form = req.multipart();
 *     for (uvhttp::Part part : form)
 *         std::printf("%zu bytes\n", part.data.size());
 *     if (form.status() != 0)
 *         return res.sendStatus(form.status());
 *
 * About 5 KB, no allocation. For uploads larger than memory use a streamed body and multipart.h. */
class Multipart
{
public:
    class Iterator
    {
    public:
        using value_type = Part;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        Iterator() noexcept = default;
        explicit Iterator(Multipart *form) noexcept : form_(form) { ++*this; }
        const Part &operator*() const noexcept { return form_->part_; }
        const Part *operator->() const noexcept { return &form_->part_; }
        Iterator &operator++() noexcept
        {
            if (!form_->take())
                form_ = nullptr;
            return *this;
        }
        void operator++(int) noexcept { ++*this; }
        friend bool operator==(const Iterator &a, std::default_sentinel_t) noexcept
        {
            return a.form_ == nullptr;
        }

    private:
        Multipart *form_ = nullptr;
    };

    /* `type` is the Content-Type, `body` the complete body; both must outlive this object. */
    Multipart(std::string_view type, std::string_view body,
              const uvhttp_multipart_limits_t *limits = nullptr) noexcept
        : rest_(toSlice(body))
    {
        uvhttp_slice_t boundary;
        if (!uvhttp_multipart_boundary(toSlice(type), &boundary) ||
            !uvhttp_multipart_init(&parser_, boundary, limits))
            status_ = 415;
    }
    Multipart(const Multipart &) = delete;
    Multipart &operator=(const Multipart &) = delete;

    Iterator begin() noexcept { return Iterator(this); }
    std::default_sentinel_t end() const noexcept { return {}; }

    /* After the last part: 0, or the error status: 400 or 413 (uvhttp_multipart_error_status),
     * 415 if the body is no such form. */
    int status() const noexcept { return status_; }
    /* The reason as text; "" without an error. */
    const char *text() const noexcept
    {
        if (status_ == 415)
            return "the body is not multipart/form-data";
        return status_ == 0 ? "" : uvhttp_multipart_error_text(parser_.error);
    }

private:
    /* Reads the next part into part_. Its data is contiguous, like the body. */
    bool take() noexcept
    {
        if (status_ != 0)
            return false;
        for (;;) {
            uvhttp_slice_t chunk;
            switch (uvhttp_multipart_next(&parser_, &rest_, &chunk)) {
            case UVHTTP_MULTIPART_PART:
                part_ = {toView(parser_.part.name), toView(parser_.part.filename),
                         toView(parser_.part.type), std::string_view(rest_.base, 0)};
                continue;
            case UVHTTP_MULTIPART_DATA:
                part_.data = {part_.data.data(), part_.data.size() + chunk.length};
                continue;
            case UVHTTP_MULTIPART_PART_END:
                return true;
            case UVHTTP_MULTIPART_END:
                continue;
            case UVHTTP_MULTIPART_MORE:
            case UVHTTP_MULTIPART_BAD:
                break;
            }
            if (!uvhttp_multipart_finish(&parser_))
                status_ = uvhttp_multipart_error_status(parser_.error);
            return false;
        }
    }

    uvhttp_multipart_t parser_;
    uvhttp_slice_t rest_;
    Part part_;
    int status_ = 0;
};

namespace detail
{

/* Created by Request::attachToConnection; `type` is checked before a cast. */
struct ConnectionData {
    const void *type;
};

template <class T> struct ConnectionDataOf : ConnectionData {
    template <class... From>
    explicit ConnectionDataOf(From &&...from)
        : ConnectionData{&KeyOf<T>::address}, object(construct(std::forward<From>(from)...))
    {
    }
    template <class... From> static T construct(From &&...from)
    {
        if constexpr (std::is_constructible_v<T, From...>)
            return T(std::forward<From>(from)...);
        else
            return T{std::forward<From>(from)...};
    }
    T object;
};

} // namespace detail

class CookieSigner;

class Request
{
public:
    explicit Request(uvhttp_request_t *request) noexcept : request_(request) {}
    uvhttp_request_t *native() const noexcept { return request_; }

    /* As a number for a switch (UVHTTP_METHOD_GET), and as sent. */
    uvhttp_method_t method() const noexcept { return uvhttp_request_method(request_); }
    std::string_view methodName() const noexcept { return uvhttp_request_method_name(request_); }

    /* As sent; the path, normalized and as sent; the query after '?'. */
    std::string_view target() const noexcept { return toView(uvhttp_request_target(request_)); }
    std::string_view path() const noexcept { return toView(uvhttp_request_path_slice(request_)); }
    std::string_view rawPath() const noexcept { return toView(uvhttp_request_raw_path(request_)); }
    std::string_view queryString() const noexcept
    {
        return toView(uvhttp_request_query_string(request_));
    }

    /* The route's ":name" or "*name", decoded completely; data() is NULL if the route has no
     * such parameter. */
    std::string_view param(const Text &name) const noexcept
    {
        return view(name, uvhttp_request_param);
    }
    /* The same as in path(), for code that splits it as a path. */
    std::string_view paramPath(const Text &name) const noexcept
    {
        return name.error() != 0 ? std::string_view()
                                 : toView(uvhttp_request_param_path(request_, name.c_str()));
    }

    /* The first query parameter, form field, cookie or header field of that name. */
    std::optional<std::string_view> query(const Text &name) const noexcept
    {
        return find(name, uvhttp_request_query);
    }
    std::optional<std::string_view> form(const Text &name) const noexcept
    {
        return find(name, uvhttp_request_form);
    }
    std::optional<std::string_view> cookie(const Text &name) const noexcept
    {
        return find(name, uvhttp_request_cookie);
    }
    std::optional<std::string_view> header(const Text &name) const noexcept
    {
        return find(name, uvhttp_request_header);
    }
    /* By known id; faster. */
    std::optional<std::string_view> field(uvhttp_field_id_t id) const noexcept
    {
        return optional(uvhttp_request_field(request_, id));
    }
    std::optional<std::string_view> trailer(const Text &name) const noexcept
    {
        return find(name, uvhttp_request_trailer);
    }

    /* The same as a number: req.query<int>("limit", {.min = 1, .max = 100, .otherwise = 20}).
     * std::nullopt if it is no number of this range, or absent without `otherwise`. */
    template <std::integral T>
    std::optional<T> param(const Text &name, const NumberRange<T> &range = {}) const noexcept
    {
        return detail::numberOf(view(name, uvhttp_request_param).data(), range);
    }
    template <std::integral T>
    std::optional<T> query(const Text &name, const NumberRange<T> &range = {}) const noexcept
    {
        return detail::numberOf(view(name, uvhttp_request_query).data(), range);
    }
    template <std::integral T>
    std::optional<T> form(const Text &name, const NumberRange<T> &range = {}) const noexcept
    {
        return detail::numberOf(view(name, uvhttp_request_form).data(), range);
    }

    /* All of them, in order. queryPairs and formFields are decoded, with one allocation, and
     * have an error() (parser.hpp, Form). */
    Headers headers() const noexcept { return Headers(request_); }
    Form queryPairs() const noexcept { return Form(queryString()); }
    Form formFields() const noexcept { return Form(body()); }
    Multipart multipart(const uvhttp_multipart_limits_t *limits = nullptr) const noexcept
    {
        return Multipart(field(UVHTTP_FIELD_CONTENT_TYPE).value_or(""), body(), limits);
    }

    /* The complete body; not for middleware, and not for routes with a streamed body. */
    std::string_view body() const noexcept { return toView(uvhttp_request_body(request_)); }

    /* The same as text in UTF-8, NUL-terminated; std::nullopt if it is none. */
    std::optional<std::string_view> bodyText() const noexcept
    {
        return optional(uvhttp_request_body_text(request_));
    }

    /* Streams the body (RouteOptions::stream): `take` gets a std::string_view, optionally with a
     * Response first, and finally an empty one. Its result is handled like that of a handler. It
     * is moved into the exchange's memory. */
    template <class F> [[nodiscard]] Result onBody(F &&take) const;
    void pauseBody() const noexcept { uvhttp_request_pause_body(request_); }
    void resumeBody() const noexcept { uvhttp_request_resume_body(request_); }
    /* For middleware. */
    [[nodiscard]] Result limitBody(std::uint64_t most) const noexcept
    {
        return uvhttp_request_limit_body(request_, most);
    }

    /* Evaluates the conditions for a representation with this entity tag, in quotes, and time in
     * seconds since 1970 (0: unknown); or for none, before it is created. 0, the status to send
     * (304 or 412), or an error. */
    int precondition(const Text &etag, std::int64_t modified = 0) const noexcept
    {
        const uvhttp_validators_t current = {etag.c_str(), modified};
        return etag.error() != 0 ? etag.error() : uvhttp_request_precondition(request_, &current);
    }
    int precondition(std::nullptr_t) const noexcept
    {
        return uvhttp_request_precondition(request_, nullptr);
    }

    /* The pattern of its route: "/notes/:id". */
    std::optional<std::string_view> route() const noexcept
    {
        return optional(uvhttp_request_route(request_));
    }
    /* The pointer of its router (setData), or nullptr. */
    void *routerData() const noexcept { return uvhttp_request_router_data(request_); }

    /* "HTTP/2.0", "HTTP/1.1" or "HTTP/1.0". */
    std::string_view protocol() const noexcept { return uvhttp_request_protocol(request_); }
    int httpMinor() const noexcept { return uvhttp_request_http_minor(request_); }
    std::string_view clientAddress() const noexcept
    {
        return uvhttp_request_client_address(request_);
    }
    /* The address of the connection's peer; "http" or "https"; the requested host. The last two
     * respect trusted proxies (Server::trustProxies). */
    std::string_view peerAddress() const noexcept { return uvhttp_request_peer_address(request_); }
    std::string_view scheme() const noexcept { return uvhttp_request_scheme(request_); }
    std::string_view host() const noexcept { return uvhttp_request_host(request_); }
    /* Result of the TLS handshake (tls.h); nullptr for plain text. */
    const uvhttp_tls_info_t *tls() const noexcept { return uvhttp_request_tls(request_); }
    /* Received as early data, before the handshake was complete (tls.h). */
    bool isEarly() const noexcept { return uvhttp_request_is_early(request_); }
    bool offersUpgrade(const Text &protocol) const noexcept
    {
        return protocol.error() == 0 && uvhttp_request_offers_upgrade(request_, protocol.c_str());
    }

    /* The user, after Auth; checks of Bearer tokens may set it. */
    std::optional<std::string_view> user() const noexcept
    {
        return optional(uvhttp_auth_user(request_));
    }
    [[nodiscard]] Result setUser(const Text &name) const noexcept
    {
        return name.error() != 0 ? name.error() : uvhttp_auth_set_user(request_, name.c_str());
    }
    /* The request ID, after RequestIds. */
    std::optional<std::string_view> id() const noexcept
    {
        return optional(uvhttp_request_id(request_));
    }

    /* The trace that it belongs to (trace.h); NULL if out of memory. */
    const uvhttp_trace_t *trace() const noexcept { return uvhttp_request_trace(request_); }

    /* The number of its worker, for Server::postTo; and that worker's loop, for timers. */
    std::size_t worker() const noexcept { return uvhttp_request_worker(request_); }
    uv_loop_s *loop() const noexcept { return uvhttp_request_loop(request_); }
    /* Its handler is blocking and must not call functions of the loop. */
    bool isBlocking() const noexcept { return uvhttp_request_is_blocking(request_); }
    /* Counts a lookup in a cache of the application in Stats. */
    void countCache(bool hit) const noexcept { uvhttp_request_count_cache(request_, hit); }

    /* Stores the body as a file (upload.h), in a route with `.stream`. `done` gets a const
     * Upload &, optionally with a Response first, and returns a handler's result; without it the
     * response is 201 or 204. A route parameter may be passed as name unchecked. */
    [[nodiscard]] Result uploadToFile(const Text &directory, const Text &name,
                                      const UploadOptions &options = {}) const noexcept
    {
        return upload(directory, name, options, nullptr, nullptr);
    }
    template <class F>
    [[nodiscard]] Result uploadToFile(const Text &directory, const Text &name,
                                      const UploadOptions &options, F &&done) const;
    /* Reads a form with files (form_data.h), in a route with `.stream`: `done` gets a const
     * FormData &, optionally with a Response first. */
    template <class F> [[nodiscard]] Result readForm(const FormOptions &options, F &&done) const;

    /* The value of a signed cookie: UVHTTP_ESIGNATURE, UVHTTP_EEXPIRED, ... (signed_cookie.h). */
    struct Signed {
        Result error;
        std::string_view value;
    };
    Signed signedCookie(const CookieSigner &signer, const Text &name) const noexcept;

    /* Creates a T from `from` in the exchange's memory, destroyed when the exchange ends; a
     * second one of the type replaces the first. NULL when out of memory. For middleware that
     * passes data to handlers: req.attach<User>(id), later req.attached<User>(). */
    template <class T, class... From> T *attach(From &&...from) const
    {
        return detail::storeInExchange<T>(request_, &detail::KeyOf<T>::address,
                                          std::forward<From>(from)...);
    }
    /* NULL if none. */
    template <class T> T *attached() const noexcept
    {
        return static_cast<T *>(uvhttp_request_attached(request_, &detail::KeyOf<T>::address));
    }

    /* The same for the connection and its later requests: one T, destroyed with the connection
     * or when replaced; NULL also in a blocking handler. Not together with
     * uvhttp_request_set_connection_data. */
    template <class T, class... From> T *attachToConnection(From &&...from) const
    {
        auto *data = new (std::nothrow) detail::ConnectionDataOf<T>(std::forward<From>(from)...);
        if (data == nullptr)
            return nullptr;
        const int error = uvhttp_request_set_connection_data(
            request_, static_cast<detail::ConnectionData *>(data), [](void *arg) noexcept {
                delete static_cast<detail::ConnectionDataOf<T> *>(
                    static_cast<detail::ConnectionData *>(arg));
            });
        if (error == 0)
            return &data->object;
        delete data;
        return nullptr;
    }
    template <class T> T *attachedToConnection() const noexcept
    {
        auto *data =
            static_cast<detail::ConnectionData *>(uvhttp_request_connection_data(request_));
        return data == nullptr || data->type != &detail::KeyOf<T>::address
                   ? nullptr
                   : &static_cast<detail::ConnectionDataOf<T> *>(data)->object;
    }
    /* Unique among all connections of the server; 0 when out of memory. */
    std::uint64_t connectionId() const noexcept { return uvhttp_request_connection_id(request_); }

    /* The response to this request. */
    Response response() const noexcept;

private:
    Result upload(const Text &directory, const Text &name, const UploadOptions &options,
                  uvhttp_upload_cb done, void *arg) const noexcept
    {
        /* An invalid name, for example with a NUL, is an error of the client. */
        if (directory.error() != 0 || name.error() == UVHTTP_ENOMEM)
            return directory.error() != 0 ? directory.error() : name.error();
        uvhttp_upload_options_t raw = {};
        raw.max_size = options.maxSize;
        raw.mode = options.mode;
        raw.keep_existing = options.keepExisting;
        raw.sync = options.sync;
        raw.create_directory = options.createDirectory;
        raw.sha256 = options.sha256;
        raw.progress = options.progress;
        raw.check = options.check;
        raw.arg = options.arg;
        return uvhttp_upload_to_file(request_, directory.c_str(), name.c_str(), &raw, done, arg);
    }
    static std::optional<std::string_view> optional(const char *text) noexcept
    {
        return text == nullptr ? std::nullopt : std::optional<std::string_view>(text);
    }
    static std::optional<std::string_view> optional(uvhttp_slice_t slice) noexcept
    {
        return slice.base == nullptr ? std::nullopt : std::optional(toView(slice));
    }
    template <class Get> std::string_view view(const Text &name, Get get) const noexcept
    {
        const char *found = name.error() != 0 ? nullptr : get(request_, name.c_str());
        return found == nullptr ? std::string_view() : std::string_view(found);
    }
    template <class Get>
    std::optional<std::string_view> find(const Text &name, Get get) const noexcept
    {
        const std::string_view found = view(name, get);
        return found.data() == nullptr ? std::nullopt : std::optional(found);
    }

    uvhttp_request_t *request_;
};

} // namespace uvhttp

#endif
