/* Request ids, on public functions only: uvhttp/request_id.h.
 *
 * An id is a counter passed through two bijections with a random key. It needs no system call, no
 * clock and no lock. Key and counter belong to a thread: workers share nothing, and a process that
 * forks before it serves gives each child its own key. */
#include <uvhttp/request_id.h>

#include <string.h>

#include <uvhttp/error.h>

#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/text/chars.h"
#include "options/error.h"
#include "options/option_check.h"
#include "options/owned.h"
#include "options/use.h"
#include "platform/random.h"

enum { ID_SIZE = 32, DEFAULT_MAX_LENGTH = 128, MAX_LENGTH_LIMIT = 256, MAX_NAME = 64 };

struct uvhttp_request_ids {
    struct uvh_owned owned;
    bool trusted;
    size_t max_length;
    char header[MAX_NAME + 1];
};

/* The id of one request, and the name of its response field. */
struct given_id {
    const char *header;
    char text[];
};

/* The per-thread state from which ids are made. */
struct source {
    bool seeded;
    uint64_t keys[2];
    uint64_t count;
};

static _Thread_local struct source source;
static const char id_key; /* its address is the key under which an id is attached */

/* A bijection that spreads every bit over all of them (the finalizer of splitmix64). */
static uint64_t spread(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static int seed(void)
{
    int err = uvh_random_number(&source.keys[0]);
    if (err == 0)
        err = uvh_random_number(&source.keys[1]);
    source.seeded = err == 0;
    return err;
}

static void put_hex(char *out, uint64_t value)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *out++ = "0123456789abcdef"[value >> shift & 15];
}

static int make(char out[ID_SIZE])
{
    int err = source.seeded ? 0 : seed();
    if (err != 0)
        return err;
    uint64_t high = spread(source.keys[0] + source.count++);
    put_hex(out, high);
    put_hex(out + ID_SIZE / 2, spread(source.keys[1] ^ high));
    return 0;
}

static bool is_acceptable(const char *text, size_t length, size_t most)
{
    if (length == 0 || length > most)
        return false;
    for (size_t i = 0; i < length; i++) {
        char byte = uvh_chars_lower(text[i]);
        bool letter = byte >= 'a' && byte <= 'z';
        if (!letter && !uvh_chars_is(byte, UVH_CHAR_DIGIT) && memchr("-._~:/+=@", byte, 9) == NULL)
            return false;
    }
    return true;
}

static int add_id(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct given_id *given = arg;
    (void)request;
    return uvhttp_response_set_header(response, given->header, given->text);
}

static int give(uvhttp_request_t *request, uvhttp_response_t *response,
                const struct uvhttp_request_ids *ids)
{
    const char *brought = ids->trusted ? uvhttp_request_header(request, ids->header) : NULL;
    size_t length = brought == NULL ? 0 : strlen(brought);
    bool taken = is_acceptable(brought, length, ids->max_length);
    if (!taken)
        length = ID_SIZE;
    struct given_id *given = uvhttp_request_allocate(request, sizeof(*given) + length + 1);
    if (given == NULL)
        return UVHTTP_ENOMEM;
    given->header = ids->header;
    given->text[length] = '\0';
    int err = 0;
    if (taken)
        memcpy(given->text, brought, length);
    else
        err = make(given->text);
    if (err == 0)
        err = uvhttp_request_attach(request, &id_key, given, NULL);
    return err != 0 ? err : uvhttp_response_on_send(response, add_id, given);
}

static int create(uvhttp_request_ids_t **ids, const uvhttp_request_ids_options_t *options,
                  uvhttp_error_t *error)
{
    static const uvhttp_request_ids_options_t defaults = {0};
    if (ids == NULL)
        return UVHTTP_EINVAL;
    *ids = NULL;
    if (options == NULL)
        options = &defaults;
    const char *header = options->header != NULL ? options->header : "X-Request-Id";
    size_t max_length = options->max_length != 0 ? options->max_length : DEFAULT_MAX_LENGTH;
    uvhttp_slice_t name = uvh_slice(header);
    if (name.length > MAX_NAME || !uvh_field_name_valid(name))
        return uvh_error_string(error, "header", header,
                                "must be a field name of at most 64 bytes");
    const struct uvh_option_range length = {"max_length", max_length, 1, MAX_LENGTH_LIMIT, "bytes"};
    int err = uvh_option_check(&length, 1, error);
    uint64_t number;
    if (err == 0) /* report a system without random numbers now */
        err = uvh_random_number(&number);
    if (err != 0)
        return err;
    struct uvhttp_request_ids *made = uvh_owned_new(options->allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->trusted = options->trusted;
    made->max_length = max_length;
    memcpy(made->header, header, name.length + 1);
    *ids = made;
    return 0;
}

int uvhttp_request_ids_new(uvhttp_request_ids_t **ids, const uvhttp_request_ids_options_t *options,
                           uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(ids, options, error));
}

void uvhttp_request_ids_free(void *ids)
{
    uvh_owned_free(ids);
}

int uvhttp_request_ids_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                      void *ids)
{
    if (ids == NULL)
        return UVHTTP_EINVAL;
    if (uvhttp_request_id(request) != NULL)
        return UVHTTP_DECLINED;
    int err = give(request, response, ids);
    return err != 0 ? err : UVHTTP_DECLINED;
}

const char *uvhttp_request_id(const uvhttp_request_t *request)
{
    const struct given_id *given = uvhttp_request_attached(request, &id_key);
    return given == NULL ? NULL : given->text;
}

UVH_USE_FUNCTION(request_ids)
