/* The request, as a view: what request.h has, with std::string_view and ranges.
 *
 * A Request is one pointer, freely copied, and owns nothing. Whatever it gives lives until the
 * exchange ends. Absent values are std::nullopt, or, where absence is a mistake of the program,
 * empty with data() NULL. */
#ifndef UVHTTP_REQUEST_HPP
#define UVHTTP_REQUEST_HPP

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
#include <uvhttp/tls.h>
#include <uvhttp/uploads.hpp>

namespace uvhttp
{

class Response;

/* The fields of a request in the order they came: for (auto [name, value] : req.headers()). */
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

/* A part of a form with files. Nothing in it can be trusted: a file name is no path. The views are
 * good until the next part. */
struct Part {
    std::string_view name;
    std::string_view filename; /* data() is NULL when it is no file */
    /* data() is NULL when the client says none, which means text/plain */
    std::string_view type;
    std::string_view data;
};

/* The parts of a form (multipart/form-data) whose body is there as a whole, one after the other,
 * once:
 *
 *     uvhttp::Multipart form = req.multipart();
 *     for (uvhttp::Part part : form)
 *         ...
 *     if (form.status() != 0)
 *         return res.sendStatus(form.status());
 *
 * About 5 KB, no allocation. For uploads that do not fit into memory take the body in pieces, and
 * multipart.h. */
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

    /* `type` is the Content-Type, `body` the whole body; both have to live as long as this. */
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

    /* After the last part: 0; or what to answer: 400 or 413 as uvhttp_multipart_error_status says,
     * 415 when the body is no such form. */
    int status() const noexcept { return status_; }
    /* Why, for people; "" without an error. */
    const char *text() const noexcept
    {
        if (status_ == 415)
            return "the body is not multipart/form-data";
        return status_ == 0 ? "" : uvhttp_multipart_error_text(parser_.error);
    }

private:
    /* The next part into part_. Its data lies in one piece, since the body does. */
    bool take() noexcept
    {
        if (status_ != 0)
            return false;
        for (;;) {
            uvhttp_slice_t piece;
            switch (uvhttp_multipart_next(&parser_, &rest_, &piece)) {
            case UVHTTP_MULTIPART_PART:
                part_ = {toView(parser_.part.name), toView(parser_.part.filename),
                         toView(parser_.part.type), std::string_view(rest_.base, 0)};
                continue;
            case UVHTTP_MULTIPART_DATA:
                part_.data = {part_.data.data(), part_.data.size() + piece.length};
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

/* What Request::attachToConnection makes; the type is asked before it is believed. */
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

    /* As a number for a switch (UVHTTP_METHOD_GET), and as it was sent. */
    uvhttp_method_t method() const noexcept { return uvhttp_request_method(request_); }
    std::string_view methodName() const noexcept { return uvhttp_request_method_name(request_); }

    /* As it was sent; the path decoded and clean, and as it was sent; what follows the '?'. */
    std::string_view target() const noexcept { return toView(uvhttp_request_target(request_)); }
    std::string_view path() const noexcept { return toView(uvhttp_request_path_slice(request_)); }
    std::string_view rawPath() const noexcept { return toView(uvhttp_request_raw_path(request_)); }
    std::string_view queryString() const noexcept
    {
        return toView(uvhttp_request_query_string(request_));
    }

    /* The route's ":name" or "*name", decoded completely; data() is NULL when the route has none of
     * that name. */
    std::string_view param(const Text &name) const noexcept
    {
        return view(name, uvhttp_request_param);
    }
    /* The same as it stands in path(), for what takes it apart as a path. */
    std::string_view paramPath(const Text &name) const noexcept
    {
        return name.error() != 0 ? std::string_view()
                                 : toView(uvhttp_request_param_path(request_, name.c_str()));
    }

    /* The first parameter of the query, field of a form in the body, cookie, or header field of
     * that name. */
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
    /* By known id, quicker. */
    std::optional<std::string_view> field(uvhttp_field_id_t id) const noexcept
    {
        return optional(uvhttp_request_field(request_, id));
    }
    std::optional<std::string_view> trailer(const Text &name) const noexcept
    {
        return find(name, uvhttp_request_trailer);
    }

    /* All of them, in order. queryPairs and formFields are decoded, with one allocation, and have
     * an error() (parser.hpp, Form). */
    Headers headers() const noexcept { return Headers(request_); }
    Form queryPairs() const noexcept { return Form(queryString()); }
    Form formFields() const noexcept { return Form(body()); }
    Multipart multipart(const uvhttp_multipart_limits_t *limits = nullptr) const noexcept
    {
        return Multipart(field(UVHTTP_FIELD_CONTENT_TYPE).value_or(""), body(), limits);
    }

    /* The whole body; not for middleware, and not for routes that take it in pieces. */
    std::string_view body() const noexcept { return toView(uvhttp_request_body(request_)); }

    /* Takes the body in pieces (RouteOptions::stream): `take` gets a std::string_view, in front of
     * it a Response if it wants one, and in the end an empty one. What it returns is treated as a
     * handler's result. It is moved into the exchange's memory. */
    template <class F> Result onBody(F &&take) const;
    void pauseBody() const noexcept { uvhttp_request_pause_body(request_); }
    void resumeBody() const noexcept { uvhttp_request_resume_body(request_); }
    /* From middleware. */
    Result limitBody(std::uint64_t most) const noexcept
    {
        return uvhttp_request_limit_body(request_, most);
    }

    int httpMinor() const noexcept { return uvhttp_request_http_minor(request_); }
    std::string_view clientAddress() const noexcept
    {
        return uvhttp_request_client_address(request_);
    }
    /* Who is at the other end of the connection; "http" or "https"; the host that was asked for:
     * with proxies in front (Server::trustProxies). */
    std::string_view peerAddress() const noexcept { return uvhttp_request_peer_address(request_); }
    std::string_view scheme() const noexcept { return uvhttp_request_scheme(request_); }
    std::string_view host() const noexcept { return uvhttp_request_host(request_); }
    /* What the TLS handshake has agreed on (tls.h); nullptr for a request in plain text. */
    const uvhttp_tls_info_t *tls() const noexcept { return uvhttp_request_tls(request_); }
    /* It came as early data, before the handshake was over (tls.h). */
    bool isEarly() const noexcept { return uvhttp_request_is_early(request_); }
    bool offersUpgrade(const Text &protocol) const noexcept
    {
        return protocol.error() == 0 && uvhttp_request_offers_upgrade(request_, protocol.c_str());
    }

    /* Who it is, behind Auth; and for checks of Bearer tokens to say so. */
    std::optional<std::string_view> user() const noexcept
    {
        return optional(uvhttp_auth_user(request_));
    }
    Result setUser(const Text &name) const noexcept
    {
        return name.error() != 0 ? name.error() : uvhttp_auth_set_user(request_, name.c_str());
    }
    /* Its name, behind RequestIds. */
    std::optional<std::string_view> id() const noexcept
    {
        return optional(uvhttp_request_id(request_));
    }

    /* The number of its worker, for Server::postTo; and that worker's loop, for timers. */
    std::size_t worker() const noexcept { return uvhttp_request_worker(request_); }
    uv_loop_s *loop() const noexcept { return uvhttp_request_loop(request_); }
    /* Its handler has a thread of its own, where nothing of the loop can be called. */
    bool isBlocking() const noexcept { return uvhttp_request_is_blocking(request_); }
    /* Counts a look into a cache of yours in Stats. */
    void countCache(bool hit) const noexcept { uvhttp_request_count_cache(request_, hit); }

    /* Takes the body to a file (upload.h), in a route with `.stream`. `done` gets a const Upload &,
     * in front of it a Response if it wants one, and returns what a handler does; without it the
     * client is answered 201 or 204. A parameter of the route may be the name as it is. */
    Result uploadToFile(const Text &folder, const Text &name,
                        const UploadOptions &options = {}) const noexcept
    {
        return upload(folder, name, options, nullptr, nullptr);
    }
    template <class F>
    Result uploadToFile(const Text &folder, const Text &name, const UploadOptions &options,
                        F &&done) const;
    /* Takes a form with files (form_data.h), in a route with `.stream`: `done` gets a const
     * FormData &, in front of it a Response if it wants one. */
    template <class F> Result readForm(const FormOptions &options, F &&done) const;

    /* The value of a cookie that was signed: UVHTTP_ESIGNATURE, UVHTTP_EEXPIRED, ...
     * (signed_cookie.h). */
    struct Signed {
        Result error;
        std::string_view value;
    };
    Signed signedCookie(const CookieSigner &signer, const Text &name) const noexcept;

    /* A T that lives in the exchange's memory until the exchange ends, made from `from`; a second
     * one of the type replaces the first. NULL when memory ran out. For what a middleware has found
     * out and handlers want to know: req.attach<User>(id), later req.attached<User>(). */
    template <class T, class... From> T *attach(From &&...from) const
    {
        return detail::storeInExchange<T>(request_, &detail::KeyOf<T>::address,
                                          std::forward<From>(from)...);
    }
    /* NULL when there is none. */
    template <class T> T *attached() const noexcept
    {
        return static_cast<T *>(uvhttp_request_attached(request_, &detail::KeyOf<T>::address));
    }

    /* The same for the connection and the requests that come on it later: one T, destroyed with the
     * connection or when another takes its place; NULL also in a handler that blocks. Not together
     * with uvhttp_request_set_connection_data. */
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
    /* No other connection of the server has it; 0 without memory. */
    std::uint64_t connectionId() const noexcept { return uvhttp_request_connection_id(request_); }

    /* The response that answers this request. */
    Response response() const noexcept;

private:
    Result upload(const Text &folder, const Text &name, const UploadOptions &options,
                  uvhttp_upload_cb done, void *arg) const noexcept
    {
        /* A name that is none, as one with a NUL inside, is the client's fault. */
        if (folder.error() != 0 || name.error() == UVHTTP_ENOMEM)
            return folder.error() != 0 ? folder.error() : name.error();
        uvhttp_upload_options_t raw = {};
        raw.max_size = options.maxSize;
        raw.mode = options.mode;
        raw.keep_existing = options.keepExisting;
        raw.sync = options.sync;
        return uvhttp_upload_to_file(request_, folder.c_str(), name.c_str(), &raw, done, arg);
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
