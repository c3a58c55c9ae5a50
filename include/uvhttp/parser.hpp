/* The parser for C++20: requests, responses, a ring buffer, a chunked decoder, a writer, and ranges
 * for fields, queries, forms and cookies. Header-only, over <uvhttp/parser.h>; link uvhttp_parser.
 * No libuv. Part of uvhttp.hpp.
 *
 *     uvhttp::RingBuffer ring(16384);
 *     uvhttp::HttpRequest request({.maxHead = 16384});
 *     for (;;) {
 *         auto space = ring.getWriteIovecs();
 *         ssize_t got = readv(fd, space.data(), space.count());
 *         if (got <= 0) break;
 *         ring.commit(size_t(got));
 *         while (ring.size() > 0) {
 *             auto [error, consumed] = request.fromIOVec(ring.getReadIovecs());
 *             if (error) return reject(error.status(), error.text());
 *             ring.consume(consumed);
 *             if (!request.isComplete()) break;
 *             respond(request.method(), request.path(), request.field("host"), request.body());
 *             request.reset();
 *         }
 *     }
 *
 * Ownership: only bytes of the call that completes a message are borrowed. A head or body that is
 * contiguous in them is not copied, and its views point there. Bytes of earlier calls, or across
 * the ring's end, are copied into the message. So a view is valid until the message is reset, moved
 * or destroyed, as long as the bytes of that one call are unchanged: RingBuffer::consume keeps
 * them, writing or reading into the ring does not. detach() copies borrowed bytes, so that views no
 * longer depend on the caller's memory.
 *
 * Errors are values; only the constructor of RingBuffer throws (std::bad_alloc). One thread at a
 * time per object. */
#ifndef UVHTTP_PARSER_HPP
#define UVHTTP_PARSER_HPP

#if __cplusplus < 202002L
#error "uvhttp/parser.hpp needs C++20 (-std=c++20)"
#endif

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <uvhttp/parser.h>
#include <uvhttp/ring.h>
#include <uvhttp/writer.h>

namespace uvhttp
{

/* Conversions between the views of C and C++, to call functions of parser.h directly. */
inline std::string_view toView(uvhttp_slice_t slice) noexcept
{
    return {slice.base, slice.length};
}

inline uvhttp_slice_t toSlice(std::string_view view) noexcept
{
    return {view.data(), view.size()};
}

/* An error; false in a condition if there is none. */
class [[nodiscard]] Error
{
public:
    enum class Kind : std::uint8_t {
        None,
        Refused,      /* the message violates a rule or a limit of a head: see reason() */
        BodyTooLarge, /* more than Limits::maxBody */
        Truncated,    /* the input ended within the message */
        BadEscape,    /* a malformed %XX in a form */
        OutOfMemory
    };

    constexpr Error() noexcept = default;
    constexpr explicit Error(Kind kind, std::uint64_t offset = 0) noexcept
        : offset_(offset), kind_(kind)
    {
    }
    constexpr explicit Error(uvhttp_reason_t reason, std::uint64_t offset = 0) noexcept
        : offset_(offset), reason_(reason),
          kind_(reason == UVHTTP_REASON_NONE ? Kind::None : Kind::Refused)
    {
    }

    constexpr explicit operator bool() const noexcept { return kind_ != Kind::None; }
    constexpr Kind kind() const noexcept { return kind_; }
    /* UVHTTP_REASON_NONE unless the kind is Refused. */
    constexpr uvhttp_reason_t reason() const noexcept { return reason_; }
    /* Offset of the invalid byte from the first byte of the message; 0 if the message is
     * rejected as a whole, for inconsistent fields. */
    constexpr std::uint64_t offset() const noexcept { return offset_; }
    /* The response status to a request: 400, 413, 431, ...; 0 without an error. */
    int status() const noexcept
    {
        static constexpr std::array statuses = {0, 0, 413, 400, 400, 503};
        return kind_ == Kind::Refused ? uvhttp_reason_status(reason_)
                                      : statuses[static_cast<std::size_t>(kind_)];
    }
    /* A description; static and NUL-terminated. */
    const char *text() const noexcept
    {
        static constexpr std::array texts = {"no error",
                                             "",
                                             "the body is too large",
                                             "the input ends before the message is complete",
                                             "a percent-encoding is malformed",
                                             "out of memory"};
        return kind_ == Kind::Refused ? uvhttp_reason_text(reason_)
                                      : texts[static_cast<std::size_t>(kind_)];
    }

private:
    std::uint64_t offset_ = 0;
    uvhttp_reason_t reason_ = UVHTTP_REASON_NONE;
    Kind kind_ = Kind::None;
};

/* Limits of a message, in bytes, except maxFields. */
struct Limits {
    /* start line and fields; at most the size of the ring, or a long head never completes */
    std::uint32_t maxHead = 16384;
    std::uint32_t maxTarget = 8192;        /* requests: the target */
    std::uint32_t maxFields = 100;         /* in the head, and again in the trailer section */
    std::uint32_t maxTrailers = 8192;      /* the trailer section of a chunked body */
    std::uint32_t maxChunkExtension = 256; /* the extensions of one chunk */
    /* a buffered body; one passed to a callback has no limit */
    std::uint64_t maxBody = 1048576;
};

/* Result of fromIOVec: auto [error, consumed] = ... */
struct [[nodiscard]] ParseResult {
    Error error;
    /* bytes of this message that were consumed; 0 with an error */
    std::size_t consumed = 0;
};

/* A field, a pair of a query or form, or a cookie. */
struct NameValue {
    std::string_view name;
    std::string_view value;
};

namespace detail
{

/* A growing byte buffer. Returns false when out of memory, without an exception; a moved-from
 * buffer is empty. */
class Bytes
{
public:
    Bytes() noexcept = default;
    Bytes(Bytes &&other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0))
    {
    }
    Bytes &operator=(Bytes &&other) noexcept
    {
        memory_ = std::move(other.memory_);
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
        return *this;
    }

    bool reserve(std::size_t capacity) noexcept
    {
        if (capacity <= capacity_)
            return true;
        std::unique_ptr<char[]> larger(new (std::nothrow) char[capacity]);
        if (!larger)
            return false;
        std::copy_n(memory_.get(), size_, larger.get());
        memory_ = std::move(larger);
        capacity_ = capacity;
        return true;
    }
    bool append(std::string_view bytes) noexcept
    {
        if (bytes.size() > capacity_ - size_ &&
            !reserve(std::max(size_ + bytes.size(), 2 * capacity_)))
            return false;
        std::copy_n(bytes.data(), bytes.size(), data() + size_);
        size_ += bytes.size();
        return true;
    }
    void truncate(std::size_t size) noexcept { size_ = size; }
    char *data() const noexcept { return memory_.get(); }
    std::size_t size() const noexcept { return size_; }
    std::string_view view() const noexcept { return {memory_.get(), size_}; }

private:
    std::unique_ptr<char[]> memory_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/* A movable head: moves its field table, inline or external. */
class Head
{
public:
    Head() noexcept { init(); }
    Head(Head &&other) noexcept
        : raw(other.raw), table_(std::move(other.table_)), capacity_(other.capacity_)
    {
        seat(other);
    }
    Head &operator=(Head &&other) noexcept
    {
        raw = other.raw;
        table_ = std::move(other.table_);
        capacity_ = other.capacity_;
        seat(other);
        return *this;
    }

    void init() noexcept { uvhttp_head_init(&raw, table_.get(), capacity_); }
    /* Allocates a table of `count` fields for an empty head, if larger than the current one;
     * false when out of memory. */
    bool grow(std::uint32_t count) noexcept
    {
        const auto capacity =
            static_cast<std::uint16_t>(std::min<std::uint32_t>(count, UINT16_MAX));
        if (capacity > raw.field_capacity) {
            table_.reset(new (std::nothrow) uvhttp_field_t[capacity]);
            capacity_ = table_ ? capacity : std::uint16_t{0};
        }
        init();
        return raw.field_capacity >= capacity;
    }

    uvhttp_head_t raw;

private:
    void seat(Head &other) noexcept
    {
        if (!table_)
            raw.fields = raw.inline_fields;
        other.capacity_ = 0;
        other.init();
    }

    std::unique_ptr<uvhttp_field_t[]> table_;
    std::uint16_t capacity_ = 0;
};

/* The trailer section, always copied. */
struct Trailers {
    Bytes bytes;
    Head head;
};

/* Iterates over slices as one contiguous sequence. */
class Cursor
{
public:
    explicit Cursor(std::span<const iovec> parts) noexcept : parts_(parts) { settle(); }
    bool atEnd() const noexcept { return parts_.empty(); }
    /* The contiguous bytes from here; empty only at the end. */
    std::string_view front() const noexcept
    {
        if (atEnd())
            return {};
        const iovec &part = parts_.front();
        return {static_cast<const char *>(part.iov_base) + offset_, part.iov_len - offset_};
    }
    /* `count` is at most the remaining bytes. */
    void advance(std::size_t count) noexcept
    {
        taken_ += count;
        while (count > 0) {
            const std::size_t step = std::min(count, parts_.front().iov_len - offset_);
            count -= step;
            offset_ += step;
            settle();
        }
    }
    std::size_t taken() const noexcept { return taken_; }

private:
    void settle() noexcept
    {
        while (!parts_.empty() && offset_ == parts_.front().iov_len) {
            parts_ = parts_.subspan(1);
            offset_ = 0;
        }
    }

    std::span<const iovec> parts_;
    std::size_t offset_ = 0;
    std::size_t taken_ = 0;
};

/* Slices for the C functions, without empty ones. */
class Slices
{
public:
    explicit Slices(std::span<const iovec> parts) noexcept
    {
        uvhttp_slice_t *to = few_.data();
        if (parts.size() > few_.size()) {
            many_.reset(new (std::nothrow) uvhttp_slice_t[parts.size()]);
            to = many_.get();
        }
        data_ = to;
        if (to == nullptr)
            return;
        for (const iovec &part : parts) {
            if (part.iov_len > 0)
                to[size_++] = {static_cast<const char *>(part.iov_base), part.iov_len};
        }
    }
    Slices(const Slices &) = delete;
    Slices &operator=(const Slices &) = delete;

    /* NULL when out of memory for very many slices. */
    const uvhttp_slice_t *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    std::array<uvhttp_slice_t, 8> few_;
    std::unique_ptr<uvhttp_slice_t[]> many_;
    const uvhttp_slice_t *data_;
    std::size_t size_ = 0;
};

/* Instead of a callback for body bytes: buffer them. */
struct Keep {
};

/* Case-insensitive for ASCII, as field names. */
inline bool sameName(std::string_view a, std::string_view b) noexcept
{
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [lower](char x, char y) { return lower(x) == lower(y); });
}

/* Iterates over a range whose next(rest, pair) returns one pair after the other. */
template <class Range> class PairIterator
{
public:
    using value_type = NameValue;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;

    PairIterator() noexcept = default;
    PairIterator(const Range *range, uvhttp_slice_t rest) noexcept : range_(range), rest_(rest)
    {
        ++*this;
    }
    NameValue operator*() const noexcept { return pair_; }
    PairIterator &operator++() noexcept
    {
        if (!range_->next(rest_, pair_))
            range_ = nullptr;
        return *this;
    }
    PairIterator operator++(int) noexcept
    {
        PairIterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const PairIterator &a, const PairIterator &b) noexcept
    {
        return a.range_ == b.range_ && (a.range_ == nullptr || a.rest_.length == b.rest_.length);
    }

private:
    const Range *range_ = nullptr; /* NULL at the end */
    uvhttp_slice_t rest_ = {nullptr, 0};
    NameValue pair_;
};

} // namespace detail

/* The fields of a head or trailer section in wire order, or only those of one name: for (auto
 * [name, value] : request.fields()). Valid until the message is reset or moved. */
class Fields
{
public:
    class Iterator
    {
    public:
        using value_type = NameValue;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::forward_iterator_tag;

        Iterator() noexcept = default;
        Iterator(const Fields *fields, const uvhttp_field_t *at) noexcept
            : base_(fields->base_), at_(at), end_(fields->end_), name_(fields->name_),
              id_(fields->id_)
        {
            skip();
        }
        NameValue operator*() const noexcept
        {
            return {{base_ + at_->name_offset, at_->name_length},
                    {base_ + at_->value_offset, at_->value_length}};
        }
        Iterator &operator++() noexcept
        {
            at_++;
            skip();
            return *this;
        }
        Iterator operator++(int) noexcept
        {
            Iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const Iterator &a, const Iterator &b) noexcept
        {
            return a.at_ == b.at_;
        }

    private:
        bool wanted() const noexcept
        {
            if (id_ != UVHTTP_FIELD_OTHER)
                return at_->id == id_;
            return name_.empty() ||
                   (at_->id == UVHTTP_FIELD_OTHER && detail::sameName((**this).name, name_));
        }
        void skip() noexcept
        {
            while (at_ != end_ && !wanted())
                at_++;
        }

        const char *base_ = nullptr;
        const uvhttp_field_t *at_ = nullptr;
        const uvhttp_field_t *end_ = nullptr;
        std::string_view name_;
        uvhttp_field_id_t id_ = UVHTTP_FIELD_OTHER;
    };

    Fields() noexcept = default;
    /* Fields of `head` with that id (UVHTTP_FIELD_OTHER: any), and of unknown ones those with
     * that name (empty: any). */
    explicit Fields(const uvhttp_head_t &head, uvhttp_field_id_t id = UVHTTP_FIELD_OTHER,
                    std::string_view name = {}) noexcept
        : base_(head.base), begin_(head.fields), end_(head.fields + head.field_count), name_(name),
          id_(id)
    {
    }
    Iterator begin() const noexcept { return {this, begin_}; }
    Iterator end() const noexcept { return {this, end_}; }
    bool empty() const noexcept { return begin() == end(); }

private:
    const char *base_ = nullptr;
    const uvhttp_field_t *begin_ = nullptr;
    const uvhttp_field_t *end_ = nullptr;
    std::string_view name_;
    uvhttp_field_id_t id_ = UVHTTP_FIELD_OTHER;
};

/* The pairs of a query, still encoded: for (auto [name, value] : Query(request.query())). A pair
 * without '=' has a value with data() NULL. Views into `text`. For decoded pairs use Form;
 * queries usually have its format. */
class Query
{
public:
    explicit Query(std::string_view text) noexcept : text_(text) {}
    detail::PairIterator<Query> begin() const noexcept { return {this, toSlice(text_)}; }
    detail::PairIterator<Query> end() const noexcept { return {}; }
    bool next(uvhttp_slice_t &rest, NameValue &pair) const noexcept
    {
        uvhttp_slice_t name;
        uvhttp_slice_t value;
        if (!uvhttp_query_next(&rest, &name, &value))
            return false;
        pair = {toView(name), toView(value)};
        return true;
    }

private:
    std::string_view text_;
};

/* The pairs of one Cookie field's value, not decoded: for (auto [name, value] :
 * Cookies(*request.field("cookie"))). Views into `text`. */
class Cookies
{
public:
    explicit Cookies(std::string_view text) noexcept : text_(text) {}
    detail::PairIterator<Cookies> begin() const noexcept { return {this, toSlice(text_)}; }
    detail::PairIterator<Cookies> end() const noexcept { return {}; }
    bool next(uvhttp_slice_t &rest, NameValue &pair) const noexcept
    {
        uvhttp_slice_t name;
        uvhttp_slice_t value;
        if (!uvhttp_cookie_next(&rest, &name, &value))
            return false;
        pair = {toView(name), toView(value)};
        return true;
    }

private:
    std::string_view text_;
};

/* The decoded pairs of a form or query (application/x-www-form-urlencoded). The whole text is
 * checked first: after an error the range is empty. Views into the Form's memory, valid as long as
 * it lives; `text` must live during the iteration.
 *
 *     uvhttp::Form form(request.body());
 *     if (form.error())
 *         return reject(form.error().status());
 *     for (auto [name, value] : form)
 *         respond(name, value); */
class Form
{
public:
    explicit Form(std::string_view text) noexcept : text_(text)
    {
        if (!decoded_.reserve(text.size())) {
            error_ = Error(Error::Kind::OutOfMemory);
        } else {
            uvhttp_slice_t rest = toSlice(text_);
            NameValue pair;
            int found = 1;
            while (found > 0)
                found = take(rest, pair);
            if (found < 0)
                error_ = Error(Error::Kind::BadEscape);
        }
        if (error_)
            text_ = {};
    }
    /* BadEscape or OutOfMemory. */
    Error error() const noexcept { return error_; }
    detail::PairIterator<Form> begin() const noexcept { return {this, toSlice(text_)}; }
    detail::PairIterator<Form> end() const noexcept { return {}; }
    bool next(uvhttp_slice_t &rest, NameValue &pair) const noexcept { return take(rest, pair) > 0; }

private:
    /* A pair is decoded at its position in the text, so that pairs do not overwrite each other. */
    int take(uvhttp_slice_t &rest, NameValue &pair) const noexcept
    {
        if (rest.length == 0)
            return 0;
        uvhttp_slice_t name;
        uvhttp_slice_t value;
        const int found =
            uvhttp_form_next(&rest, decoded_.data() + (text_.size() - rest.length), &name, &value);
        if (found > 0)
            pair = {toView(name), toView(value)};
        return found;
    }

    std::string_view text_;
    detail::Bytes decoded_;
    Error error_;
};

/* Base of requests and responses: parses exactly one message from bytes, in any division. */
class Message
{
public:
    Message(Message &&other) noexcept
        : limits_(other.limits_), requestMethod_(other.requestMethod_), response_(other.response_),
          state_(std::exchange(other.state_, {})), head_(std::move(other.head_)),
          headBytes_(std::move(other.headBytes_)), bodyBytes_(std::move(other.bodyBytes_)),
          trailers_(std::move(other.trailers_))
    {
    }
    Message &operator=(Message &&other) noexcept
    {
        if (this == &other)
            return *this;
        limits_ = other.limits_;
        requestMethod_ = other.requestMethod_;
        response_ = other.response_;
        state_ = std::exchange(other.state_, {});
        head_ = std::move(other.head_);
        headBytes_ = std::move(other.headBytes_);
        bodyBytes_ = std::move(other.bodyBytes_);
        trailers_ = std::move(other.trailers_);
        return *this;
    }

    /* Parses consecutive bytes: all that were received and not yet consumed. `consumed` of them
     * are consumed; the next call begins after them. Nothing is consumed while the head is
     * incomplete, so it must fit into the receive buffer. Then body bytes are consumed as they
     * arrive and buffered, up to Limits::maxBody. Never consumes bytes of the next message. A
     * complete message accepts nothing until reset(); an error persists until then. */
    ParseResult fromIOVec(std::span<const iovec> parts) noexcept
    {
        detail::Keep keep;
        return take(parts, keep);
    }

    /* The same without buffering the body: `onBody` gets its bytes (std::string_view, never
     * empty, without chunk lines) as they arrive, valid during that call. Use one of the two
     * functions for the whole message. If onBody throws, the message can only be reset. */
    template <std::invocable<std::string_view> OnBody>
    ParseResult
    fromIOVec(std::span<const iovec> parts,
              OnBody &&onBody) noexcept(std::is_nothrow_invocable_v<OnBody &, std::string_view>)
    {
        return take(parts, onBody);
    }

    /* fromIOVec for contiguous bytes. */
    ParseResult fromBuffer(std::string_view bytes) noexcept
    {
        const iovec part = toIovec(bytes);
        return fromIOVec({&part, 1});
    }
    template <std::invocable<std::string_view> OnBody>
    ParseResult
    fromBuffer(std::string_view bytes,
               OnBody &&onBody) noexcept(std::is_nothrow_invocable_v<OnBody &, std::string_view>)
    {
        const iovec part = toIovec(bytes);
        return fromIOVec({&part, 1}, onBody);
    }

    /* The connection has ended. Completes a response whose body is delimited by that; Truncated
     * if a message is incomplete; no error if none has begun. */
    Error finish() noexcept
    {
        if (state_.error || state_.part == Part::Complete || !state_.begun)
            return state_.error;
        if (state_.part == Part::UntilClose)
            state_.part = Part::Complete;
        else
            state_.error = Error(Error::Kind::Truncated, state_.received);
        return state_.error;
    }

    /* Head, body and trailer section are complete. */
    bool isComplete() const noexcept { return state_.part == Part::Complete; }

    /* The head is complete, and all functions except body() and trailers() return values; before
     * that, all return empty ones. */
    bool isHeadComplete() const noexcept { return state_.part != Part::Head; }

    /* Resets for the next message. All views become invalid; memory is kept for reuse. */
    void reset() noexcept
    {
        state_ = {};
        head_.init();
        bodyBytes_.truncate(0);
        trailers_.reset();
    }

    /* Copies bytes borrowed from the caller, so that they may be released: new views are then
     * valid until reset(), a move or destruction. Earlier views are not updated. False when out
     * of memory. */
    [[nodiscard]] bool detach() noexcept
    {
        if (isHeadComplete() && !ownHead())
            return false;
        if (state_.borrowed.data() == nullptr)
            return true;
        if (!bodyBytes_.append(state_.borrowed))
            return false;
        state_.borrowed = {};
        return true;
    }

    /* "HTTP/1.1" or "HTTP/1.0". */
    std::string_view version() const noexcept
    {
        if (!isHeadComplete())
            return {};
        return head_.raw.minor_version == 1 ? "HTTP/1.1" : "HTTP/1.0";
    }

    /* The value of the first field of that name (case-insensitive), or of that id (without a
     * string comparison); std::nullopt if absent. */
    std::optional<std::string_view> field(std::string_view name) const noexcept
    {
        return isHeadComplete()
                   ? valueOf(uvhttp_head_find_name(&head_.raw, name.data(), name.size()))
                   : std::nullopt;
    }
    std::optional<std::string_view> field(uvhttp_field_id_t id) const noexcept
    {
        return isHeadComplete() ? valueOf(uvhttp_head_find(&head_.raw, id)) : std::nullopt;
    }

    /* All fields in order, or all of one name or id; `name` must outlive the range. */
    Fields fields() const noexcept { return isHeadComplete() ? Fields(head_.raw) : Fields(); }
    Fields fields(std::string_view name) const noexcept
    {
        const uvhttp_field_t *first =
            isHeadComplete() ? uvhttp_head_find_name(&head_.raw, name.data(), name.size())
                             : nullptr;
        return first == nullptr
                   ? Fields()
                   : Fields(head_.raw, static_cast<uvhttp_field_id_t>(first->id), name);
    }
    Fields fields(uvhttp_field_id_t id) const noexcept
    {
        return isHeadComplete() && id != UVHTTP_FIELD_OTHER ? Fields(head_.raw, id) : Fields();
    }

    /* The trailer fields, once the message is complete. */
    Fields trailers() const noexcept
    {
        return isComplete() && trailers_ ? Fields(trailers_->head.raw) : Fields();
    }

    /* The body received so far; empty if passed to a callback. */
    std::string_view body() const noexcept
    {
        return state_.borrowed.data() != nullptr ? state_.borrowed : bodyBytes_.view();
    }
    /* Body bytes received so far, buffered or not. */
    std::uint64_t bodySize() const noexcept { return state_.bodySize; }

    /* Content-Length, if it delimits the body. */
    std::optional<std::uint64_t> contentLength() const noexcept
    {
        return state_.framing.body == UVHTTP_BODY_LENGTH
                   ? std::optional(state_.framing.content_length)
                   : std::nullopt;
    }
    bool chunked() const noexcept { return state_.framing.body == UVHTTP_BODY_CHUNKED; }
    /* The connection is reusable for another message. */
    bool keepAlive() const noexcept { return state_.framing.keep_alive; }
    /* The peer offers, or with 101 accepts, another protocol; its bytes begin after this
     * message. */
    bool upgrade() const noexcept { return state_.framing.upgrade; }

    /* The C head, for functions of parser.h; only `reason` is valid before isHeadComplete(). */
    const uvhttp_head_t &head() const noexcept { return head_.raw; }

protected:
    Message(const Limits &limits, bool response, uvhttp_method_t requestMethod) noexcept
        : limits_(limits), requestMethod_(requestMethod), response_(response)
    {
    }
    ~Message() = default;

    std::string_view ofHead(std::size_t offset, std::size_t length) const noexcept
    {
        return isHeadComplete() ? std::string_view(head_.raw.base + offset, length)
                                : std::string_view();
    }
    const uvhttp_framing_t &framing() const noexcept { return state_.framing; }
    void setRequestMethod(uvhttp_method_t method) noexcept { requestMethod_ = method; }

private:
    enum class Part : std::uint8_t { Head, Counted, Chunked, Trailers, UntilClose, Complete };

    struct State {
        Error error;
        /* a body in the caller's bytes; data() is NULL without one */
        std::string_view borrowed;
        std::uint64_t received = 0; /* bytes of earlier calls */
        std::uint64_t bodySize = 0;
        std::uint64_t remaining = 0; /* Counted: remaining bytes */
        Part part = Part::Head;
        bool begun = false; /* bytes were received */
        uvhttp_framing_t framing = {};
        uvhttp_chunked_t chunked = {};
    };

    static iovec toIovec(std::string_view bytes) noexcept
    {
        return {const_cast<char *>(bytes.data()), bytes.size()};
    }

    std::optional<std::string_view> valueOf(const uvhttp_field_t *field) const noexcept
    {
        if (field == nullptr)
            return std::nullopt;
        return std::string_view(head_.raw.base + field->value_offset, field->value_length);
    }

    uvhttp_reason_t frame() noexcept
    {
        return response_ ? uvhttp_response_framing(&head_.raw, requestMethod_, &state_.framing)
                         : uvhttp_request_framing(&head_.raw, &state_.framing);
    }

    /* Copies the head to own memory; framing points into it and is computed again. */
    bool ownHead() noexcept
    {
        if (head_.raw.base == headBytes_.data())
            return true;
        headBytes_.truncate(0);
        if (!headBytes_.append({head_.raw.base, head_.raw.size}))
            return false;
        head_.raw.base = headBytes_.data();
        return frame() == UVHTTP_REASON_NONE;
    }

    uvhttp_parse_result_t parseHead(const detail::Slices &slices) noexcept
    {
        const uvhttp_head_limits_t limits = {limits_.maxHead, limits_.maxTarget, limits_.maxFields};
        const auto parse =
            response_ ? uvhttp_response_head_parse_slices : uvhttp_request_head_parse_slices;
        return parse(&head_.raw, slices.data(), slices.size(), headBytes_.data(), &limits);
    }

    /* After MORE the part is still Head. */
    Error takeHead(std::span<const iovec> parts, detail::Cursor &in) noexcept
    {
        const detail::Slices slices(parts);
        if (slices.data() == nullptr)
            return Error(Error::Kind::OutOfMemory);
        state_.begun = state_.begun || slices.size() > 0;
        /* Memory for a head across slices; afterwards it holds the bytes gathered by earlier
         * calls. */
        if (slices.size() > 1 && !headBytes_.reserve(limits_.maxHead))
            return Error(Error::Kind::OutOfMemory);
        uvhttp_parse_result_t result = parseHead(slices);
        /* Few heads have more fields than the inline table: the larger table is allocated for
         * the first such head, which is parsed again. */
        if (result == UVHTTP_PARSE_BAD && head_.raw.reason == UVHTTP_REASON_TOO_MANY_FIELDS &&
            limits_.maxFields > head_.raw.field_capacity) {
            if (!head_.grow(limits_.maxFields))
                return Error(Error::Kind::OutOfMemory);
            result = parseHead(slices);
        }
        if (result == UVHTTP_PARSE_BAD)
            return Error(static_cast<uvhttp_reason_t>(head_.raw.reason), head_.raw.reason_offset);
        if (result == UVHTTP_PARSE_MORE)
            return {};
        const uvhttp_reason_t reason = frame();
        if (reason != UVHTTP_REASON_NONE) {
            state_.framing = {};
            return Error(reason);
        }
        in.advance(head_.raw.size);
        beginBody();
        return {};
    }

    void beginBody() noexcept
    {
        state_.part = Part::Complete;
        if (state_.framing.body == UVHTTP_BODY_LENGTH && state_.framing.content_length > 0) {
            state_.part = Part::Counted;
            state_.remaining = state_.framing.content_length;
        } else if (state_.framing.body == UVHTTP_BODY_CHUNKED) {
            state_.part = Part::Chunked;
            uvhttp_chunked_init(&state_.chunked, limits_.maxChunkExtension);
        } else if (state_.framing.body == UVHTTP_BODY_UNTIL_CLOSE) {
            state_.part = Part::UntilClose;
        }
    }

    /* Offset of the cursor in the message. */
    std::uint64_t position(const detail::Cursor &in) const noexcept
    {
        return state_.received + in.taken();
    }

    template <class OnBody> Error give(std::string_view part, OnBody &onBody)
    {
        state_.bodySize += part.size();
        if constexpr (std::is_same_v<OnBody, detail::Keep>) {
            if (state_.bodySize > limits_.maxBody)
                return Error(Error::Kind::BodyTooLarge);
            if (!bodyBytes_.append(part))
                return Error(Error::Kind::OutOfMemory);
        } else {
            onBody(part);
        }
        return {};
    }

    template <class OnBody> Error takeCounted(detail::Cursor &in, OnBody &onBody)
    {
        if constexpr (std::is_same_v<OnBody, detail::Keep>) {
            if (state_.framing.content_length > limits_.maxBody)
                return Error(Error::Kind::BodyTooLarge);
            const std::uint64_t size = state_.remaining;
            if (state_.bodySize == 0 && in.front().size() >= size) {
                state_.borrowed = in.front().substr(0, static_cast<std::size_t>(size));
                state_.bodySize = size;
                state_.part = Part::Complete;
                in.advance(state_.borrowed.size());
                return {};
            }
        }
        while (state_.remaining > 0 && !in.atEnd()) {
            const std::string_view here = in.front();
            const std::string_view part = here.substr(
                0,
                static_cast<std::size_t>(std::min<std::uint64_t>(here.size(), state_.remaining)));
            if (Error error = give(part, onBody))
                return error;
            state_.remaining -= part.size();
            in.advance(part.size());
        }
        if (state_.remaining == 0)
            state_.part = Part::Complete;
        return {};
    }

    template <class OnBody> Error takeUntilClose(detail::Cursor &in, OnBody &onBody)
    {
        for (; !in.atEnd(); in.advance(in.front().size())) {
            if (Error error = give(in.front(), onBody))
                return error;
        }
        return {};
    }

    template <class OnBody> Error takeChunked(detail::Cursor &in, OnBody &onBody)
    {
        while (!in.atEnd() && state_.part == Part::Chunked) {
            const std::string_view here = in.front();
            std::size_t consumed = 0;
            uvhttp_slice_t part;
            const uvhttp_parse_result_t result =
                uvhttp_chunked_decode(&state_.chunked, here.data(), here.size(), &consumed, &part);
            if (result == UVHTTP_PARSE_BAD)
                return Error(static_cast<uvhttp_reason_t>(state_.chunked.reason),
                             position(in) + consumed);
            if (part.length > 0) {
                if (Error error = give(toView(part), onBody))
                    return error;
            }
            in.advance(consumed);
            if (result == UVHTTP_PARSE_DONE)
                state_.part = Part::Trailers;
        }
        return {};
    }

    /* The section is buffered up to its limit and parsed from there, so that it is contiguous;
     * it is almost always empty. */
    Error takeTrailers(detail::Cursor &in) noexcept
    {
        if (!trailers_) {
            if (in.front().starts_with("\r\n")) {
                in.advance(2);
                state_.part = Part::Complete;
                return {};
            }
            trailers_.reset(new (std::nothrow) detail::Trailers);
            if (!trailers_ || !trailers_->head.grow(limits_.maxFields))
                return Error(Error::Kind::OutOfMemory);
        }
        detail::Bytes &bytes = trailers_->bytes;
        uvhttp_head_t &head = trailers_->head.raw;
        const std::size_t before = bytes.size();
        for (detail::Cursor ahead = in; !ahead.atEnd() && bytes.size() < limits_.maxTrailers;) {
            const std::string_view part =
                ahead.front().substr(0, limits_.maxTrailers - bytes.size());
            if (!bytes.append(part))
                return Error(Error::Kind::OutOfMemory);
            ahead.advance(part.size());
        }
        const uvhttp_head_limits_t limits = {limits_.maxTrailers, 0, limits_.maxFields};
        const uvhttp_parse_result_t result =
            uvhttp_trailers_parse(&head, bytes.data(), bytes.size(), &limits);
        if (result == UVHTTP_PARSE_BAD)
            return Error(static_cast<uvhttp_reason_t>(head.reason),
                         position(in) - before + head.reason_offset);
        in.advance((result == UVHTTP_PARSE_DONE ? head.size : bytes.size()) - before);
        if (result == UVHTTP_PARSE_DONE)
            state_.part = Part::Complete;
        return {};
    }

    template <class OnBody>
    Error takeParts(std::span<const iovec> parts, detail::Cursor &in, OnBody &onBody)
    {
        Error error;
        if (state_.part == Part::Head)
            error = takeHead(parts, in);
        if (!error && state_.part == Part::Counted)
            error = takeCounted(in, onBody);
        if (!error && state_.part == Part::UntilClose)
            error = takeUntilClose(in, onBody);
        if (!error && state_.part == Part::Chunked)
            error = takeChunked(in, onBody);
        if (!error && state_.part == Part::Trailers && !in.atEnd())
            error = takeTrailers(in);
        /* More calls will follow, and these bytes may be invalid by then. */
        if (!error && isHeadComplete() && !isComplete() && !ownHead())
            error = Error(Error::Kind::OutOfMemory);
        return error;
    }

    template <class OnBody> ParseResult take(std::span<const iovec> parts, OnBody &onBody)
    {
        if (state_.error || isComplete())
            return {state_.error, 0};
        detail::Cursor in(parts);
        state_.error = takeParts(parts, in, onBody);
        if (state_.error)
            return {state_.error, 0};
        state_.received += in.taken();
        return {{}, in.taken()};
    }

    Limits limits_;
    uvhttp_method_t requestMethod_;
    bool response_;
    State state_;
    detail::Head head_;
    detail::Bytes headBytes_; /* a head that was copied */
    detail::Bytes bodyBytes_; /* a body that was copied */
    std::unique_ptr<detail::Trailers> trailers_;
};

/* One request at a time. About 1 KB; memory for bodies, copies and more than 32 fields is allocated
 * on demand and reused.
 *
 *     uvhttp::HttpRequest request;
 *     auto [error, consumed] = request.fromIOVec(iovecs); */
class HttpRequest : public Message
{
public:
    explicit HttpRequest(const Limits &limits = {}) noexcept
        : Message(limits, false, UVHTTP_METHOD_OTHER)
    {
    }

    /* "GET"; as a number for a switch, UVHTTP_METHOD_OTHER if unknown. */
    std::string_view method() const noexcept { return ofHead(head().start, head().method_length); }
    uvhttp_method_t methodId() const noexcept
    {
        return isHeadComplete() ? static_cast<uvhttp_method_t>(head().method) : UVHTTP_METHOD_OTHER;
    }

    /* The target as sent: "/search?q=x", "http://host/path", "host:443", "*". */
    std::string_view target() const noexcept
    {
        return ofHead(head().target_offset, head().target_length);
    }
    uvhttp_target_form_t targetForm() const noexcept
    {
        return static_cast<uvhttp_target_form_t>(framing().target_form);
    }
    /* Effective host and port: of the target if present, else of the Host field. */
    std::string_view authority() const noexcept { return toView(framing().authority); }
    /* The path, still encoded (uvhttp_path_normalize decodes it safely); "/" for an absolute target
     * without one, "*" for that target. */
    std::string_view path() const noexcept { return toView(framing().path); }
    /* After '?', still encoded; data() is NULL without one. */
    std::string_view query() const noexcept { return toView(framing().query); }

    /* The client waits for 100 (Continue) before it sends the body: check when isHeadComplete()
     * and not isComplete(). */
    bool expectContinue() const noexcept { return framing().expect_continue; }
};

/* One response at a time. Interim responses (1xx) are separate messages: check status(), then
 * reset() and continue. */
class HttpResponse : public Message
{
public:
    /* The method of the request determines whether there is a body: the response to HEAD has
     * none, whatever its fields. */
    explicit HttpResponse(const Limits &limits = {},
                          uvhttp_method_t requestMethod = UVHTTP_METHOD_GET) noexcept
        : Message(limits, true, requestMethod)
    {
    }

    using Message::reset;
    /* Resets for the response to a request with another method; without an argument the method
     * stays. */
    void reset(uvhttp_method_t requestMethod) noexcept
    {
        reset();
        setRequestMethod(requestMethod);
    }

    /* 100 to 999; 0 before the head is complete. */
    int status() const noexcept { return isHeadComplete() ? head().status : 0; }
    /* The reason phrase, which may be empty. */
    std::string_view phrase() const noexcept
    {
        return ofHead(head().reason_phrase_offset, head().reason_phrase_length);
    }
};

/* One or two areas for readv and writev; a range of iovec, so fromIOVec accepts it. */
class IoVecs
{
public:
    const iovec *data() const noexcept { return parts_.data(); }
    std::size_t size() const noexcept { return size_; }
    /* The size in the type of readv and writev. */
    int count() const noexcept { return static_cast<int>(size_); }
    bool empty() const noexcept { return size_ == 0; }
    const iovec *begin() const noexcept { return parts_.data(); }
    const iovec *end() const noexcept { return parts_.data() + size_; }
    void add(char *base, std::size_t length) noexcept { parts_[size_++] = {base, length}; }

private:
    std::array<iovec, 2> parts_ = {};
    std::size_t size_ = 0;
};

/* A ring buffer with its own memory: data is appended at the end and consumed at the front
 * without moving bytes. Its areas point into that memory and stay valid when the ring is moved;
 * a moved-from ring has capacity 0. */
class RingBuffer
{
public:
    /* `capacity` in bytes, any number. Throws std::bad_alloc. */
    explicit RingBuffer(std::size_t capacity) : memory_(new char[capacity])
    {
        uvhttp_ring_init(&ring_, memory_.get(), capacity);
    }
    RingBuffer(RingBuffer &&other) noexcept
        : memory_(std::move(other.memory_)), ring_(std::exchange(other.ring_, {}))
    {
    }
    RingBuffer &operator=(RingBuffer &&other) noexcept
    {
        if (this == &other)
            return *this;
        memory_ = std::move(other.memory_);
        ring_ = std::exchange(other.ring_, {});
        return *this;
    }

    /* Appends a copy of bytes. Returns the number appended, at most the free space. */
    std::size_t write(std::string_view bytes) noexcept
    {
        return uvhttp_ring_write(&ring_, bytes.data(), bytes.size());
    }
    /* The stored bytes, in order. */
    IoVecs getReadIovecs() const noexcept
    {
        uvhttp_slice_t parts[2];
        IoVecs found;
        const std::size_t count = uvhttp_ring_readable(&ring_, parts);
        for (std::size_t i = 0; i < count; i++)
            found.add(const_cast<char *>(parts[i].base), parts[i].length);
        return found;
    }
    /* The free space, in order, for readv; then commit() the bytes read. */
    IoVecs getWriteIovecs() noexcept
    {
        uvhttp_span_t parts[2];
        IoVecs found;
        const std::size_t count = uvhttp_ring_writable(&ring_, parts);
        for (std::size_t i = 0; i < count; i++)
            found.add(parts[i].base, parts[i].length);
        return found;
    }
    /* Stores the first `length` bytes of the free space. Returns the number stored, at most the
     * free space. */
    std::size_t commit(std::size_t length) noexcept { return uvhttp_ring_commit(&ring_, length); }
    /* Discards the first bytes, which stay in memory until the ring is written. Returns the
     * number discarded, at most the stored bytes. */
    std::size_t consume(std::size_t length) noexcept { return uvhttp_ring_consume(&ring_, length); }
    /* Stored bytes, and the capacity. */
    std::size_t size() const noexcept { return ring_.length; }
    std::size_t capacity() const noexcept { return ring_.capacity; }

private:
    std::unique_ptr<char[]> memory_;
    uvhttp_ring_t ring_;
};

/* Decodes a chunked body without a message. */
class ChunkedDecoder
{
public:
    struct [[nodiscard]] Step {
        Error error;              /* its offset counts from the first byte of this call */
        std::size_t consumed = 0; /* input bytes consumed */
        std::string_view part;    /* body bytes among them, in place; may be empty */
    };

    explicit ChunkedDecoder(std::uint32_t maxExtension = Limits().maxChunkExtension) noexcept
        : maxExtension_(maxExtension)
    {
        reset();
    }
    void reset() noexcept
    {
        uvhttp_chunked_init(&decoder_, maxExtension_);
        complete_ = false;
    }

    /* Decodes up to the next body data: call again after the consumed bytes while bytes are left
     * and isComplete() is false. */
    Step next(std::string_view bytes) noexcept
    {
        std::size_t consumed = 0;
        uvhttp_slice_t part;
        const uvhttp_parse_result_t result =
            uvhttp_chunked_decode(&decoder_, bytes.data(), bytes.size(), &consumed, &part);
        return finish(result, consumed, toView(part));
    }

    /* Decodes all of `bytes` in place: body data is moved to the front, and `part` is all of
     * it. */
    Step inPlace(std::span<char> bytes) noexcept
    {
        std::size_t consumed = 0;
        std::size_t body = 0;
        const uvhttp_parse_result_t result =
            uvhttp_chunked_decode_in_place(&decoder_, bytes.data(), bytes.size(), &consumed, &body);
        return finish(result, consumed, {bytes.data(), body});
    }

    /* The last chunk was read; the trailer section (uvhttp_trailers_parse) begins after the
     * consumed bytes. */
    bool isComplete() const noexcept { return complete_; }

private:
    Step finish(uvhttp_parse_result_t result, std::size_t consumed, std::string_view part) noexcept
    {
        complete_ = result == UVHTTP_PARSE_DONE;
        if (result == UVHTTP_PARSE_BAD)
            return {Error(static_cast<uvhttp_reason_t>(decoder_.reason), consumed), consumed, part};
        return {{}, consumed, part};
    }

    uvhttp_chunked_t decoder_;
    std::uint32_t maxExtension_;
    bool complete_ = false;
};

/* Writes messages to memory of the caller, which must outlive the writer. Invalid parts are not
 * written. Errors are sticky: write everything, check once.
 *
 *     std::array<char, 512> memory;
 *     uvhttp::MessageWriter writer(memory);
 *     writer.statusLine(200)
 *         .field("content-type", "text/plain")
 *         .field("content-length", "5")
 *         .end()
 *         .bytes("hello");
 *     if (!writer.error()) send(fd, writer.view().data(), writer.view().size(), 0); */
class MessageWriter
{
public:
    explicit MessageWriter(std::span<char> memory) noexcept
    {
        uvhttp_writer_init(&writer_, memory.data(), memory.size());
    }

    /* "GET /path HTTP/1.1". */
    MessageWriter &requestLine(std::string_view method, std::string_view target) noexcept
    {
        uvhttp_writer_request_line_slice(&writer_, toSlice(method), toSlice(target));
        return *this;
    }
    /* "HTTP/1.1 200 OK"; without a phrase the registered one. `phrase` is NUL-terminated. */
    MessageWriter &statusLine(int status, const char *phrase = nullptr) noexcept
    {
        uvhttp_writer_status_line(&writer_, status, phrase);
        return *this;
    }
    MessageWriter &field(std::string_view name, std::string_view value) noexcept
    {
        uvhttp_writer_field_slice(&writer_, toSlice(name), toSlice(value));
        return *this;
    }
    MessageWriter &field(const char *name, std::unsigned_integral auto number) noexcept
    {
        uvhttp_writer_field_number(&writer_, name, number);
        return *this;
    }
    /* The empty line at the end of a head or a trailer section. */
    MessageWriter &end() noexcept
    {
        uvhttp_writer_end(&writer_);
        return *this;
    }
    /* Raw bytes of a body. */
    MessageWriter &bytes(std::string_view data) noexcept
    {
        uvhttp_writer_bytes(&writer_, data.data(), data.size());
        return *this;
    }
    /* One chunk; nothing for empty data, because an empty chunk would end the body. */
    MessageWriter &chunk(std::string_view data) noexcept
    {
        uvhttp_writer_chunk(&writer_, data.data(), data.size());
        return *this;
    }
    /* The last chunk: trailer fields may follow, then end(). */
    MessageWriter &lastChunk() noexcept
    {
        uvhttp_writer_last_chunk(&writer_);
        return *this;
    }

    /* UVHTTP_WRITER_OK (0), the memory was too small, or an invalid part. */
    uvhttp_writer_error_t error() const noexcept { return writer_.error; }
    /* The output so far: complete lines. */
    std::string_view view() const noexcept { return {writer_.memory, writer_.length}; }
    /* Restarts in the same memory, without the error. */
    void clear() noexcept { uvhttp_writer_init(&writer_, writer_.memory, writer_.capacity); }

private:
    uvhttp_writer_t writer_;
};

} // namespace uvhttp

#endif
