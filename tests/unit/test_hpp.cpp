/* uvhttp.hpp: messages whole, in segments of every size, at the wrap of rings and in rings smaller
 * than the message, moved at every point, invalid, and without memory. Every call gets its bytes in
 * a block of exactly their size that is freed afterwards, so that the sanitizer detects views and
 * reads beyond it. */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include <uvhttp.hpp>

/* Last, because it defines macros named skip and fail. */
extern "C" {
#include <cmocka.h>
}

using namespace std::string_literals;
using namespace std::string_view_literals;
using uvhttp::Error;
using uvhttp::HttpRequest;
using uvhttp::HttpResponse;
using uvhttp::Limits;

static_assert(std::ranges::forward_range<uvhttp::Fields>);
static_assert(std::ranges::forward_range<uvhttp::Query>);
static_assert(std::ranges::forward_range<uvhttp::Cookies>);
static_assert(std::ranges::forward_range<uvhttp::Form>);
static_assert(std::ranges::contiguous_range<uvhttp::IoVecs>);
static_assert(std::is_nothrow_move_constructible_v<HttpRequest> &&
              std::is_nothrow_move_assignable_v<HttpRequest>);
static_assert(std::is_nothrow_move_constructible_v<HttpResponse> &&
              std::is_nothrow_move_assignable_v<HttpResponse>);
static_assert(!std::is_copy_constructible_v<HttpRequest> &&
              !std::is_copy_constructible_v<uvhttp::RingBuffer>);
static_assert(noexcept(std::declval<HttpRequest &>().fromBuffer("")));
static_assert(!noexcept(std::declval<HttpRequest &>().fromBuffer("", [](std::string_view) {})));
static_assert(noexcept(std::declval<HttpRequest &>().fromBuffer("",
                                                                [](std::string_view) noexcept {})));

/* The number of nothrow allocations that still succeed; negative: all. */
static int allocations_left = -1;

static bool has_memory()
{
    return allocations_left < 0 || allocations_left-- > 0;
}

/* Not inlined: GCC would warn that memory of `new` is passed to free. */
#define REPLACEMENT [[gnu::noinline]]

REPLACEMENT void *operator new(std::size_t size)
{
    if (void *memory = std::malloc(size == 0 ? 1 : size))
        return memory;
    throw std::bad_alloc();
}
REPLACEMENT void *operator new[](std::size_t size)
{
    return operator new(size);
}
REPLACEMENT void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
    return has_memory() ? std::malloc(size == 0 ? 1 : size) : nullptr;
}
REPLACEMENT void *operator new[](std::size_t size, const std::nothrow_t &) noexcept
{
    return has_memory() ? std::malloc(size == 0 ? 1 : size) : nullptr;
}
REPLACEMENT void operator delete(void *memory) noexcept
{
    std::free(memory);
}
REPLACEMENT void operator delete[](void *memory) noexcept
{
    std::free(memory);
}
REPLACEMENT void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}
REPLACEMENT void operator delete[](void *memory, std::size_t) noexcept
{
    std::free(memory);
}

static void assert_text(std::string_view found, std::string_view expected)
{
    if (found == expected)
        return;
    print_error("found '%.*s', expected '%.*s'\n", static_cast<int>(found.size()), found.data(),
                static_cast<int>(expected.size()), expected.data());
    fail();
}

static void assert_no_error(const Error &error)
{
    if (error)
        print_error("%s at %llu\n", error.text(), static_cast<unsigned long long>(error.offset()));
    assert_false(bool(error));
}

static void assert_refused(const Error &error, uvhttp_reason_t reason, std::uint64_t offset)
{
    assert_string_equal(uvhttp_reason_name(error.reason()), uvhttp_reason_name(reason));
    assert_int_equal(error.kind(), Error::Kind::Refused);
    assert_int_equal(error.offset(), offset);
    assert_int_equal(error.status(), uvhttp_reason_status(reason));
    assert_string_equal(error.text(), uvhttp_reason_text(reason));
}

/* Bytes in blocks of exactly their size, split at the given offsets. */
class Segments
{
public:
    explicit Segments(std::string_view bytes, std::vector<std::size_t> splits = {})
    {
        std::size_t from = 0;
        splits.push_back(bytes.size());
        for (std::size_t to : splits) {
            to = std::min(to, bytes.size());
            blocks_.push_back(std::make_unique<char[]>(to - from));
            std::memcpy(blocks_.back().get(), bytes.data() + from, to - from);
            iovecs_.push_back({blocks_.back().get(), to - from});
            from = to;
        }
    }
    std::span<const iovec> get() const { return iovecs_; }

private:
    std::vector<std::unique_ptr<char[]>> blocks_;
    std::vector<iovec> iovecs_;
};

/* The whole content of a message as one text to compare. */
static std::string fields_of(const uvhttp::Fields &fields)
{
    std::string text;
    for (auto [name, value] : fields)
        text.append(name).append("=").append(value).append("|");
    return text;
}

static std::string facts(const uvhttp::Message &message)
{
    std::string text(message.version());
    text += message.keepAlive() ? " keep " : " close ";
    text += message.chunked() ? "chunked " : "";
    text += message.contentLength() ? std::to_string(*message.contentLength()) : "-";
    text += message.upgrade() ? " upgrade" : "";
    return text + "\n" + fields_of(message.fields()) + "\n" + std::string(message.body()) + "\n" +
           fields_of(message.trailers());
}

static std::string facts(const HttpRequest &request)
{
    std::string text(request.method());
    text.append(" ").append(request.target()).append(" ").append(request.authority()).append(" ");
    text.append(request.path()).append(" ").append(request.query());
    text.append(request.expectContinue() ? " expect " : " ");
    return text + facts(static_cast<const uvhttp::Message &>(request));
}

static std::string facts(const HttpResponse &response)
{
    return std::to_string(response.status()) + " " + std::string(response.phrase()) + " " +
           facts(static_cast<const uvhttp::Message &>(response));
}

static const std::string simple = "GET /a?b=c HTTP/1.1\r\nHost: example.com\r\nX-Empty:\r\n\r\n";
static const std::string counted = "POST /up HTTP/1.1\r\nHost: h:80\r\nContent-Length: "
                                   "11\r\nExpect: 100-continue\r\n\r\nhello world";
static const std::string chunked =
    "\r\nPUT http://other/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;ext=\"a b\"\r\nhello\r\n1\r\n,\r\n0006\r\n world\r\n0\r\nX-Sum: 12\r\nX-End: yes\r\n\r\n";
static const std::string plain_chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                                         "chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n0\r\n\r\n";

static const std::string simple_facts =
    "GET /a?b=c example.com /a b=c HTTP/1.1 keep -\nHost=example.com|X-Empty=|\n\n";
static const std::string counted_facts =
    "POST /up h:80 /up  expect HTTP/1.1 keep "
    "11\nHost=h:80|Content-Length=11|Expect=100-continue|\nhello "
    "world\n";
static const std::string chunked_facts =
    "PUT http://other/ other /  HTTP/1.1 keep chunked -\n"
    "Host=h|Transfer-Encoding=chunked|\nhello, world\nX-Sum=12|X-End=yes|";
static const std::string plain_chunked_facts =
    "POST / h /  HTTP/1.1 close chunked "
    "-\nHost=h|Transfer-Encoding=chunked|Connection=close|\nab\n";

struct Sample {
    const std::string &wire;
    const std::string &facts;
};
static const Sample samples[] = {{simple, simple_facts},
                                 {counted, counted_facts},
                                 {chunked, chunked_facts},
                                 {plain_chunked, plain_chunked_facts}};

/* Gives `request` the bytes as a connection would: bytes not consumed are given again with new
 * ones. `ends` are the number of bytes received at each call. The bytes of a call are split every
 * `split` bytes. */
template <class Between>
static void feed(std::unique_ptr<HttpRequest> &request, std::string_view wire,
                 const std::vector<std::size_t> &ends, std::size_t split,
                 const std::string &expected, Between between)
{
    std::size_t used = 0;
    for (std::size_t end : ends) {
        std::string_view now = wire.substr(used, end - used);
        std::vector<std::size_t> splits;
        for (std::size_t at = split; split > 0 && at < now.size(); at += split)
            splits.push_back(at);
        auto chunks = std::make_optional<Segments>(now, splits);
        auto [error, consumed] = request->fromIOVec(chunks->get());
        assert_no_error(error);
        assert_true(consumed <= now.size());
        used += consumed;
        assert_int_equal(request->isComplete(), end == wire.size());
        if (!request->isHeadComplete())
            assert_int_equal(consumed, 0);
        if (request->isComplete()) {
            assert_int_equal(used, wire.size());
            assert_text(facts(*request), expected);
            assert_true(request->detach());
        }
        /* The bytes of this call are freed here. */
        chunks.reset();
        between();
    }
    assert_text(facts(*request), expected);
}

static void do_nothing()
{
}

static void test_whole_message_is_parsed(void **)
{
    for (const Sample &sample : samples) {
        auto request = std::make_unique<HttpRequest>();
        feed(request, sample.wire, {sample.wire.size()}, 0, sample.facts, do_nothing);
    }
    HttpRequest request;
    Segments chunks(counted);
    auto [error, consumed] = request.fromIOVec(chunks.get());
    assert_no_error(error);
    assert_int_equal(consumed, counted.size());
    assert_int_equal(request.methodId(), UVHTTP_METHOD_POST);
    assert_int_equal(request.targetForm(), UVHTTP_TARGET_ORIGIN);
    assert_int_equal(request.bodySize(), 11);
    assert_null(request.query().data());
    assert_text(request.field("hOST").value(), "h:80");
    assert_text(request.field(UVHTTP_FIELD_CONTENT_LENGTH).value(), "11");
    assert_false(request.field("x-none").has_value());
    assert_false(request.field(UVHTTP_FIELD_COOKIE).has_value());
    /* A single segment is not copied. */
    const char *base = static_cast<const char *>(chunks.get()[0].iov_base);
    assert_ptr_equal(request.method().data(), base);
    assert_ptr_equal(request.body().data(), base + counted.size() - 11);
    /* A complete request ignores further bytes. */
    auto again = request.fromBuffer(simple);
    assert_no_error(again.error);
    assert_int_equal(again.consumed, 0);
    assert_text(request.body(), "hello world");
}

static void test_message_before_head_is_empty(void **)
{
    HttpRequest request;
    HttpResponse response;
    for (std::size_t length : {std::size_t{0}, counted.find("\r\n\r\n") + 3}) {
        auto [error, consumed] = request.fromBuffer(std::string_view(counted).substr(0, length));
        assert_no_error(error);
        assert_int_equal(consumed, 0);
        assert_false(request.isHeadComplete() || request.isComplete());
        assert_text(facts(request), "      close -\n\n\n");
        assert_int_equal(request.methodId(), UVHTTP_METHOD_OTHER);
        assert_false(request.field("host").has_value() ||
                     request.field(UVHTTP_FIELD_HOST).has_value());
        assert_true(request.fields("host").empty() && request.fields(UVHTTP_FIELD_HOST).empty());
    }
    assert_int_equal(response.status(), 0);
    assert_text(facts(response), "0   close -\n\n\n");
}

static void test_split_message_is_parsed(void **)
{
    for (const Sample &sample : samples) {
        for (std::size_t at = 0; at < sample.wire.size(); at++) {
            auto request = std::make_unique<HttpRequest>();
            feed(request, sample.wire, {at, sample.wire.size()}, 0, sample.facts, do_nothing);
        }
    }
}

static void test_bytewise_and_segmented_input_is_parsed(void **)
{
    /* one for all samples: reset() discards all state */
    auto request = std::make_unique<HttpRequest>();
    for (const Sample &sample : samples) {
        for (std::size_t step = 1; step <= 7; step++) {
            std::vector<std::size_t> ends;
            for (std::size_t end = step; end < sample.wire.size(); end += step)
                ends.push_back(end);
            ends.push_back(sample.wire.size());
            for (std::size_t split : {0u, 1u, 2u, 5u, 40u}) {
                feed(request, sample.wire, ends, split, sample.facts, do_nothing);
                request->reset();
            }
        }
        for (std::size_t split = 1; split < sample.wire.size(); split++) {
            feed(request, sample.wire, {sample.wire.size()}, split, sample.facts, do_nothing);
            request->reset();
        }
    }
}

static void test_empty_iovecs_are_ignored(void **)
{
    const std::size_t size = counted.size();
    HttpRequest request;
    Segments chunks(counted, {0, 0, 3, 3, size - 5, size - 5, size, size});
    auto [error, consumed] = request.fromIOVec(chunks.get());
    assert_no_error(error);
    assert_int_equal(consumed, size);
    assert_text(facts(request), counted_facts);
}

static void test_request_is_movable_at_any_point(void **)
{
    for (const Sample &sample : samples) {
        std::vector<std::size_t> ends;
        for (std::size_t end = 1; end <= sample.wire.size(); end++)
            ends.push_back(end);
        for (std::size_t split : {0u, 3u}) {
            auto request = std::make_unique<HttpRequest>();
            feed(request, sample.wire, ends, split, sample.facts, [&] {
                /* By construction, by assignment to a request in use, and to itself. A moved-from
                 * request is like a new one. */
                auto constructed = std::make_unique<HttpRequest>(std::move(*request));
                feed(request, counted, {20, counted.size() - 3, counted.size()}, 7, counted_facts,
                     do_nothing);
                *request = std::move(*constructed);
                feed(constructed, counted, {20, counted.size() - 3, counted.size()}, 7,
                     counted_facts, do_nothing);
                constructed.reset();
                *request = std::move(*&*request);
                constructed = std::make_unique<HttpRequest>(std::move(*request));
                request = std::move(constructed);
            });
        }
    }
}

static std::string with_fields(int count)
{
    std::string wire = "GET / HTTP/1.1\r\nHost: h\r\n";
    for (int i = 1; i < count; i++)
        wire += "X-" + std::to_string(i) + ": " + std::to_string(i * i) + "\r\n";
    return wire + "\r\n";
}

static void test_field_table_grows_beyond_inline(void **)
{
    const std::string wire = with_fields(100);
    HttpRequest first;
    for (int round = 0; round < 2; round++) { /* with and without an allocated table */
        for (std::size_t split : {0u, 200u}) {
            auto chunks = std::make_optional<Segments>(
                wire, split == 0 ? std::vector<std::size_t>() : std::vector<std::size_t>{split});
            assert_no_error(first.fromIOVec(chunks->get()).error);
            HttpRequest second(std::move(first));
            assert_true(second.isComplete() && second.detach());
            chunks.reset();
            assert_int_equal(std::ranges::distance(second.fields()), 100);
            assert_text(second.field("x-99").value(), "9801");
            first = std::move(second);
            assert_text(first.field("X-31").value(), "961");
            first.reset();
        }
    }
    assert_refused(first.fromBuffer(with_fields(101)).error, UVHTTP_REASON_TOO_MANY_FIELDS,
                   with_fields(100).size() - 2);
    HttpRequest few({.maxFields = 3});
    assert_no_error(few.fromBuffer(with_fields(3)).error);
    few.reset();
    assert_int_equal(few.fromBuffer(with_fields(4)).error.status(), 431);
}

static void test_ring_input_at_every_offset(void **)
{
    const std::string wire = simple + counted + chunked + plain_chunked;
    for (std::size_t capacity : {std::size_t{96}, std::size_t{101}, wire.size()}) {
        for (std::size_t offset = 0; offset < std::min<std::size_t>(capacity, 101); offset++) {
            for (std::size_t step : {1u, 13u, 64u, 1000u}) {
                uvhttp::RingBuffer ring(capacity);
                ring.write(std::string(offset, 'x'));
                ring.write("y");
                ring.consume(offset);
                HttpRequest request({.maxHead = static_cast<std::uint32_t>(capacity)});
                std::size_t received = 0, sample = 0;
                bool first = true;
                while (sample < 4) {
                    received += ring.write(std::string_view(wire).substr(received, step));
                    if (std::exchange(first, false))
                        ring.consume(1);
                    for (;;) {
                        auto [error, consumed] = request.fromIOVec(ring.getReadIovecs());
                        assert_no_error(error);
                        assert_int_equal(ring.consume(consumed), consumed);
                        if (!request.isComplete())
                            break;
                        assert_text(facts(request), samples[sample++].facts);
                        request.reset();
                    }
                    assert_true(ring.size() < capacity || received < wire.size() || sample == 4);
                }
                assert_int_equal(ring.size(), 0);
                assert_int_equal(received, wire.size());
            }
        }
    }
}

/* A head larger than the ring is refused when the ring is full, if the limit is at most its
 * size. */
static void test_head_larger_than_ring_is_refused(void **)
{
    uvhttp::RingBuffer ring(64);
    HttpRequest request({.maxHead = 64});
    ring.write(with_fields(20));
    auto [error, consumed] = request.fromIOVec(ring.getReadIovecs());
    assert_int_equal(consumed, 0);
    assert_int_equal(error.reason(), UVHTTP_REASON_HEAD_TOO_LARGE);
}

static void test_pipelined_requests_are_parsed(void **)
{
    const std::string wire = simple + simple + counted + simple.substr(0, 7);
    std::string_view rest = wire;
    HttpRequest request;
    std::vector<std::string> found;
    for (;;) {
        auto [error, consumed] = request.fromBuffer(rest);
        assert_no_error(error);
        rest.remove_prefix(consumed);
        if (!request.isComplete())
            break;
        found.push_back(facts(request));
        request.reset();
    }
    assert_int_equal(found.size(), 3);
    assert_true(found[0] == simple_facts && found[1] == simple_facts && found[2] == counted_facts);
    assert_text(rest, simple.substr(0, 7));
}

static void test_body_callback_gets_chunks(void **)
{
    for (const std::string &head : {"Content-Length: 300000"s, "Transfer-Encoding: chunked"s}) {
        std::string body, wire = "POST / HTTP/1.1\r\nHost: h\r\n" + head + "\r\n\r\n";
        for (int i = 0; i < 300000; i++)
            body += static_cast<char>(i % 251);
        if (head[0] == 'C') {
            wire += body;
        } else {
            for (std::size_t at = 0; at < body.size(); at += 100000)
                wire += "186a0\r\n" + body.substr(at, 100000) + "\r\n";
            wire += "0\r\n\r\n";
        }
        uvhttp::RingBuffer ring(1000);
        HttpRequest request({.maxHead = 1000, .maxBody = 10});
        std::string collected;
        std::size_t received = 0;
        while (!request.isComplete()) {
            received += ring.write(std::string_view(wire).substr(received, 777));
            auto [error, consumed] =
                request.fromIOVec(ring.getReadIovecs(), [&collected](std::string_view chunk) {
                    assert_true(!chunk.empty());
                    collected += chunk;
                });
            assert_no_error(error);
            ring.consume(consumed);
        }
        assert_int_equal(received, wire.size());
        assert_true(collected == body);
        assert_true(request.body().empty());
        assert_int_equal(request.bodySize(), 300000);
        assert_text(request.field("host").value(), "h");
    }
}

static void test_exception_of_body_callback_propagates(void **)
{
    HttpRequest request;
    bool caught = false;
    try {
        (void)request.fromBuffer(counted,
                                 [](std::string_view) { throw std::runtime_error("enough"); });
    } catch (const std::runtime_error &) {
        caught = true;
    }
    assert_true(caught);
    request.reset();
    assert_no_error(request.fromBuffer(counted).error);
    assert_text(facts(request), counted_facts);
}

struct BadCase {
    BadCase(std::string wire_, uvhttp_reason_t reason_, std::uint64_t offset_)
        : wire(std::move(wire_)), reason(reason_), offset(offset_)
    {
    }
    std::string wire;
    uvhttp_reason_t reason;
    std::uint64_t offset;
};

static void test_invalid_requests_are_refused(void **)
{
    const std::string to_chunk = plain_chunked.substr(0, plain_chunked.find("2\r\n"));
    const std::string to_last = plain_chunked.substr(0, plain_chunked.find("0\r\n"));
    const std::string both = "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0";
    const BadCase bad[] = {
        BadCase("GET /\x01 HTTP/1.1\r\n\r\n", UVHTTP_REASON_TARGET, 5),
        BadCase("GET / HTTP/1.1\r\nHost : h\r\n\r\n", UVHTTP_REASON_FIELD_COLON, 20),
        BadCase("GET / HTTP/1.1\r\n\r\n", UVHTTP_REASON_HOST_MISSING, 0),
        BadCase("GET / HTTP/1.1\r\nHost: h\r\n" + both, UVHTTP_REASON_LENGTH_WITH_CODING, 0),
        BadCase(to_chunk + "2x\r\nab\r\n", UVHTTP_REASON_CHUNK_SIZE, to_chunk.size() + 1),
        BadCase(to_last + "0\r\nHost: h\r\n\r\n", UVHTTP_REASON_TRAILER_FORBIDDEN,
                to_last.size() + 3),
        BadCase(to_last + "0\r\nX: y\r\nZ\r\n\r\n", UVHTTP_REASON_FIELD_NAME, to_last.size() + 10),
    };
    for (const auto &[wire, reason, offset] : bad) {
        HttpRequest request;
        auto [error, consumed] = request.fromBuffer(wire);
        assert_int_equal(consumed, 0);
        assert_refused(error, reason, offset);
        assert_false(request.isComplete());
        if (offset == 0)
            assert_text(facts(request), "      close -\n\n\n");
        /* The error is kept until reset. */
        assert_refused(request.fromBuffer(simple).error, reason, offset);
        assert_refused(request.finish(), reason, offset);
        HttpRequest moved(std::move(request));
        assert_refused(moved.fromBuffer(simple).error, reason, offset);
        moved.reset();
        assert_no_error(moved.fromBuffer(simple).error);
        assert_text(facts(moved), simple_facts);
        /* The same byte by byte. */
        Error last;
        std::size_t used = 0;
        moved.reset();
        for (std::size_t end = 1; end <= wire.size() && !last; end++) {
            Segments chunks(std::string_view(wire).substr(used, end - used));
            auto step = moved.fromIOVec(chunks.get());
            last = step.error;
            used += step.consumed;
        }
        assert_refused(last, reason, offset);
    }
}

static std::string chunked_request(const std::string &body)
{
    return "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
}

static void test_limits_are_enforced(void **)
{
    const auto reason = [](const Limits &limits, const std::string &wire) {
        HttpRequest request(limits);
        return request.fromBuffer(wire).error.reason();
    };
    const std::uint32_t size = static_cast<std::uint32_t>(simple.size());
    assert_int_equal(reason({.maxHead = size}, simple), UVHTTP_REASON_NONE);
    assert_int_equal(reason({.maxHead = size - 1}, simple), UVHTTP_REASON_HEAD_TOO_LARGE);
    HttpRequest limited({.maxHead = size - 1});
    HttpRequest moved(std::move(limited));
    assert_int_equal(moved.fromBuffer(simple).error.reason(), UVHTTP_REASON_HEAD_TOO_LARGE);
    moved.reset();
    HttpRequest assigned;
    assigned = std::move(moved);
    assert_int_equal(assigned.fromBuffer(simple).error.reason(), UVHTTP_REASON_HEAD_TOO_LARGE);
    assert_int_equal(reason({.maxTarget = 6}, simple), UVHTTP_REASON_NONE);
    assert_int_equal(reason({.maxTarget = 5}, simple), UVHTTP_REASON_TARGET_TOO_LONG);

    const std::string extension = chunked_request("0;a=b\r\n\r\n");
    assert_int_equal(reason({.maxChunkExtension = 4}, extension), UVHTTP_REASON_NONE);
    assert_int_equal(reason({.maxChunkExtension = 3}, extension), UVHTTP_REASON_CHUNK_EXTENSION);

    const std::string trailer = chunked_request("0\r\nX-Y: z\r\n\r\n");
    assert_int_equal(reason({.maxTrailers = 10}, trailer), UVHTTP_REASON_NONE);
    assert_int_equal(reason({.maxTrailers = 9}, trailer), UVHTTP_REASON_TRAILER_TOO_LARGE);
    std::string many;
    for (int i = 0; i < 50; i++)
        many += "T: " + std::to_string(i) + "\r\n";
    assert_int_equal(reason({.maxFields = 50}, chunked_request("0\r\n" + many + "\r\n")),
                     UVHTTP_REASON_NONE);
    assert_int_equal(reason({.maxFields = 49}, chunked_request("0\r\n" + many + "\r\n")),
                     UVHTTP_REASON_TOO_MANY_FIELDS);

    for (const std::string &wire :
         {counted, chunked_request("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")}) {
        for (std::uint64_t most : {10u, 11u}) {
            HttpRequest request({.maxBody = most});
            const Error error = request.fromBuffer(wire).error;
            assert_int_equal(error.kind(),
                             most == 11 ? Error::Kind::None : Error::Kind::BodyTooLarge);
            assert_int_equal(error.status(), most == 11 ? 0 : 413);
            assert_string_equal(error.text(), most == 11 ? "no error" : "the body is too large");
        }
    }
    /* A too large length is refused before any byte of the body is received, also if it exceeds the
     * address space. */
    HttpRequest request;
    const auto huge = request.fromBuffer(
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\n");
    assert_int_equal(huge.error.kind(), Error::Kind::BodyTooLarge);
}

static void test_detached_request_owns_bytes(void **)
{
    HttpRequest request;
    assert_true(request.detach());
    auto chunks = std::make_optional<Segments>(counted);
    assert_no_error(request.fromIOVec(chunks->get()).error);
    assert_true(request.detach());
    assert_true(request.detach());
    chunks.reset();
    assert_text(facts(request), counted_facts);
    HttpRequest moved(std::move(request));
    assert_text(facts(moved), counted_facts);
}

static void test_finish_detects_truncation(void **)
{
    HttpRequest request;
    assert_no_error(request.finish());
    assert_no_error(request.fromBuffer("").error);
    assert_no_error(request.finish());
    assert_no_error(request.fromBuffer(simple).error);
    assert_no_error(request.finish());
    for (std::size_t length : {std::size_t{1}, counted.size() - 1}) {
        request.reset();
        assert_no_error(request.fromBuffer(std::string_view(counted).substr(0, length)).error);
        const Error error = request.finish();
        assert_int_equal(error.kind(), Error::Kind::Truncated);
        assert_int_equal(error.status(), 400);
        assert_int_equal(request.fromBuffer(simple).error.kind(), Error::Kind::Truncated);
    }
}

static void test_responses_are_parsed(void **)
{
    HttpResponse response;
    const std::string continued = "HTTP/1.1 100 Continue\r\n\r\n";
    const std::string reply = "HTTP/1.1 200 All right\r\nContent-Length: 5\r\nSet-Cookie: "
                              "a=1\r\nSet-Cookie: b=2\r\n\r\nhello";
    const std::string both = continued + reply;
    auto [error, consumed] = response.fromBuffer(both);
    assert_no_error(error);
    assert_int_equal(consumed, continued.size());
    assert_true(response.isComplete());
    assert_text(facts(response), "100 Continue HTTP/1.1 keep -\n\n\n");
    response.reset();
    assert_int_equal(response.fromBuffer(std::string_view(both).substr(consumed)).consumed,
                     reply.size());
    assert_text(
        facts(response),
        "200 All right HTTP/1.1 keep 5\nContent-Length=5|Set-Cookie=a=1|Set-Cookie=b=2|\nhello\n");
    std::string cookies;
    for (auto [name, value] : response.fields(UVHTTP_FIELD_SET_COOKIE))
        cookies += value;
    assert_text(cookies, "a=1b=2");

    /* The response to HEAD ends with its head; reset() keeps the method, reset(method) changes
     * it. */
    HttpResponse head({}, UVHTTP_METHOD_HEAD);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(head.fromBuffer(reply).consumed, reply.size() - 5);
        assert_true(head.isComplete());
        head.reset();
    }
    HttpResponse also_head(std::move(head));
    assert_int_equal(also_head.fromBuffer(reply).consumed, reply.size() - 5);
    also_head.reset();
    head.reset(UVHTTP_METHOD_GET);
    head = std::move(also_head);
    assert_int_equal(head.fromBuffer(reply).consumed, reply.size() - 5);
    head.reset(UVHTTP_METHOD_GET);
    HttpResponse moved(std::move(head));
    assert_int_equal(moved.fromBuffer(reply).consumed, reply.size());

    assert_no_error(response.fromBuffer("").error);
}

static void test_response_body_ends_with_connection(void **)
{
    const std::string wire = "HTTP/1.0 200 OK\r\nServer: s\r\n\r\nsome text until the end";
    for (std::size_t at = 0; at <= wire.size(); at++) {
        HttpResponse response;
        auto first = std::make_optional<Segments>(std::string_view(wire).substr(0, at));
        auto [error, consumed] = response.fromIOVec(first->get());
        assert_no_error(error);
        first.reset();
        Segments second(std::string_view(wire).substr(consumed));
        assert_no_error(response.fromIOVec(second.get()).error);
        assert_true(response.isHeadComplete() && !response.isComplete());
        assert_no_error(response.finish());
        assert_true(response.isComplete());
        assert_text(facts(response),
                    "200 OK HTTP/1.0 close -\nServer=s|\nsome text until the end\n");
    }
    HttpResponse limited({.maxBody = 5});
    assert_int_equal(limited.fromBuffer(wire).error.kind(), Error::Kind::BodyTooLarge);
}

static void test_fields_are_found_by_name(void **)
{
    const std::string wire = "GET / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nAccept: x\r\nx-a: 2\r\nX-B: "
                             "3\r\nACCEPT: y\r\nX-A:\r\n\r\n";
    HttpRequest request;
    assert_no_error(request.fromBuffer(wire).error);
    assert_text(fields_of(request.fields("X-a")), "X-A=1|x-a=2|X-A=|");
    assert_text(fields_of(request.fields("accept")), "Accept=x|ACCEPT=y|");
    assert_text(fields_of(request.fields(UVHTTP_FIELD_ACCEPT)), "Accept=x|ACCEPT=y|");
    assert_true(request.fields("x-").empty() && request.fields(UVHTTP_FIELD_OTHER).empty());
    assert_int_equal(std::ranges::distance(request.fields()), 7);
    uvhttp::Fields all = request.fields();
    auto at = all.begin();
    assert_text((*at++).name, "Host");
    assert_text((*at).value, "1");
}

template <class Range> static std::string pairs_of(const Range &range)
{
    std::string text;
    for (auto [name, value] : range)
        text.append("(")
            .append(name)
            .append(value.data() == nullptr ? "" : "=")
            .append(value)
            .append(")");
    return text;
}

static void test_query_and_cookies_are_split(void **)
{
    const uvhttp::Query query("a=1&&b&c=%26+x=y&d=");
    assert_text(pairs_of(query), "(a=1)(b)(c=%26+x=y)(d=)");
    assert_text(pairs_of(query), "(a=1)(b)(c=%26+x=y)(d=)");
    assert_text(pairs_of(uvhttp::Query("")), "");
    assert_text(pairs_of(uvhttp::Query("&&")), "");
    const uvhttp::Cookies cookies(" a=1; b = \"x\" ;; c;d==");
    assert_text(pairs_of(cookies), "(a=1)(b=\"x\")(=c)(d==)");
    assert_text(pairs_of(uvhttp::Cookies({})), "");
}

static void test_form_is_decoded(void **)
{
    const uvhttp::Form form("name=J%c3%b6rg+Z&e%3D=%26%3d&flag&&x=");
    assert_no_error(form.error());
    assert_text(pairs_of(form), "(name=J\xc3\xb6rg Z)(e==&=)(flag=)(x=)");
    assert_text(pairs_of(form), "(name=J\xc3\xb6rg Z)(e==&=)(flag=)(x=)");
    /* Views of earlier pairs stay valid. */
    std::vector<uvhttp::NameValue> all;
    for (auto pair : form)
        all.push_back(pair);
    assert_int_equal(all.size(), 4);
    assert_text(all[0].value, "J\xc3\xb6rg Z");
    assert_text(all[1].name, "e=");
    assert_text(pairs_of(uvhttp::Form("")), "");
    /* On an error there are no pairs. */
    for (auto text : {"a=1&b=%4"sv, "%zz"sv, "a=1&b=%4x&c=2"sv}) {
        const uvhttp::Form bad(text);
        assert_int_equal(bad.error().kind(), Error::Kind::BadEscape);
        assert_text(pairs_of(bad), "");
    }
}

static void test_chunked_decoder_decodes_chunks(void **)
{
    const std::string wire = "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nrest";
    for (std::size_t step = 1; step <= wire.size(); step++) {
        uvhttp::ChunkedDecoder decoder;
        std::string body;
        std::size_t at = 0;
        while (!decoder.isComplete()) {
            auto [error, consumed, chunk] = decoder.next(std::string_view(wire).substr(at, step));
            assert_no_error(error);
            body += chunk;
            at += consumed;
        }
        assert_text(body, "abcde");
        assert_int_equal(at, wire.size() - 4);
    }
    std::string copy = wire;
    uvhttp::ChunkedDecoder decoder(4);
    auto [error, consumed, chunk] = decoder.inPlace(copy);
    assert_no_error(error);
    assert_true(decoder.isComplete());
    assert_text(chunk, "abcde");
    assert_ptr_equal(chunk.data(), copy.data());
    assert_int_equal(consumed, wire.size() - 4);
    decoder.reset();
    assert_false(decoder.isComplete());
    assert_refused(decoder.next("1;abcd=e\r\n").error, UVHTTP_REASON_CHUNK_EXTENSION, 5);
    decoder.reset();
    assert_no_error(decoder.next("1\r\nxy").error);
    assert_refused(decoder.next("y").error, UVHTTP_REASON_CHUNK_END, 0);
}

static void test_writer_output_is_parsed_back(void **)
{
    std::array<char, 256> memory;
    uvhttp::MessageWriter writer(memory);
    writer.requestLine("POST", "/up?x=1"sv)
        .field("host", "h")
        .field("content-length", 5u)
        .end()
        .bytes("hello");
    assert_int_equal(writer.error(), UVHTTP_WRITER_OK);
    HttpRequest request;
    assert_int_equal(request.fromBuffer(writer.view()).consumed, writer.view().size());
    assert_text(facts(request),
                "POST /up?x=1 h /up x=1 HTTP/1.1 keep 5\nhost=h|content-length=5|\nhello\n");

    writer.clear();
    writer.statusLine(200)
        .field("transfer-encoding", "chunked")
        .end()
        .chunk("ab")
        .chunk("")
        .chunk("c");
    writer.lastChunk().field("x-sum", "3").field("x-empty", {}).end();
    HttpResponse response;
    assert_int_equal(response.fromBuffer(writer.view()).consumed, writer.view().size());
    assert_text(
        facts(response),
        "200 OK HTTP/1.1 keep chunked -\ntransfer-encoding=chunked|\nabc\nx-sum=3|x-empty=|");

    /* The first error is kept; its line and the following ones are not written. */
    writer.clear();
    writer.statusLine(404, "Gone fishing").field("x", "a\r\nSet-Cookie: b").field("y", "z");
    assert_int_equal(writer.error(), UVHTTP_WRITER_INVALID);
    assert_text(writer.view(), "HTTP/1.1 404 Gone fishing\r\n");
    writer.clear();
    writer.requestLine("GET", "/a b");
    assert_int_equal(writer.error(), UVHTTP_WRITER_INVALID);
    writer.clear();
    writer.requestLine("GE T", "/a");
    assert_int_equal(writer.error(), UVHTTP_WRITER_INVALID);
    writer.clear();
    writer.bytes(std::string(257, 'x'));
    assert_int_equal(writer.error(), UVHTTP_WRITER_FULL);
    assert_text(writer.view(), "");
}

static void test_ring_buffer_wraps_and_moves(void **)
{
    uvhttp::RingBuffer ring(8);
    assert_int_equal(ring.capacity(), 8);
    assert_int_equal(ring.size(), 0);
    assert_true(ring.getReadIovecs().empty());
    assert_int_equal(ring.write("abcdef"), 6);
    assert_int_equal(ring.consume(4), 4);
    auto space = ring.getWriteIovecs();
    assert_int_equal(space.count(), 2);
    assert_int_equal(space.data()[0].iov_len, 2);
    assert_int_equal(space.data()[1].iov_len, 4);
    std::memcpy(space.data()[0].iov_base, "gh", 2);
    std::memcpy(space.data()[1].iov_base, "ijkl", 4);
    assert_int_equal(ring.commit(5), 5);
    assert_int_equal(ring.write("mnop"), 1);
    assert_true(ring.getWriteIovecs().empty());

    uvhttp::RingBuffer moved(std::move(ring));
    assert_int_equal(ring.capacity(), 0); // NOLINT: documented for moved-from objects
    assert_int_equal(ring.size() + ring.write("x") + ring.consume(1) + ring.commit(1), 0);
    assert_true(ring.getReadIovecs().empty() && ring.getWriteIovecs().empty());
    std::string held;
    for (const iovec &chunk : moved.getReadIovecs())
        held.append(static_cast<const char *>(chunk.iov_base), chunk.iov_len);
    assert_text(held, "efghijkm");
    ring = std::move(moved);
    assert_int_equal(moved.capacity() + moved.size() + moved.write("x"), 0); // NOLINT: the same
    assert_int_equal(ring.size(), 8);
    assert_int_equal(ring.consume(100), 8);
}

/* Every allocation fails in turn: an error, no crash, no leak, and the object works after
 * reset(). */
static void test_every_failed_allocation_is_reported(void **)
{
    const std::string wire = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n" +
                             with_fields(40).substr(with_fields(1).size() - 2) +
                             "5\r\nhello\r\n0\r\nX-T: t\r\n\r\n";
    int failures = 0;
    for (int left = 0;; left++) {
        HttpRequest request;
        allocations_left = left;
        Error error;
        std::size_t used = 0;
        for (std::size_t end : {std::size_t{100}, wire.size() - 25, wire.size() - 3, wire.size()}) {
            Segments chunks(std::string_view(wire).substr(used, end - used),
                            std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9});
            auto step = request.fromIOVec(chunks.get());
            used += step.consumed;
            error = step.error;
            if (error)
                break;
        }
        allocations_left = -1;
        if (!error) {
            assert_true(request.isComplete());
            break;
        }
        failures++;
        assert_int_equal(error.kind(), Error::Kind::OutOfMemory);
        assert_int_equal(error.status(), 503);
        request.reset();
        assert_no_error(request.fromBuffer(wire).error);
        assert_text(request.body(), "hello");
        assert_text(request.trailers().begin() == request.trailers().end()
                        ? ""
                        : (*request.trailers().begin()).value,
                    "t");
    }
    assert_true(failures >= 5);

    HttpRequest request;
    assert_no_error(request.fromBuffer(counted).error);
    allocations_left = 0;
    const bool first = request.detach();
    allocations_left = 1;
    const bool second = request.detach();
    allocations_left = 0;
    const uvhttp::Form form("a=b");
    allocations_left = -1;
    assert_false(first || second);
    assert_text(facts(request), counted_facts);
    assert_int_equal(form.error().kind(), Error::Kind::OutOfMemory);
    assert_text(pairs_of(form), "");
    assert_true(request.detach());
}

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_message_is_parsed),
        cmocka_unit_test(test_message_before_head_is_empty),
        cmocka_unit_test(test_split_message_is_parsed),
        cmocka_unit_test(test_bytewise_and_segmented_input_is_parsed),
        cmocka_unit_test(test_empty_iovecs_are_ignored),
        cmocka_unit_test(test_request_is_movable_at_any_point),
        cmocka_unit_test(test_field_table_grows_beyond_inline),
        cmocka_unit_test(test_ring_input_at_every_offset),
        cmocka_unit_test(test_head_larger_than_ring_is_refused),
        cmocka_unit_test(test_pipelined_requests_are_parsed),
        cmocka_unit_test(test_body_callback_gets_chunks),
        cmocka_unit_test(test_exception_of_body_callback_propagates),
        cmocka_unit_test(test_invalid_requests_are_refused),
        cmocka_unit_test(test_limits_are_enforced),
        cmocka_unit_test(test_detached_request_owns_bytes),
        cmocka_unit_test(test_finish_detects_truncation),
        cmocka_unit_test(test_responses_are_parsed),
        cmocka_unit_test(test_response_body_ends_with_connection),
        cmocka_unit_test(test_fields_are_found_by_name),
        cmocka_unit_test(test_query_and_cookies_are_split),
        cmocka_unit_test(test_form_is_decoded),
        cmocka_unit_test(test_chunked_decoder_decodes_chunks),
        cmocka_unit_test(test_writer_output_is_parsed_back),
        cmocka_unit_test(test_ring_buffer_wraps_and_moves),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
