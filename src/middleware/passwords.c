/* uvhttp/passwords.h: users sorted by name, a table of HMACs of recently verified credentials, and
 * the number of running hash computations. A lock protects the table and the number, which all
 * workers share. */
#include <uvhttp/passwords.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/secret.h>

#include "options/error.h"
#include "options/option_check.h"
#include "options/owned.h"
#include "platform/hmac.h"
#include "platform/lock.h"
#include "platform/password.h"
#include "platform/random.h"

enum {
    MOST_USERS = 10000,
    MOST_LINE = 1024,
    MOST_REMEMBER_MS = 86400000,
    DEFAULT_REMEMBER_MS = 300000,
    KNOWN = 1024,       /* remembered HMACs; a new one replaces the one in its slot */
    MOST_UNDER_WAY = 4, /* leaves threads of the heavy lane to compression and archives */
};

struct user {
    const char *name;
    const char *hash;
};

struct known {
    unsigned char code[UVH_HMAC_SIZE];
    uint64_t until; /* milliseconds of the loops' clock, the same for all loops; 0: empty */
};

struct uvhttp_passwords {
    struct uvh_owned owned;
    struct user *users;
    size_t user_count;
    uint64_t remember_ms;
    uint64_t key[UVH_HMAC_SIZE / sizeof(uint64_t)];
    struct uvh_lock lock;
    unsigned under_way;
    struct known known[KNOWN];
};

/* One verification; lives in the exchange's memory, as does what it points to. */
struct question {
    struct uvhttp_passwords *passwords;
    const char *hash;
    const char *password;
    bool is_user; /* else another user's hash, for a constant time */
    bool has_code;
    unsigned char code[UVH_HMAC_SIZE];
    int result;
};

/* ---- recently verified ---- */

static struct known *slot_of(struct uvhttp_passwords *passwords, const unsigned char *code)
{
    return &passwords->known[(code[0] | (size_t)code[1] << 8) % KNOWN];
}

static bool recall(struct uvhttp_passwords *passwords, const unsigned char *code, uint64_t now)
{
    uvh_lock_acquire(&passwords->lock);
    const struct known *known = slot_of(passwords, code);
    bool right = now < known->until &&
                 uvhttp_equal_constant_time(known->code, UVH_HMAC_SIZE, code, UVH_HMAC_SIZE);
    uvh_lock_release(&passwords->lock);
    return right;
}

static void remember(struct uvhttp_passwords *passwords, const unsigned char *code, uint64_t now)
{
    uvh_lock_acquire(&passwords->lock);
    struct known *known = slot_of(passwords, code);
    memcpy(known->code, code, UVH_HMAC_SIZE);
    known->until = now + passwords->remember_ms;
    uvh_lock_release(&passwords->lock);
}

/* Computes the HMAC of name and password with the NUL between them, which neither contains. False
 * when there is none: then every request is hashed. */
static bool make_code(uvhttp_request_t *request, const struct uvhttp_passwords *passwords,
                      const uvhttp_credentials_t *given, unsigned char code[UVH_HMAC_SIZE])
{
    size_t name = strlen(given->user) + 1, password = strlen(given->password);
    char *text = uvhttp_request_allocate(request, name + password);
    if (text == NULL)
        return false;
    memcpy(text, given->user, name);
    memcpy(text + name, given->password, password);
    int err =
        uvh_hmac_sha256((uvhttp_slice_t){(const char *)passwords->key, sizeof(passwords->key)},
                        (uvhttp_slice_t){text, name + password}, code);
    uvh_hmac_wipe(text, name + password);
    return err == 0;
}

/* ---- verifying ---- */

static bool enter(struct uvhttp_passwords *passwords)
{
    uvh_lock_acquire(&passwords->lock);
    bool space = passwords->under_way < MOST_UNDER_WAY;
    passwords->under_way += space;
    uvh_lock_release(&passwords->lock);
    return space;
}

static void leave(struct uvhttp_passwords *passwords)
{
    uvh_lock_acquire(&passwords->lock);
    passwords->under_way--;
    uvh_lock_release(&passwords->lock);
}

static void run_question(void *arg)
{
    struct question *question = arg;
    question->result = uvh_password_verify(question->passwords->owned.allocator, question->hash,
                                           question->password);
}

static int finish_question(uvhttp_response_t *response, void *arg)
{
    const struct question *question = arg;
    bool right = question->result == 1 && question->is_user;
    leave(question->passwords);
    if (!uvhttp_response_open(response))
        return 0;
    if (question->result < 0)
        return question->result;
    if (right && question->has_code)
        remember(question->passwords, question->code, uvhttp_response_now(response));
    return uvhttp_auth_decide(response, right ? UVHTTP_AUTH_ACCEPT : UVHTTP_AUTH_REFUSE);
}

static int compare_users(const void *a, const void *b)
{
    return strcmp(((const struct user *)a)->name, ((const struct user *)b)->name);
}

static const struct user *find_user(const struct uvhttp_passwords *passwords, const char *name)
{
    const struct user wanted = {name, NULL};
    return bsearch(&wanted, passwords->users, passwords->user_count, sizeof(wanted), compare_users);
}

static int respond_busy(uvhttp_response_t *response)
{
    int err = uvhttp_response_set_header(response, "Retry-After", "1");
    if (err == 0)
        err = uvhttp_response_send_status(response, 503);
    return err == 0 ? UVHTTP_AUTH_LATER : err;
}

int uvhttp_passwords_check(uvhttp_request_t *request, uvhttp_response_t *response,
                           const uvhttp_credentials_t *credentials, void *passwords)
{
    struct uvhttp_passwords *known = passwords;
    if (known == NULL || credentials->user == NULL)
        return UVHTTP_EINVAL;
    struct question *question = uvhttp_request_allocate(request, sizeof(*question));
    if (question == NULL)
        return UVHTTP_ENOMEM;
    const struct user *user = find_user(known, credentials->user);
    *question = (struct question){
        .passwords = known,
        .hash = user != NULL ? user->hash : known->users[0].hash,
        .password = credentials->password,
        .is_user = user != NULL,
    };
    question->has_code = make_code(request, known, credentials, question->code);
    if (question->has_code && recall(known, question->code, uvhttp_response_now(response)))
        return UVHTTP_AUTH_ACCEPT;
    if (!enter(known))
        return respond_busy(response);
    int err = uvhttp_response_defer_heavy(response, run_question, finish_question, question);
    if (err == 0)
        return UVHTTP_AUTH_LATER;
    leave(known);
    return err;
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

/* `where` identifies the user in messages, since the name itself may be invalid. */
static int add_user(struct uvhttp_passwords *passwords, const char *name, const char *hash,
                    const char *where, uvhttp_error_t *error)
{
    if (passwords->user_count == MOST_USERS)
        return uvh_error_string(error, where, name, "at most 10000 users are allowed");
    if (!is_name(name))
        return uvh_error_string(error, where, NULL,
                                "must be NAME:HASH, without control characters in NAME");
    if (!uvh_password_is_hash(hash))
        return uvh_error_string(error, where, name,
                                "unsupported hash; use one of htpasswd -B or mkpasswd");
    struct user *user = &passwords->users[passwords->user_count];
    user->name = uvh_owned_string(&passwords->owned, name, strlen(name));
    user->hash = uvh_owned_string(&passwords->owned, hash, strlen(hash));
    if (user->name == NULL || user->hash == NULL)
        return UVHTTP_ENOMEM;
    passwords->user_count++;
    return 0;
}

/* One line, without its line end. */
static int read_line(struct uvhttp_passwords *passwords, char *line, size_t number,
                     uvhttp_error_t *error)
{
    char where[48];
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#')
        return 0;
    snprintf(where, sizeof(where), "file, line %zu,", number);
    char *colon = strchr(line, ':');
    if (colon != NULL)
        *colon = '\0';
    return add_user(passwords, colon == NULL ? "" : line, colon == NULL ? "" : colon + 1, where,
                    error);
}

static int read_file(struct uvhttp_passwords *passwords, const char *path, uvhttp_error_t *error)
{
    char line[MOST_LINE];
    int err = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return uvh_error_string(error, "file", path, "the file cannot be opened");
    for (size_t number = 1; err == 0 && fgets(line, sizeof(line), file) != NULL; number++)
        err = read_line(passwords, line, number, error);
    if (err == 0 && ferror(file))
        err = uvh_error_string(error, "file", path, "the file cannot be read");
    uvh_error_set_field(error, "file");
    uvh_error_set_value(error, path);
    fclose(file);
    uvh_hmac_wipe(line, sizeof(line));
    return err;
}

static int add_all(struct uvhttp_passwords *passwords, const uvhttp_passwords_options_t *options,
                   uvhttp_error_t *error)
{
    int err = 0;
    passwords->users = uvh_owned_alloc(&passwords->owned, MOST_USERS * sizeof(*passwords->users));
    if (passwords->users == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < options->user_count && err == 0; i++) {
        const uvhttp_hashed_user_t *user = &options->users[i];
        err = add_user(passwords, user->name != NULL ? user->name : "",
                       user->hash != NULL ? user->hash : "", "users", error);
        if (err != 0) {
            uvh_error_set_field(error, "");
            uvh_error_within(error, "users", i);
        }
    }
    if (err == 0 && options->file != NULL)
        err = read_file(passwords, options->file, error);
    if (err == 0 && passwords->user_count == 0)
        err = uvh_error_string(error, "users", "",
                               "no request can pass: set users, or a file that contains users");
    if (err != 0)
        return err;
    qsort(passwords->users, passwords->user_count, sizeof(*passwords->users), compare_users);
    for (size_t i = 1; i < passwords->user_count; i++) {
        if (compare_users(&passwords->users[i - 1], &passwords->users[i]) == 0)
            return uvh_error_string(error, "users", passwords->users[i].name,
                                    "the user is listed twice");
    }
    return 0;
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
    const struct uvh_option_range range = {"remember_ms", options->remember_ms, 0, MOST_REMEMBER_MS,
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
    made->remember_ms = options->remember_ms != 0 ? options->remember_ms : DEFAULT_REMEMBER_MS;
    err = make_key(made);
    if (err == 0)
        err = add_all(made, options, error);
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

void uvhttp_passwords_free(uvhttp_passwords_t *passwords)
{
    if (passwords == NULL)
        return;
    uvh_lock_destroy(&passwords->lock);
    uvh_hmac_wipe(passwords->key, sizeof(passwords->key));
    uvh_owned_free(&passwords->owned);
}
