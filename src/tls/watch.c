/* Certificate and key are two files, which cannot be replaced atomically. So a failed load is
 * reported only if the files are unchanged at the next check. It may also have failed for lack of
 * memory or descriptors, so it is retried with growing intervals. */
#include "tls/watch.h"

#include <stdarg.h>
#include <stdio.h>

#include <openssl/err.h>
#include <openssl/x509.h>

#include "base/hash.h"
#include "platform/clock.h"
#include "platform/file.h"
#include "platform/thread.h"
#include "tls/config_copy.h"
#include "tls/tls.h"

enum {
    LOOK_MS = 500,
    LOOKS_MOST = 120,   /* between retries of a failed load */
    DATES_MS = 60000,   /* between checks of the dates when no files are watched */
    DAY = 86400,        /* seconds */
    WARNED_BEFORE = 14, /* days */
    MESSAGE_SIZE = 512,
    NAME_SIZE = 200,
};

/* ---- the log ---- */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
tell(const struct uvh_tls_watch *watch, uvhttp_log_level_t level, const char *format, ...)
{
    char text[MESSAGE_SIZE + 64];
    va_list arguments;
    if (watch->log == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    watch->log(level, text, watch->log_arg);
}

/* ---- files ---- */

static void add_state(const char *path, void *arg)
{
    struct uvh_file_facts facts = {0};
    uint64_t *state = arg;
    int64_t numbers[9] = {(int64_t)*state, uvh_file_facts_read_anywhere(path, &facts)};
    numbers[2] = (int64_t)facts.size;
    numbers[3] = (int64_t)facts.inode;
    numbers[4] = (int64_t)facts.device;
    numbers[5] = facts.modified_seconds;
    numbers[6] = facts.changed_seconds;
    numbers[7] = facts.modified_nanoseconds;
    numbers[8] = facts.changed_nanoseconds;
    *state = uvh_hash(numbers, sizeof(numbers), 0);
}

uint64_t uvh_tls_watch_state(const uvhttp_tls_options_t *options)
{
    uint64_t state = 0;
    uvh_tls_config_each_file(options, add_state, &state);
    return state | 1;
}

static void load(struct uvh_tls_watch *watch, uint64_t state)
{
    uvhttp_error_t error;
    int err = uvhttp_tls_reload(watch->tls, &error);
    if (err == 0) {
        tell(watch, UVHTTP_LOG_INFO, "certificates reloaded after a file has changed");
        return;
    }
    if (watch->changed == state && watch->failed != state) {
        watch->failed = state;
        tell(watch, UVHTTP_LOG_ERROR, "certificates not reloaded, the old ones remain in use: %s",
             error.text);
    }
    watch->changed = state;
}

static bool is_due(struct uvh_tls_watch *watch, uint64_t state)
{
    if (state != watch->failed) {
        watch->between = watch->left = 1;
        return true;
    }
    if (--watch->left > 0)
        return false;
    watch->between = watch->between < LOOKS_MOST / 2 ? 2 * watch->between : LOOKS_MOST;
    watch->left = watch->between;
    return true;
}

static void check_files(struct uvh_tls_watch *watch, const struct uvh_tls_generation *current)
{
    uint64_t state = uvh_tls_watch_state(current->options);
    if (state == current->files_state)
        watch->failed = watch->changed = 0;
    else if (is_due(watch, state))
        load(watch, state);
}

/* ---- expiry ---- */

/* The current day counts, as in the output of the program. */
static long long days_until(int64_t expires, int64_t now)
{
    return (long long)((expires - now + DAY - 1) / DAY);
}

static void tell_of_certificates(const struct uvh_tls_watch *watch,
                                 const struct uvh_tls_generation *current, int64_t now)
{
    for (size_t i = 0; i < current->count; i++) {
        const struct uvh_tls_certificate *one = &current->certificates[i];
        int64_t left = one->expires - now;
        char stamp[UVH_CLOCK_STAMP_SIZE];
        uvh_clock_stamp(one->expires, stamp);
        if (left <= 0)
            tell(watch, UVHTTP_LOG_WARNING, "the certificate of %s expired at %s", one->source,
                 stamp);
        else if (left <= WARNED_BEFORE * DAY)
            tell(watch, UVHTTP_LOG_WARNING, "the certificate of %s expires in %lld days, at %s",
                 one->source, days_until(one->expires, now), stamp);
    }
}

/* The name of an authority (RFC 2253), truncated if long; "" if out of memory. */
static void write_name(const X509_NAME *name, char text[NAME_SIZE])
{
    BIO *bio = BIO_new(BIO_s_mem());
    text[0] = '\0';
    if (bio != NULL && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0) {
        int length = BIO_read(bio, text, NAME_SIZE - 1);
        text[length > 0 ? length : 0] = '\0';
    }
    BIO_free(bio);
    ERR_clear_error();
}

static void tell_of_lists(const struct uvh_tls_watch *watch,
                          const struct uvh_tls_generation *current, int64_t now)
{
    int count = current->lists == NULL ? 0 : sk_X509_CRL_num(current->lists);
    for (int i = 0; i < count; i++) {
        const X509_CRL *list = sk_X509_CRL_value(current->lists, i);
        const ASN1_TIME *next = X509_CRL_get0_nextUpdate(list);
        int64_t expires = next == NULL ? INT64_MAX : uvh_tls_time(next);
        char stamp[UVH_CLOCK_STAMP_SIZE], name[NAME_SIZE];
        if (next == NULL || expires - now > WARNED_BEFORE * DAY)
            continue;
        uvh_clock_stamp(expires, stamp);
        write_name(X509_CRL_get_issuer(list), name);
        if (expires <= now)
            tell(watch, UVHTTP_LOG_WARNING,
                 "the revocation list of %s in %s expired at %s: certificates of that CA are "
                 "rejected",
                 name, current->options->client_crl_file, stamp);
        else
            tell(watch, UVHTTP_LOG_WARNING,
                 "the revocation list of %s in %s expires in %lld days, at %s", name,
                 current->options->client_crl_file, days_until(expires, now), stamp);
    }
}

static void check_dates(struct uvh_tls_watch *watch, const struct uvh_tls_generation *current)
{
    int64_t now = uvh_clock_unix_ms() / 1000;
    if (watch->warned_number == current->number && now >= watch->warned_at &&
        now - watch->warned_at < DAY)
        return;
    watch->warned_number = current->number;
    watch->warned_at = now;
    if (current->expires - now <= WARNED_BEFORE * DAY)
        tell_of_certificates(watch, current, now);
    if (current->lists_expire - now <= WARNED_BEFORE * DAY)
        tell_of_lists(watch, current, now);
}

/* ---- the thread ---- */

static void check(struct uvh_tls_watch *watch)
{
    struct uvh_tls_generation *current = uvh_tls_current(watch->tls);
    if (watch->files)
        check_files(watch, current);
    uvh_tls_generation_unref(current);
    current = uvh_tls_current(watch->tls);
    check_dates(watch, current);
    uvh_tls_generation_unref(current);
}

static void *run(void *arg)
{
    struct uvh_tls_watch *watch = arg;
    do
        check(watch);
    while (!uvh_pause_wait(&watch->pause, watch->files ? LOOK_MS : DATES_MS));
    return NULL;
}

int uvh_tls_watch_start(struct uvh_tls_watch *watch, struct uvhttp_tls *tls,
                        const uvhttp_tls_options_t *options)
{
    if (!options->watch && options->log == NULL)
        return 0;
    watch->files = options->watch;
    watch->tls = tls;
    watch->log = options->log;
    watch->log_arg = options->log_arg;
    uvh_pause_init(&watch->pause);
    int err = uvh_thread_start(&watch->thread, run, watch);
    watch->running = err == 0;
    if (err != 0)
        uvh_pause_destroy(&watch->pause);
    return err;
}

void uvh_tls_watch_stop(struct uvh_tls_watch *watch)
{
    if (!watch->running)
        return;
    uvh_pause_end(&watch->pause);
    pthread_join(watch->thread, NULL);
    uvh_pause_destroy(&watch->pause);
    watch->running = false;
}
