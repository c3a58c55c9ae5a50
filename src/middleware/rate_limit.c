/* Rate limits, on public functions only: selects the bucket of a request, takes a token
 * (token_buckets.c), and sets the response fields. */
#include <uvhttp/rate_limit.h>

#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "middleware/client_prefix.h"
#include "middleware/token_buckets.h"
#include "options/error.h"
#include "options/option_check.h"
#include "options/use.h"
#include "platform/random.h"

enum {
    NAME_SIZE = 64,
    POLICY_SIZE = NAME_SIZE + 64,
};

/* Milliseconds (365 days); keeps the arithmetic of buckets far from overflow. */
static const uint64_t full_within_ms = (uint64_t)365 * 86400 * 1000;

static const uint64_t ns_per_second = 1000000000;
static const uint64_t ns_per_ms = 1000000;

struct uvhttp_rate_limit {
    const uvhttp_allocator_t *allocator;
    struct uvh_token_buckets *buckets;
    uvhttp_rate_key_cb key;
    void *key_arg;
    bool global;
    bool silent;
    unsigned ipv4_prefix;
    unsigned ipv6_prefix;
    char name[NAME_SIZE + 1];
    char policy[POLICY_SIZE]; /* the value of RateLimit-Policy */
};

/* The fields sent to the client. Lives as long as the exchange. */
struct notice {
    const struct uvhttp_rate_limit *limit;
    struct uvh_token_verdict verdict;
};

/* The effective value of an option. */
static size_t or_default(size_t value, size_t usual)
{
    return value != 0 ? value : usual;
}

static bool is_policy_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\')
            return false;
    }
    return length >= 1 && length <= NAME_SIZE;
}

static uvhttp_rate_limit_options_t with_defaults(const uvhttp_rate_limit_options_t *options)
{
    uvhttp_rate_limit_options_t filled = *options;
    filled.period_ms = options->period_ms != 0 ? options->period_ms : 1000;
    filled.burst = or_default(options->burst, options->requests);
    filled.max_clients = or_default(options->max_clients, 65536);
    filled.ipv4_prefix = or_default(options->ipv4_prefix, 32);
    filled.ipv6_prefix = or_default(options->ipv6_prefix, 64);
    filled.name = options->name != NULL ? options->name : "default";
    filled.allocator = options->allocator != NULL ? options->allocator : uvh_alloc_default();
    return filled;
}

static int check(const uvhttp_rate_limit_options_t *options, uvhttp_error_t *error)
{
    const struct uvh_option_range ranges[] = {
        {"requests", options->requests, 1, 1000000, "requests"},
        {"period_ms", options->period_ms, 1000, 86400000, "milliseconds"},
        {"burst", options->burst, 1, 1000000, "requests"},
        {"max_clients", options->max_clients, 1, 16777216, "addresses"},
        {"ipv4_prefix", options->ipv4_prefix, 1, 32, "bits"},
        {"ipv6_prefix", options->ipv6_prefix, 1, 128, "bits"},
    };
    int err = uvh_option_check(ranges, UVH_COUNT_OF(ranges), error);
    if (err != 0)
        return err;
    if ((uint64_t)options->burst * options->period_ms / options->requests > full_within_ms) {
        return uvh_error_size(error, "burst", options->burst,
                              "it must refill within 365 days, which takes longer with %zu "
                              "requests in %lu milliseconds",
                              options->requests, (unsigned long)options->period_ms);
    }
    if (!is_policy_name(options->name)) {
        return uvh_error_sentence(
            error, "name", options->name,
            "name is '%s'; allowed are 1 to %d visible ASCII characters except '\"' and '\\'",
            options->name, NAME_SIZE);
    }
    if (options->global && options->key != NULL) {
        return uvh_error_sentence(error, "key", NULL,
                                  "key and global are both set; only one is allowed");
    }
    return 0;
}

/* Nanoseconds per request, at least 1,000; the rounding error is less than a thousandth. */
static uint64_t interval_of(const uvhttp_rate_limit_options_t *options)
{
    return (uint64_t)options->period_ms * ns_per_ms / options->requests;
}

static uint64_t in_seconds(uint64_t nanoseconds)
{
    return (nanoseconds + ns_per_second - 1) / ns_per_second;
}

static int create(uvhttp_rate_limit_t **limit, const uvhttp_rate_limit_options_t *options,
                  uvhttp_error_t *error)
{
    if (limit == NULL)
        return UVHTTP_EINVAL;
    *limit = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_rate_limit_options_t filled = with_defaults(options);
    struct uvh_token_buckets_config buckets = {.allocator = filled.allocator};
    int err = check(&filled, error);
    if (err == 0)
        err = uvh_random_number(&buckets.seed);
    if (err != 0)
        return err;
    buckets.interval = interval_of(&filled);
    buckets.burst = filled.burst;
    buckets.keys = filled.global ? 1 : filled.max_clients;
    struct uvhttp_rate_limit *made = uvh_alloc_zero(filled.allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->buckets = uvh_token_buckets_new(&buckets);
    if (made->buckets == NULL) {
        uvh_free(filled.allocator, made);
        return UVHTTP_ENOMEM;
    }
    made->allocator = filled.allocator;
    made->key = filled.key;
    made->key_arg = filled.key_arg;
    made->global = filled.global;
    made->silent = filled.silent;
    made->ipv4_prefix = (unsigned)filled.ipv4_prefix;
    made->ipv6_prefix = (unsigned)filled.ipv6_prefix;
    snprintf(made->name, sizeof(made->name), "%s", filled.name);
    snprintf(made->policy, sizeof(made->policy), "\"%s\";q=%zu;w=%llu", made->name, filled.burst,
             (unsigned long long)in_seconds(buckets.interval * filled.burst));
    *limit = made;
    return 0;
}

int uvhttp_rate_limit_new(uvhttp_rate_limit_t **limit, const uvhttp_rate_limit_options_t *options,
                          uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(limit, options, error));
}

void uvhttp_rate_limit_free(void *limit)
{
    uvhttp_rate_limit_t *old = limit;
    if (old == NULL)
        return;
    uvh_token_buckets_free(old->buckets);
    uvh_free(old->allocator, old);
}

/* The prefix of a key, so that no key chosen by the user equals an address. */
enum key_kind { KEY_GLOBAL, KEY_ADDRESS, KEY_USER };

static struct uvh_token_verdict take(const struct uvhttp_rate_limit *limit, enum key_kind kind,
                                     uvhttp_slice_t key, uint64_t now_ms)
{
    return uvh_token_buckets_take(limit->buckets, (unsigned)kind, key.base, key.length,
                                  now_ms * ns_per_ms);
}

static struct uvh_token_verdict take_by_address(const struct uvhttp_rate_limit *limit,
                                                uvhttp_request_t *request, uint64_t now_ms)
{
    const char *text = uvhttp_request_client_address(request);
    struct uvh_ip_address prefix;
    uvhttp_slice_t key = uvh_slice(text);
    if (uvh_client_prefix(text, limit->ipv4_prefix, limit->ipv6_prefix, &prefix))
        key = (uvhttp_slice_t){(const char *)prefix.bytes, sizeof(prefix.bytes)};
    return take(limit, KEY_ADDRESS, key, now_ms);
}

/* Returns 0 and the verdict, UVHTTP_DECLINED for a request that is not counted, or the error of the
 * user's function. */
static int count_request(const struct uvhttp_rate_limit *limit, uvhttp_request_t *request,
                         uint64_t now_ms, struct uvh_token_verdict *verdict)
{
    uvhttp_slice_t key = {NULL, 0};
    int result = limit->key != NULL ? limit->key(request, &key, limit->key_arg) : 0;
    if (result != 0)
        return result;
    if (limit->global)
        *verdict = take(limit, KEY_GLOBAL, (uvhttp_slice_t){"", 0}, now_ms);
    else if (key.base != NULL)
        *verdict = take(limit, KEY_USER, key, now_ms);
    else
        *verdict = take_by_address(limit, request, now_ms);
    return 0;
}

/* Adds the fields instead of setting them: several limits may count a request. */
static int add_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct notice *notice = arg;
    char value[NAME_SIZE + 64];
    (void)request;
    int length = snprintf(value, sizeof(value), "\"%s\";r=%llu", notice->limit->name,
                          (unsigned long long)notice->verdict.left);
    if (notice->verdict.next_in > 0)
        snprintf(value + length, sizeof(value) - (size_t)length, ";t=%llu",
                 (unsigned long long)in_seconds(notice->verdict.next_in));
    int err = uvhttp_response_add_header(response, "RateLimit-Policy", notice->limit->policy);
    return err != 0 ? err : uvhttp_response_add_header(response, "RateLimit", value);
}

static int add_fields_on_send(const struct uvhttp_rate_limit *limit, uvhttp_request_t *request,
                              uvhttp_response_t *response, struct uvh_token_verdict verdict)
{
    struct notice *notice = uvhttp_request_allocate(request, sizeof(*notice));
    if (notice == NULL)
        return UVHTTP_ENOMEM;
    *notice = (struct notice){limit, verdict};
    return uvhttp_response_on_send(response, add_fields, notice);
}

int uvhttp_rate_limit_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                     void *limit)
{
    const struct uvhttp_rate_limit *with = limit;
    struct uvh_token_verdict verdict;
    char seconds[24];
    if (with == NULL)
        return UVHTTP_EINVAL;
    int result = count_request(with, request, uvhttp_response_now(response), &verdict);
    if (result != 0)
        return result;
    int err = with->silent ? 0 : add_fields_on_send(with, request, response, verdict);
    if (err == 0 && verdict.granted)
        return UVHTTP_DECLINED;
    if (err != 0)
        return err;
    snprintf(seconds, sizeof(seconds), "%llu", (unsigned long long)in_seconds(verdict.next_in));
    err = uvhttp_response_set_header(response, "Retry-After", seconds);
    return err != 0 ? err : uvhttp_response_send_status(response, 429);
}

UVH_USE_FUNCTION(rate_limit)
