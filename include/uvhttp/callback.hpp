/* Adapts C++ callables to C callbacks: the callable is stored once, and a static function calls it
 * through the callback's `arg`. No std::function, no allocation and no virtual call when it runs.
 * Internal to uvhttp.hpp.
 *
 * Callables live as long as the server (handlers, uvhttp_server_own) or as long as the exchange
 * (uvhttp_request_allocate and, if not trivially destructible, uvhttp_request_attach). No
 * exception crosses a C frame. */
#ifndef UVHTTP_CALLBACK_HPP
#define UVHTTP_CALLBACK_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/embedding.h>
#include <uvhttp/response.h>
#include <uvhttp/result.hpp>
#include <uvhttp/server.h>

namespace uvhttp
{

/* A duration: never (UVHTTP_NEVER). */
inline constexpr std::chrono::milliseconds never{-1};

/* Thrown by a handler or middleware instead of sending an error response
 * (uvhttp_response_send_error): throw uvhttp::HttpError(404, "there is no such note"). The status
 * is 400 to 599. One that cannot be sent, because of its status or after the beginning of another
 * response, is logged. */
class HttpError : public std::runtime_error
{
public:
    HttpError(int status, const std::string &reason) : std::runtime_error(reason), status_(status)
    {
    }
    explicit HttpError(int status) : HttpError(status, uvhttp_status_text(status)) {}
    int status() const noexcept { return status_; }

private:
    int status_;
};

} // namespace uvhttp

namespace uvhttp::detail
{

/* A duration for C. One that does not fit is out of the range of every option. */
constexpr std::uint32_t toMs(std::chrono::milliseconds time) noexcept
{
    if (time.count() < 0)
        return UVHTTP_NEVER;
    return time.count() < std::int64_t{UVHTTP_NEVER} ? static_cast<std::uint32_t>(time.count())
                                                     : UVHTTP_NEVER - 1;
}

/* The result of a call as a code; void is success. */
template <class Call> int codeOf(Call &&call)
{
    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        return 0;
    } else {
        return Result(call()).code();
    }
}

/* For an error that the caller does not return. */
inline void logException(uvhttp_response_t *response, const char *what) noexcept
{
    uvhttp_response_log(response, UVHTTP_LOG_ERROR, "%s failed: exception: %s",
                        uvhttp_request_path(uvhttp_response_request(response)), what);
}

inline int failed(uvhttp_response_t *response, const char *what) noexcept
{
    uvhttp_response_log_failure(response, "%s failed: exception: %s",
                                uvhttp_request_path(uvhttp_response_request(response)), what);
    return UVHTTP_EINVAL;
}

/* The same with exceptions as errors: an HttpError is sent; others are logged and become
 * UVHTTP_ENOMEM for std::bad_alloc, else UVHTTP_EINVAL, so the client gets 503 or 500. The caller
 * returns the result. */
template <class Call> int guard(uvhttp_response_t *response, Call &&call) noexcept
{
#ifdef __cpp_exceptions
    try {
        return codeOf(call);
    } catch (const HttpError &error) {
        const int sent = uvhttp_response_send_error(response, error.status(), "%s", error.what());
        if (sent < 0 && sent != UVHTTP_EDISCONNECTED)
            uvhttp_response_log_failure(response, "%s failed: HttpError %d cannot be sent: %s (%s)",
                                        uvhttp_request_path(uvhttp_response_request(response)),
                                        error.status(), error.what(), uvhttp_error_name(sent));
        return sent;
    } catch (const std::bad_alloc &) {
        return UVHTTP_ENOMEM;
    } catch (const std::exception &exception) {
        return failed(response, exception.what());
    } catch (...) {
        return failed(response, "not a std::exception");
    }
#else
    (void)response;
    return codeOf(call);
#endif
}

/* For callbacks without a result: logs an exception. */
template <class Call> void logged(uvhttp_response_t *response, Call &&call) noexcept
{
#ifdef __cpp_exceptions
    try {
        call();
    } catch (const std::exception &exception) {
        logException(response, exception.what());
    } catch (...) {
        logException(response, "not a std::exception");
    }
#else
    (void)response;
    call();
#endif
}

/* The same for callbacks of the server: "timer failed: exception: ...". */
template <class Call>
void logged(uvhttp_server_t *server, const char *callback, Call &&call) noexcept
{
#ifdef __cpp_exceptions
    static constexpr const char *line = "%s failed: exception: %s";
    try {
        call();
    } catch (const std::exception &exception) {
        uvhttp_server_log(server, UVHTTP_LOG_ERROR, line, callback, exception.what());
    } catch (...) {
        uvhttp_server_log(server, UVHTTP_LOG_ERROR, line, callback, "not a std::exception");
    }
#else
    (void)server, (void)callback;
    call();
#endif
}

/* For callbacks without a result: false if an exception was thrown. */
template <class Call> bool swallow(Call &&call) noexcept
{
#ifdef __cpp_exceptions
    try {
        call();
    } catch (...) {
        return false;
    }
#else
    call();
#endif
    return true;
}

/* A callback may take the view (usually a Response) before its other arguments, or omit it. */
template <class F, class View, class... Rest>
inline constexpr bool takes =
    std::is_invocable_v<F &, View, Rest...> || std::is_invocable_v<F &, Rest...>;

template <class F, class View, class... Rest>
decltype(auto) callWith(F &function, View view, Rest &&...rest)
{
    if constexpr (std::is_invocable_v<F &, View, Rest...>)
        return function(view, std::forward<Rest>(rest)...);
    else
        return function(std::forward<Rest>(rest)...);
}

template <class T, class... From> T *constructAt(void *memory, From &&...from)
{
    if constexpr (std::is_constructible_v<T, From...>)
        return ::new (memory) T(std::forward<From>(from)...);
    else
        return ::new (memory) T{std::forward<From>(from)...};
}

/* A T in the memory of an exchange, attached under `key` (NULL: a private key) and destroyed
 * with it. NULL when out of memory. */
template <class T, class... From>
T *storeInExchange(uvhttp_request_t *request, const void *key, From &&...from)
{
    static_assert(alignof(T) <= alignof(std::max_align_t));
    void *memory = uvhttp_request_allocate(request, sizeof(T));
    if (memory == nullptr)
        return nullptr;
    T *object = constructAt<T>(memory, std::forward<From>(from)...);
    if constexpr (std::is_trivially_destructible_v<T>) {
        if (key == nullptr)
            return object;
    }
    /* Its own address is a unique key. On failure the object is already destroyed. */
    const int error =
        uvhttp_request_attach(request, key != nullptr ? key : memory, object,
                              [](void *data) noexcept { static_cast<T *>(data)->~T(); });
    return error == 0 ? object : nullptr;
}

/* A unique address per type, the key of the exchange's object of that type. Not const: equal
 * constants may share an address. */
template <class T> struct KeyOf {
    inline static char address = 0;
};

template <class F> F &stored(void *arg) noexcept
{
    return *static_cast<F *>(arg);
}

template <class F> void destroy(void *arg) noexcept
{
    delete static_cast<F *>(arg);
}

/* NULL for an empty list, which C requires with a count of 0: data() may be any pointer. */
template <class List> auto dataOf(const List &list) noexcept -> decltype(list.data())
{
    return list.empty() ? nullptr : list.data();
}

/* Setup state shared by a server and its routers: the first error, after which nothing is added. */
class Setup
{
public:
    Setup() noexcept = default;
    Setup(const Setup &) = delete;
    Setup &operator=(const Setup &) = delete;
    ~Setup() { uvhttp_server_free(server_); }

    uvhttp_server_t *server() const noexcept { return server_; }
    void setServer(uvhttp_server_t *server) noexcept { server_ = server; }
    Result error() const noexcept { return error_; }
    const char *where() const noexcept { return where_; }
    const SetupError &details() const noexcept { return details_; }

    /* For another set-up. The details remain until its first error. */
    void forgetError() noexcept { error_ = {}; }

    /* True without an error; otherwise stores the first one with its context, and its details:
     * `details`, or those of the server if the error is that of a call on it. */
    bool note(int code, std::string_view what, std::string_view which = {},
              const SetupError *details = nullptr) noexcept
    {
        if (code >= 0)
            return true;
        if (!error_) {
            error_ = code;
            if (details == nullptr)
                details = uvhttp_server_error(server_);
            if (details->code == code)
                details_ = *details;
            else
                setError(details_, code);
            std::size_t length = what.copy(where_, sizeof where_ - 2);
            if (length > 0 && !which.empty())
                where_[length++] = ' ';
            length += which.copy(where_ + length, sizeof where_ - 1 - length);
            where_[length] = '\0';
        }
        return false;
    }

    /* A copy of `from` (or the result of a move) that lives as long as the set-up (`Own` is
     * uvhttp_server_own) or the server (uvhttp_server_keep); NULL after an error. */
    template <auto Own = uvhttp_server_own, class F>
    std::decay_t<F> *keep(F &&from, std::string_view what, std::string_view which = {})
    {
        return error_ ? nullptr : keepAlways<Own>(std::forward<F>(from), what, which);
    }
    /* The same also after an earlier error. */
    template <auto Own = uvhttp_server_own, class F>
    std::decay_t<F> *keepAlways(F &&from, std::string_view what, std::string_view which = {})
    {
        using Kept = std::decay_t<F>;
        std::unique_ptr<Kept> kept(new (std::nothrow) Kept(std::forward<F>(from)));
        const int error = kept ? Own(server_, destroy<Kept>, kept.get()) : int{UVHTTP_ENOMEM};
        return note(error, what, which) ? kept.release() : nullptr;
    }

private:
    uvhttp_server_t *server_ = nullptr;
    Result error_;
    SetupError details_ = {};
    char where_[256] = "";
};

/* Frees an object with its C function. */
template <auto Free> struct Freer {
    template <class T> void operator()(T *object) const noexcept { Free(object); }
};

} // namespace uvhttp::detail

#endif
