/* Basic and Bearer authentication, on public functions only: uvhttp/auth.h.
 *
 * Every outcome except acceptance ends the chain with a response. The credentials stay with the
 * request, for a later decision. */
#include <uvhttp/auth.h>

#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/secret.h>

#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/text/base64.h"
#include "codec/text/chars.h"
#include "options/error.h"
#include "options/option_check.h"
#include "options/owned.h"
#include "options/use.h"

enum { MAX_REALM = 256, MAX_SCOPE = 1024 };

/* A user's name and password with their lengths, which the comparison needs. */
struct table_user {
    uvhttp_slice_t name;
    uvhttp_slice_t password;
};

struct uvhttp_auth {
    struct uvh_owned owned;
    struct table_user *users;
    size_t user_count;
    uvhttp_auth_check_cb check_basic;
    uvhttp_auth_check_cb check_bearer;
    uvhttp_slice_t token; /* base NULL: none */
    void *arg;
    /* Values of WWW-Authenticate; NULL: the scheme is not accepted. */
    const char *basic;
    const char *bearer;
    const char *bearer_invalid_request;
    const char *bearer_invalid_token;
    const char *bearer_scope;
};

/* The state of one request. */
struct session {
    const struct uvhttp_auth *auth;
    uvhttp_credentials_t credentials;
    bool waiting; /* for uvhttp_auth_decide */
};

static const char session_key, user_key;

/* ---- refusing ---- */

static int challenge(uvhttp_response_t *response, const char *value)
{
    return value == NULL ? 0 : uvhttp_response_add_header(response, "WWW-Authenticate", value);
}

/* `bearer` is the challenge for Bearer. */
static int refuse(uvhttp_response_t *response, const struct uvhttp_auth *auth, int status,
                  const char *bearer)
{
    uvhttp_response_remove_header(response, "WWW-Authenticate");
    int err = status == 401 ? challenge(response, auth->basic) : 0;
    if (err == 0)
        err = challenge(response, bearer);
    return err != 0 ? err : uvhttp_response_send_status(response, status);
}

/* ---- verdicts ---- */

int uvhttp_auth_set_user(uvhttp_request_t *request, const char *name)
{
    if (name == NULL)
        return UVHTTP_EINVAL;
    size_t size = strlen(name) + 1;
    char *copy = uvhttp_request_allocate(request, size);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    memcpy(copy, name, size);
    return uvhttp_request_attach(request, &user_key, copy, NULL);
}

/* Applies the verdict, except for continuing the chain. */
static int apply(uvhttp_request_t *request, uvhttp_response_t *response, struct session *session,
                 int verdict)
{
    bool is_bearer = session->credentials.token != NULL;
    const struct uvhttp_auth *auth = session->auth;
    switch (verdict) {
    case UVHTTP_AUTH_ACCEPT:
        if (!is_bearer && uvhttp_request_attached(request, &user_key) == NULL) {
            int err = uvhttp_auth_set_user(request, session->credentials.user);
            return err != 0 ? err : UVHTTP_DECLINED;
        }
        return UVHTTP_DECLINED;
    case UVHTTP_AUTH_REFUSE:
        uvhttp_request_attach(request, &user_key, NULL, NULL);
        return refuse(response, auth, 401, is_bearer ? auth->bearer_invalid_token : auth->bearer);
    case UVHTTP_AUTH_FORBID:
        return refuse(response, auth, 403, is_bearer ? auth->bearer_scope : NULL);
    case UVHTTP_AUTH_LATER:
        session->waiting = true;
        return 0;
    default:
        return verdict < 0 ? verdict : UVHTTP_EINVAL;
    }
}

/* Compares all users, names and passwords, so that the time reveals neither. */
static bool is_in_table(const struct uvhttp_auth *auth, const uvhttp_credentials_t *given)
{
    size_t name_length = strlen(given->user), password_length = strlen(given->password);
    unsigned found = 0;
    for (size_t i = 0; i < auth->user_count; i++) {
        const struct table_user *user = &auth->users[i];
        unsigned same_name = uvhttp_equal_constant_time(given->user, name_length, user->name.base,
                                                        user->name.length);
        unsigned same_password = uvhttp_equal_constant_time(
            given->password, password_length, user->password.base, user->password.length);
        found |= same_name & same_password;
    }
    return found != 0;
}

static bool is_the_token(const struct uvhttp_auth *auth, const char *given)
{
    return auth->token.base != NULL &&
           uvhttp_equal_constant_time(given, strlen(given), auth->token.base, auth->token.length);
}

static int check_credentials(uvhttp_request_t *request, uvhttp_response_t *response,
                             const struct session *session)
{
    const struct uvhttp_auth *auth = session->auth;
    bool is_bearer = session->credentials.token != NULL;
    if (is_bearer ? is_the_token(auth, session->credentials.token)
                  : is_in_table(auth, &session->credentials))
        return UVHTTP_AUTH_ACCEPT;
    uvhttp_auth_check_cb check = is_bearer ? auth->check_bearer : auth->check_basic;
    return check == NULL ? UVHTTP_AUTH_REFUSE
                         : check(request, response, &session->credentials, auth->arg);
}

/* ---- parsing Authorization ---- */

/* Returns the text after a scheme's name and spaces; NULL for another scheme. */
static const char *after_scheme(const char *value, const char *scheme)
{
    size_t length = strlen(scheme);
    if (strlen(value) < length ||
        !uvh_field_name_equal((uvhttp_slice_t){value, length}, (uvhttp_slice_t){scheme, length}))
        return NULL;
    value += length;
    if (*value != ' ' && *value != '\0')
        return NULL;
    return value + strspn(value, " ");
}

/* A text without control characters (RFC 7617 section 2). */
static bool is_printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return false;
    }
    return true;
}

/* Basic: user and password in base64. 1: valid; 0: malformed; or an error. */
static int read_basic(uvhttp_request_t *request, const char *text,
                      uvhttp_credentials_t *credentials)
{
    uvhttp_slice_t encoded = uvh_slice(text);
    char *decoded = uvhttp_request_allocate(request, encoded.length / 4 * 3 + 3);
    if (decoded == NULL)
        return UVHTTP_ENOMEM;
    ptrdiff_t length = uvh_base64_decode(encoded, UVH_BASE64_STANDARD, decoded);
    if (length < 0 || !is_printable(decoded, (size_t)length))
        return 0;
    decoded[length] = '\0';
    char *colon = strchr(decoded, ':');
    if (colon == NULL)
        return 0;
    *colon = '\0';
    *credentials = (uvhttp_credentials_t){.user = decoded, .password = colon + 1};
    return 1;
}

/* b64token of RFC 6750 section 2.1. */
static bool is_token(const char *text)
{
    const char *p = text;
    while (uvh_chars_is(*p, UVH_CHAR_DIGIT) ||
           (uvh_chars_lower(*p) >= 'a' && uvh_chars_lower(*p) <= 'z') ||
           (*p != '\0' && strchr("-._~+/", *p) != NULL))
        p++;
    return p > text && p[strspn(p, "=")] == '\0';
}

/* A repeated field is rejected: a proxy and a handler could each use another line. */
static bool is_repeated(uvhttp_request_t *request)
{
    size_t count = 0, fields = uvhttp_request_header_count(request);
    for (size_t i = 0; i < fields; i++) {
        uvhttp_slice_t name, value;
        uvhttp_request_header_at(request, i, &name, &value);
        count += uvh_field_name_equal(name, (uvhttp_slice_t){"Authorization", 13});
    }
    return count > 1;
}

static int handle(uvhttp_request_t *request, uvhttp_response_t *response,
                  const struct uvhttp_auth *auth)
{
    const char *value = uvhttp_request_header(request, "Authorization");
    const char *basic = value != NULL && auth->basic != NULL ? after_scheme(value, "Basic") : NULL;
    const char *bearer =
        value != NULL && auth->bearer != NULL ? after_scheme(value, "Bearer") : NULL;
    if (value != NULL && is_repeated(request))
        return refuse(response, auth, 400, auth->bearer_invalid_request);
    if (basic == NULL && bearer == NULL)
        return refuse(response, auth, 401, auth->bearer);
    if (bearer != NULL && !is_token(bearer))
        return refuse(response, auth, 400, auth->bearer_invalid_request);
    struct session *session = uvhttp_request_allocate(request, sizeof(*session));
    if (session == NULL)
        return UVHTTP_ENOMEM;
    *session = (struct session){.auth = auth, .credentials = {.token = bearer}};
    int result = basic == NULL ? 1 : read_basic(request, basic, &session->credentials);
    if (result == 0)
        return refuse(response, auth, 401, auth->bearer);
    if (result == 1)
        result = uvhttp_request_attach(request, &session_key, session, NULL);
    if (result < 0)
        return result;
    return apply(request, response, session, check_credentials(request, response, session));
}

int uvhttp_auth_handle_request(uvhttp_request_t *request, uvhttp_response_t *response, void *auth)
{
    return auth == NULL ? UVHTTP_EINVAL : handle(request, response, auth);
}

int uvhttp_auth_decide(uvhttp_response_t *response, uvhttp_auth_verdict_t verdict)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    struct session *session = uvhttp_request_attached(request, &session_key);
    if (session == NULL || !session->waiting || verdict < UVHTTP_AUTH_REFUSE ||
        verdict > UVHTTP_AUTH_FORBID)
        return UVHTTP_EINVAL;
    session->waiting = false; /* now: the call below may end the exchange and the session */
    int result = apply(request, response, session, (int)verdict);
    return result == UVHTTP_DECLINED ? uvhttp_response_proceed(response) : result;
}

const char *uvhttp_auth_user(const uvhttp_request_t *request)
{
    return uvhttp_request_attached(request, &user_key);
}

/* ---- configuration ---- */

/* A message may be logged, so it never contains a password. */
static int check_user(const uvhttp_auth_user_t *user, size_t index, uvhttp_error_t *error)
{
    const char *name = user->name, *password = user->password;
    bool name_fits = name != NULL && strchr(name, ':') == NULL && is_printable(name, strlen(name));
    bool password_fits =
        password != NULL && password[0] != '\0' && is_printable(password, strlen(password));
    char field[48];
    if (name_fits && password_fits)
        return 0;
    snprintf(field, sizeof(field), "users[%zu].%s", index, name_fits ? "password" : "name");
    if (name_fits)
        return uvh_error_string(error, field, NULL,
                                "must be a non-empty text without control characters");
    /* after a colon may follow the password */
    bool shown = name == NULL || strchr(name, ':') == NULL;
    return uvh_error_string(error, field,
                            name == NULL ? ""
                            : shown      ? name
                                         : NULL,
                            "must be a text without colon and control characters");
}

static int check_config(const uvhttp_auth_options_t *options, const char *realm,
                        uvhttp_error_t *error)
{
    if (strlen(realm) > MAX_REALM || !is_printable(realm, strlen(realm)))
        return uvh_error_string(error, "realm", realm,
                                "must be at most 256 bytes without control characters");
    for (const char *p = options->scope != NULL ? options->scope : ""; *p != '\0'; p++) {
        if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\' || strlen(options->scope) > MAX_SCOPE)
            return uvh_error_string(
                error, "scope", options->scope,
                "must be at most 1024 bytes of visible ASCII without quote and backslash");
    }
    if (options->token != NULL && !is_token(options->token))
        return uvh_error_string(
            error, "token", NULL,
            "must be letters, digits and \"-._~+/\", with \"=\" at the end only");
    if (options->user_count == 0 && options->check_basic == NULL && options->token == NULL &&
        options->check_bearer == NULL)
        return uvh_error_sentence(
            error, "check_basic", NULL,
            "no request can pass: set users, check_basic, token or check_bearer");
    for (size_t i = 0; i < options->user_count; i++) {
        int err = check_user(&options->users[i], i, error);
        if (err != 0)
            return err;
    }
    return 0;
}

/* A challenge: the scheme, the realm as a quoted string (RFC 9110 section 5.6.4), and the
 * parameters. NULL when out of memory. */
static const char *write_challenge(struct uvh_owned *owned, const char *scheme, const char *realm,
                                   const char *after, const char *scope)
{
    char quoted[2 * MAX_REALM + 1], text[sizeof(quoted) + MAX_SCOPE + 128];
    size_t length = 0;
    for (const char *p = realm; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            quoted[length++] = '\\';
        quoted[length++] = *p;
    }
    quoted[length] = '\0';
    int size = snprintf(text, sizeof(text), "%s realm=\"%s\"%s%s%s%s", scheme, quoted, after,
                        scope != NULL ? ", scope=\"" : "", scope != NULL ? scope : "",
                        scope != NULL ? "\"" : "");
    return uvh_owned_string(owned, text, (size_t)size);
}

static int write_challenges(struct uvhttp_auth *auth, const uvhttp_auth_options_t *options,
                            const char *realm)
{
    struct uvh_owned *owned = &auth->owned;
    if (options->user_count > 0 || options->check_basic != NULL) {
        auth->basic = write_challenge(owned, "Basic", realm, ", charset=\"UTF-8\"", NULL);
        if (auth->basic == NULL)
            return UVHTTP_ENOMEM;
    }
    if (options->check_bearer == NULL && options->token == NULL)
        return 0;
    auth->bearer = write_challenge(owned, "Bearer", realm, "", options->scope);
    auth->bearer_invalid_request =
        write_challenge(owned, "Bearer", realm, ", error=\"invalid_request\"", NULL);
    auth->bearer_invalid_token =
        write_challenge(owned, "Bearer", realm, ", error=\"invalid_token\"", options->scope);
    auth->bearer_scope =
        write_challenge(owned, "Bearer", realm, ", error=\"insufficient_scope\"", options->scope);
    bool complete = auth->bearer != NULL && auth->bearer_invalid_request != NULL &&
                    auth->bearer_invalid_token != NULL && auth->bearer_scope != NULL;
    return complete ? 0 : UVHTTP_ENOMEM;
}

static int copy_users(struct uvhttp_auth *auth, const uvhttp_auth_options_t *options)
{
    auth->users = uvh_owned_alloc(&auth->owned, options->user_count * sizeof(*auth->users));
    if (auth->users == NULL)
        return UVHTTP_ENOMEM;
    for (; auth->user_count < options->user_count; auth->user_count++) {
        const uvhttp_auth_user_t *given = &options->users[auth->user_count];
        struct table_user *user = &auth->users[auth->user_count];
        user->name.length = strlen(given->name);
        user->name.base = uvh_owned_string(&auth->owned, given->name, user->name.length);
        user->password.length = strlen(given->password);
        user->password.base =
            uvh_owned_string(&auth->owned, given->password, user->password.length);
        if (user->name.base == NULL || user->password.base == NULL)
            return UVHTTP_ENOMEM;
    }
    return 0;
}

static int create(uvhttp_auth_t **auth, const uvhttp_auth_options_t *options, uvhttp_error_t *error)
{
    if (auth == NULL)
        return UVHTTP_EINVAL;
    *auth = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    int err = uvh_option_check_array("users", options->users, options->user_count, error);
    if (err != 0)
        return err;
    const char *realm = options->realm != NULL ? options->realm : "restricted";
    err = check_config(options, realm, error);
    if (err != 0)
        return err;
    struct uvhttp_auth *made = uvh_owned_new(options->allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->check_basic = options->check_basic;
    made->check_bearer = options->check_bearer;
    made->arg = options->arg;
    made->token = uvh_slice(options->token);
    if (options->token != NULL)
        made->token.base = uvh_owned_string(&made->owned, options->token, made->token.length);
    bool copied = options->token == NULL || made->token.base != NULL;
    err = copied ? write_challenges(made, options, realm) : UVHTTP_ENOMEM;
    if (err == 0 && options->user_count > 0)
        err = copy_users(made, options);
    if (err != 0) {
        uvhttp_auth_free(made);
        return err;
    }
    *auth = made;
    return 0;
}

int uvhttp_auth_new(uvhttp_auth_t **auth, const uvhttp_auth_options_t *options,
                    uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(auth, options, error));
}

void uvhttp_auth_free(void *auth)
{
    uvh_owned_free(auth);
}

UVH_USE_FUNCTION(auth)
