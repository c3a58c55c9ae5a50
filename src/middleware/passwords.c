/* uvhttp/passwords.h: a table of users sorted by name, with a cache of HMACs of recently verified
 * credentials, and the number of verifications that are running or pending. All workers share it.
 *
 * A changed file gives a new table, with what is cached for users that have not changed;
 * verifications keep the table they began with.
 * A lock protects the pointer to the table, its references and cache, and the number; users are
 * constant. */
#include <uvhttp/passwords.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/secret.h>

#include "base/hash.h"
#include "options/error.h"
#include "options/option_check.h"
#include "options/owned.h"
#include "platform/clock.h"
#include "platform/file.h"
#include "platform/hmac.h"
#include "platform/lock.h"
#include "platform/password.h"
#include "platform/random.h"

enum {
    MAX_USERS = 10000,
    MAX_LINE_LENGTH = 1022, /* bytes of a line of the file */
    MAX_REMEMBER_MS = 86400000,
    DEFAULT_REMEMBER_MS = 300000,
    CACHE_SLOTS = 1024, /* a new HMAC replaces the one in its slot */
    /* Running or pending, of one table, so that guessed passwords do not fill the queue of the
     * heavy lane. */
    MAX_VERIFICATIONS = 4,
    CHECK_MS = 1000, /* between two checks whether the file has changed */
    /* A change after this time has another time stamp: file systems count ticks of the kernel. */
    SETTLE_MS = 20,
    MAX_FILE_SIZE = 16 * 1024 * 1024,
    WHERE_SIZE = 48,
};

struct user {
    const char *name;
    const char *hash;
    size_t line; /* of the file, from 1; 0: a user of the options */
};

struct cached {
    unsigned char hmac[UVH_HMAC_SIZE];
    /* Milliseconds by uvhttp_response_now, a clock that all workers share. 0: the slot is empty. */
    uint64_t expires;
    const struct user *user; /* of the same table */
};

struct table {
    struct uvh_owned owned;
    unsigned references;
    struct user *users;
    size_t user_count;
    struct cached cache[CACHE_SLOTS];
};

struct uvhttp_passwords {
    struct uvh_owned owned;
    struct user *given; /* the users of the options */
    size_t given_count;
    const char *file; /* or NULL */
    uint64_t remember_ms;
    uint64_t key[UVH_HMAC_SIZE / sizeof(uint64_t)];
    struct uvh_lock lock;
    unsigned verifications;
    uint64_t next_check; /* milliseconds by uvhttp_response_now */
    struct table *table;
    struct uvh_lock reading;    /* of the file: one thread at a time */
    struct uvh_file_facts seen; /* of the file when it was read */
    bool refused;               /* it has changed since, but was not usable: as `reported` */
    struct uvh_file_facts reported;
};

/* One verification. It and the credentials are in the memory of the exchange, which a job
 * references; the hash belongs to the table. */
struct verification {
    struct uvhttp_passwords *passwords;
    struct table *table;
    const char *name;
    const char *password;
    const struct user *user; /* NULL: the hash is another user's, and the result is ignored */
    const char *hash;
    bool has_hmac;
    unsigned char hmac[UVH_HMAC_SIZE];
    int result;
};

/* A check whether the file has changed, before a verification. Each request waits for one that
 * began at most CHECK_MS before it, so that a removed user is refused after any time without
 * requests. */
struct file_check {
    struct verification *verification;
    uint64_t now; /* milliseconds by uvhttp_response_now */
    int result;   /* 1 if the file was read again, an error to be reported, or 0 */
    uvhttp_error_t error;
};

/* ---- tables ---- */

static struct table *ref_table(struct uvhttp_passwords *passwords)
{
    uvh_lock_acquire(&passwords->lock);
    struct table *table = passwords->table;
    table->references++;
    uvh_lock_release(&passwords->lock);
    return table;
}

static void unref_table(struct uvhttp_passwords *passwords, struct table *table)
{
    uvh_lock_acquire(&passwords->lock);
    bool last = --table->references == 0;
    uvh_lock_release(&passwords->lock);
    if (last)
        uvh_owned_free(&table->owned);
}

static int compare_users(const void *a, const void *b)
{
    return strcmp(((const struct user *)a)->name, ((const struct user *)b)->name);
}

static const struct user *find_user(const struct table *table, const char *name)
{
    const struct user wanted = {.name = name};
    return bsearch(&wanted, table->users, table->user_count, sizeof(wanted), compare_users);
}

/* The user of another table with the same name and hash, or NULL. */
static const struct user *find_same(const struct table *table, const struct user *other)
{
    const struct user *user = find_user(table, other->name);
    return user != NULL && strcmp(user->hash, other->hash) == 0 ? user : NULL;
}

/* Without it all users would be verified anew at once, and most get 503. */
static void copy_cache(struct table *table, const struct table *old)
{
    for (size_t i = 0; i < CACHE_SLOTS; i++) {
        const struct cached *cached = &old->cache[i];
        const struct user *user = cached->expires == 0 ? NULL : find_same(table, cached->user);
        if (user == NULL)
            continue;
        table->cache[i] = *cached;
        table->cache[i].user = user;
    }
}

static void replace_table(struct uvhttp_passwords *passwords, struct table *table)
{
    uvh_lock_acquire(&passwords->lock);
    struct table *old = passwords->table;
    copy_cache(table, old);
    passwords->table = table;
    uvh_lock_release(&passwords->lock);
    unref_table(passwords, old);
}

/* ---- cache ---- */

static struct cached *slot_of(struct table *table, const unsigned char *hmac)
{
    return &table->cache[(hmac[0] | (size_t)hmac[1] << 8) % CACHE_SLOTS];
}

static bool cache_has(struct uvhttp_passwords *passwords, const unsigned char *hmac, uint64_t now)
{
    uvh_lock_acquire(&passwords->lock);
    const struct cached *cached = slot_of(passwords->table, hmac);
    bool found = now < cached->expires &&
                 uvhttp_equal_constant_time(cached->hmac, UVH_HMAC_SIZE, hmac, UVH_HMAC_SIZE);
    uvh_lock_release(&passwords->lock);
    return found;
}

/* `user` is of the table that has verified it, which may have been replaced meanwhile. */
static void cache_add(struct uvhttp_passwords *passwords, const struct user *user,
                      const unsigned char *hmac, uint64_t now)
{
    uvh_lock_acquire(&passwords->lock);
    const struct user *same = find_same(passwords->table, user);
    struct cached *cached = slot_of(passwords->table, hmac);
    if (same != NULL) {
        memcpy(cached->hmac, hmac, UVH_HMAC_SIZE);
        cached->expires = now + passwords->remember_ms;
        cached->user = same;
    }
    uvh_lock_release(&passwords->lock);
}

/* Computes the HMAC of the name, a NUL (which neither contains) and the password. Returns false
 * without memory or libcrypto: then the cache is not used, and the password is hashed each time. */
static bool compute_hmac(uvhttp_request_t *request, const struct uvhttp_passwords *passwords,
                         const uvhttp_credentials_t *given, unsigned char hmac[UVH_HMAC_SIZE])
{
    size_t name = strlen(given->user) + 1, password = strlen(given->password);
    char *text = uvhttp_request_allocate(request, name + password);
    if (text == NULL)
        return false;
    memcpy(text, given->user, name);
    memcpy(text + name, given->password, password);
    int err =
        uvh_hmac_sha256((uvhttp_slice_t){(const char *)passwords->key, sizeof(passwords->key)},
                        (uvhttp_slice_t){text, name + password}, hmac);
    uvh_hmac_wipe(text, name + password);
    return err == 0;
}

/* ---- verifying ---- */

static bool begin_verification(struct uvhttp_passwords *passwords)
{
    uvh_lock_acquire(&passwords->lock);
    bool allowed = passwords->verifications < MAX_VERIFICATIONS;
    passwords->verifications += allowed;
    uvh_lock_release(&passwords->lock);
    return allowed;
}

static void end_verification(struct uvhttp_passwords *passwords)
{
    uvh_lock_acquire(&passwords->lock);
    passwords->verifications--;
    uvh_lock_release(&passwords->lock);
}

/* The job, on a thread of the heavy lane. */
static void verify(void *arg)
{
    struct verification *verification = arg;
    verification->result = uvh_password_verify(verification->passwords->owned.allocator,
                                               verification->hash, verification->password);
}

/* After the job, on the loop. */
static int finish_verification(uvhttp_response_t *response, void *arg)
{
    const struct verification *verification = arg;
    bool accepted = verification->result == 1 && verification->user != NULL;
    end_verification(verification->passwords);
    if (accepted && verification->has_hmac)
        cache_add(verification->passwords, verification->user, verification->hmac,
                  uvhttp_response_now(response));
    unref_table(verification->passwords, verification->table);
    if (!uvhttp_response_open(response))
        return 0;
    if (verification->result < 0)
        return verification->result;
    return uvhttp_auth_decide(response, accepted ? UVHTTP_AUTH_ACCEPT : UVHTTP_AUTH_REFUSE);
}

/* The user whose hash is computed for an unknown name. If it were the same for all names, a name
 * with another method or cost would be known by its time. */
static const struct user *substitute(const struct uvhttp_passwords *passwords,
                                     const struct table *table, const char *name)
{
    return &table->users[uvh_hash(name, strlen(name), passwords->key[0]) % table->user_count];
}

/* LATER, because the response is sent: the middleware must not send another. */
static int respond_busy(uvhttp_response_t *response)
{
    int err = uvhttp_response_set_header(response, "Retry-After", "1");
    if (err == 0)
        err = uvhttp_response_send_status(response, 503);
    return err == 0 ? UVHTTP_AUTH_LATER : err;
}

/* With the users that are loaded now. */
static int check_loaded(uvhttp_response_t *response, struct verification *verification)
{
    struct uvhttp_passwords *passwords = verification->passwords;
    if (verification->has_hmac &&
        cache_has(passwords, verification->hmac, uvhttp_response_now(response)))
        return UVHTTP_AUTH_ACCEPT;
    if (!begin_verification(passwords))
        return respond_busy(response);
    struct table *table = ref_table(passwords);
    const struct user *user = find_user(table, verification->name);
    verification->table = table;
    verification->user = user;
    verification->hash =
        user != NULL ? user->hash : substitute(passwords, table, verification->name)->hash;
    int err = uvhttp_response_defer_heavy(response, verify, finish_verification, verification);
    if (err == 0)
        return UVHTTP_AUTH_LATER;
    end_verification(passwords);
    unref_table(passwords, table);
    return err;
}

static bool is_due(struct uvhttp_passwords *passwords, uint64_t now)
{
    uvh_lock_acquire(&passwords->lock);
    bool due = passwords->file != NULL && now >= passwords->next_check;
    uvh_lock_release(&passwords->lock);
    return due;
}

static void set_next_check(struct uvhttp_passwords *passwords, uint64_t next)
{
    uvh_lock_acquire(&passwords->lock);
    passwords->next_check = next;
    uvh_lock_release(&passwords->lock);
}

static int load_table(struct uvhttp_passwords *passwords, struct table **table,
                      uvhttp_error_t *error);

static struct uvh_file_facts facts_of(const char *file)
{
    struct uvh_file_facts facts;
    bool found = uvh_file_facts_read_anywhere(file, &facts) == 0;
    return found ? facts : (struct uvh_file_facts){0};
}

/* Whether the file may change once more without a difference of its facts. */
static bool is_settling(const struct uvh_file_facts *facts)
{
    int64_t age = uvh_clock_unix_ms() -
                  (facts->changed_seconds * 1000 + facts->changed_nanoseconds / 1000000);
    return age >= 0 && age < SETTLE_MS;
}

static void read_changed_file(struct file_check *check, const struct uvh_file_facts *facts)
{
    struct uvhttp_passwords *passwords = check->verification->passwords;
    struct table *table = NULL;
    int err = uvh_error_end(&check->error, load_table(passwords, &table, &check->error));
    if (err == 0) {
        replace_table(passwords, table);
        passwords->seen = *facts;
    }
    /* The next check tries again, because the reason may have been another one than the file. */
    bool again = passwords->refused && uvh_file_facts_equal(facts, &passwords->reported);
    passwords->refused = err != 0;
    passwords->reported = *facts;
    check->result = err == 0 ? 1 : again ? 0 : err;
}

/* The job, on a thread of the quick lane. */
static void run_check(void *arg)
{
    struct file_check *check = arg;
    struct uvhttp_passwords *passwords = check->verification->passwords;
    uvh_lock_acquire(&passwords->reading);
    if (is_due(passwords, check->now)) { /* no other request has done it meanwhile */
        struct uvh_file_facts facts = facts_of(passwords->file);
        bool settling = is_settling(&facts);
        if (!settling && !uvh_file_facts_equal(&facts, &passwords->seen))
            read_changed_file(check, &facts);
        if (!settling)
            set_next_check(passwords, check->now + CHECK_MS);
    }
    uvh_lock_release(&passwords->reading);
}

/* After the job, on the loop. */
static int finish_check(uvhttp_response_t *response, void *arg)
{
    struct file_check *check = arg;
    struct verification *verification = check->verification;
    if (check->result == 1)
        uvhttp_response_log(response, UVHTTP_LOG_INFO, "the password file '%s' was read again",
                            verification->passwords->file);
    else if (check->result < 0)
        uvhttp_response_log(response, UVHTTP_LOG_WARNING,
                            "the changed password file '%s' is not used, its users before the "
                            "change stay valid: %s",
                            verification->passwords->file, check->error.text);
    if (!uvhttp_response_open(response))
        return 0;
    int verdict = check_loaded(response, verification);
    if (verdict == UVHTTP_AUTH_ACCEPT)
        return uvhttp_auth_decide(response, UVHTTP_AUTH_ACCEPT);
    return verdict == UVHTTP_AUTH_LATER ? 0 : verdict;
}

static int check_file(uvhttp_request_t *request, uvhttp_response_t *response,
                      struct verification *verification)
{
    struct file_check *check = uvhttp_request_allocate(request, sizeof(*check));
    if (check == NULL)
        return UVHTTP_ENOMEM;
    *check =
        (struct file_check){.verification = verification, .now = uvhttp_response_now(response)};
    int err = uvhttp_response_defer(response, run_check, finish_check, check);
    return err == 0 ? UVHTTP_AUTH_LATER : err;
}

static int check(uvhttp_request_t *request, uvhttp_response_t *response,
                 const uvhttp_credentials_t *credentials, struct uvhttp_passwords *passwords)
{
    struct verification *verification = uvhttp_request_allocate(request, sizeof(*verification));
    if (verification == NULL)
        return UVHTTP_ENOMEM;
    *verification = (struct verification){
        .passwords = passwords,
        .name = credentials->user,
        .password = credentials->password,
    };
    verification->has_hmac = compute_hmac(request, passwords, credentials, verification->hmac);
    return is_due(passwords, uvhttp_response_now(response))
               ? check_file(request, response, verification)
               : check_loaded(response, verification);
}

int uvhttp_passwords_check(uvhttp_request_t *request, uvhttp_response_t *response,
                           const uvhttp_credentials_t *credentials, void *passwords)
{
    if (passwords == NULL || credentials->user == NULL)
        return UVHTTP_EINVAL;
    return check(request, response, credentials, passwords);
}

/* ---- create and destroy ---- */

static bool is_name(const char *name)
{
    if (*name == '\0')
        return false;
    for (; *name != '\0'; name++) {
        if ((unsigned char)*name < ' ' || *name == 0x7f || *name == ':')
            return false;
    }
    return true;
}

/* `where` is the field of an error: "users", or a line of the file. A message has the name, if it
 * is valid, but never the hash. */
static int add_user(struct table *table, const char *name, const char *hash, const char *where,
                    uvhttp_error_t *error)
{
    if (table->user_count == MAX_USERS)
        return uvh_error_string(error, where, name, "at most 10000 users are allowed");
    if (!is_name(name))
        return uvh_error_string(
            error, where, NULL,
            "the name must not be empty or contain a colon or control characters");
    if (!uvh_password_is_hash(hash))
        return uvh_error_string(error, where, name,
                                "unsupported hash; create one with `uvhttp hash-password`, "
                                "htpasswd -B or mkpasswd");
    struct user *user = &table->users[table->user_count];
    user->name = uvh_owned_string(&table->owned, name, strlen(name));
    user->hash = uvh_owned_string(&table->owned, hash, strlen(hash));
    if (user->name == NULL || user->hash == NULL)
        return UVHTTP_ENOMEM;
    table->user_count++;
    return 0;
}

/* The begin of messages: file, line 3, is "ann"; ... */
static void describe_line(size_t number, char where[WHERE_SIZE])
{
    snprintf(where, WHERE_SIZE, "file, line %zu,", number);
}

/* `number` counts from 1. */
static int add_line(struct table *table, char *line, size_t length, size_t number,
                    uvhttp_error_t *error)
{
    char where[WHERE_SIZE];
    describe_line(number, where);
    if (strlen(line) != length)
        return uvh_error_string(error, where, NULL, "the line contains a NUL byte");
    line[strcspn(line, "\r\n")] = '\0';
    if (strlen(line) > MAX_LINE_LENGTH)
        return uvh_error_string(error, where, NULL, "the line is longer than 1022 bytes");
    if (line[0] == '\0' || line[0] == '#')
        return 0;
    char *colon = strchr(line, ':');
    if (colon == NULL)
        return uvh_error_string(error, where, NULL, "must be NAME:HASH");
    *colon = '\0';
    int err = add_user(table, line, colon + 1, where, error);
    if (err == 0)
        table->users[table->user_count - 1].line = number;
    return err;
}

static int fail_open(const char *path, int err, uvhttp_error_t *error)
{
    char reason[160];
    snprintf(reason, sizeof(reason), "the file cannot be opened: %s", uvhttp_strerror(err));
    return uvh_error_string(error, "file", path, reason);
}

/* Opens a file without waiting for the writer of a FIFO. Returns 0 or UVHTTP_ECONFIG. */
static int open_file(const char *path, FILE **file, uvhttp_error_t *error)
{
    struct uvh_file_facts facts;
    int descriptor;
    int err = uvh_file_open_anywhere(path, &descriptor, &facts);
    if (err != 0)
        return fail_open(path, err, error);
    const char *reason = facts.kind != UVH_FILE_REGULAR ? "it is not a regular file"
                         : facts.size > MAX_FILE_SIZE   ? "the file is larger than 16 MiB"
                                                        : NULL;
    *file = reason == NULL ? fdopen(descriptor, "r") : NULL;
    if (*file != NULL)
        return 0;
    uvh_file_close(descriptor);
    return reason != NULL ? uvh_error_string(error, "file", path, reason)
                          : fail_open(path, UVHTTP_ENOMEM, error);
}

static int add_file(struct table *table, const char *path, uvhttp_error_t *error)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    FILE *file;
    int err = open_file(path, &file, error);
    if (err != 0)
        return err;
    for (size_t number = 1; err == 0 && (length = getline(&line, &size, file)) >= 0; number++)
        err = add_line(table, line, (size_t)length, number, error);
    if (err == 0 && !feof(file))
        err = uvh_error_string(error, "file", path, "the file cannot be read");
    uvh_error_set_field(error, "file");
    uvh_error_set_value(error, path);
    fclose(file);
    if (line != NULL)
        uvh_hmac_wipe(line, size);
    free(line);
    return err;
}

/* Two users with the same name. */
static int fail_twice(const struct user *one, const struct user *other, const char *path,
                      uvhttp_error_t *error)
{
    const char *const reason = "the user is listed twice";
    char where[WHERE_SIZE];
    size_t line = one->line > other->line ? one->line : other->line;
    if (line == 0)
        return uvh_error_string(error, "users", one->name, reason);
    describe_line(line, where);
    int err = uvh_error_string(error, where, one->name, reason);
    uvh_error_set_field(error, "file");
    uvh_error_set_value(error, path);
    return err;
}

static int add_all(struct table *table, const struct uvhttp_passwords *passwords,
                   uvhttp_error_t *error)
{
    int err = 0;
    table->users = uvh_owned_alloc(&table->owned, MAX_USERS * sizeof(*table->users));
    if (table->users == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < passwords->given_count && err == 0; i++) {
        err = add_user(table, passwords->given[i].name, passwords->given[i].hash, "users", error);
        if (err != 0) {
            uvh_error_set_field(error, "");
            uvh_error_within(error, "users", i);
        }
    }
    if (err == 0 && passwords->file != NULL)
        err = add_file(table, passwords->file, error);
    if (err == 0 && table->user_count == 0)
        err = passwords->file != NULL
                  ? uvh_error_string(error, "file", passwords->file, "the file contains no users")
                  : uvh_error_sentence(error, "users", NULL,
                                       "no request can pass: set users or a file");
    if (err != 0)
        return err;
    qsort(table->users, table->user_count, sizeof(*table->users), compare_users);
    for (size_t i = 1; i < table->user_count && err == 0; i++) {
        if (compare_users(&table->users[i - 1], &table->users[i]) == 0)
            err = fail_twice(&table->users[i - 1], &table->users[i], passwords->file, error);
    }
    return err;
}

/* Reads the file. The table has one reference. */
static int load_table(struct uvhttp_passwords *passwords, struct table **table,
                      uvhttp_error_t *error)
{
    struct table *made = uvh_owned_new(passwords->owned.allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->references = 1;
    int err = add_all(made, passwords, error);
    if (err != 0)
        uvh_owned_free(&made->owned);
    else
        *table = made;
    return err;
}

static int copy_options(struct uvhttp_passwords *passwords,
                        const uvhttp_passwords_options_t *options)
{
    struct uvh_owned *owned = &passwords->owned;
    if (options->file != NULL) {
        passwords->file = uvh_owned_string(owned, options->file, strlen(options->file));
        if (passwords->file == NULL)
            return UVHTTP_ENOMEM;
    }
    if (options->user_count == 0)
        return 0;
    passwords->given = uvh_owned_alloc(owned, options->user_count * sizeof(*passwords->given));
    for (size_t i = 0; i < options->user_count && passwords->given != NULL; i++) {
        const char *name = options->users[i].name != NULL ? options->users[i].name : "";
        const char *hash = options->users[i].hash != NULL ? options->users[i].hash : "";
        struct user *user = &passwords->given[passwords->given_count++];
        user->name = uvh_owned_string(owned, name, strlen(name));
        user->hash = uvh_owned_string(owned, hash, strlen(hash));
        if (user->name == NULL || user->hash == NULL)
            return UVHTTP_ENOMEM;
    }
    return passwords->given == NULL ? UVHTTP_ENOMEM : 0;
}

static int make_key(struct uvhttp_passwords *passwords)
{
    int err = 0;
    for (size_t i = 0; i < sizeof(passwords->key) / sizeof(passwords->key[0]) && err == 0; i++)
        err = uvh_random_number(&passwords->key[i]);
    return err;
}

static int create(uvhttp_passwords_t **passwords, const uvhttp_passwords_options_t *options,
                  uvhttp_error_t *error)
{
    if (passwords == NULL)
        return UVHTTP_EINVAL;
    *passwords = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    int err = uvh_option_check_array("users", options->users, options->user_count, error);
    if (err != 0)
        return err;
    const struct uvh_option_range range = {"remember_ms", options->remember_ms, 0, MAX_REMEMBER_MS,
                                           "milliseconds"};
    err = uvh_password_available();
    if (err == 0)
        err = uvh_option_check(&range, 1, error);
    if (err != 0)
        return err;
    struct uvhttp_passwords *made = uvh_owned_new(options->allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    uvh_lock_init(&made->lock);
    uvh_lock_init(&made->reading);
    made->remember_ms = options->remember_ms != 0 ? options->remember_ms : DEFAULT_REMEMBER_MS;
    err = make_key(made);
    if (err == 0)
        err = copy_options(made, options);
    if (err == 0 && made->file != NULL)
        made->seen = facts_of(made->file); /* before it is read: a change meanwhile is noticed */
    if (err == 0)
        err = load_table(made, &made->table, error);
    if (err != 0) {
        uvhttp_passwords_free(made);
        return err;
    }
    *passwords = made;
    return 0;
}

int uvhttp_passwords_new(uvhttp_passwords_t **passwords, const uvhttp_passwords_options_t *options,
                         uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(passwords, options, error));
}

void uvhttp_passwords_free(void *passwords)
{
    uvhttp_passwords_t *old = passwords;
    if (old == NULL)
        return;
    if (old->table != NULL)
        uvh_owned_free(&old->table->owned);
    uvh_lock_destroy(&old->lock);
    uvh_lock_destroy(&old->reading);
    uvh_hmac_wipe(old->key, sizeof(old->key));
    uvh_owned_free(&old->owned);
}
