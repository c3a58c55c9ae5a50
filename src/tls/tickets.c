/* See the header. */
#include "tls/tickets.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "tls/read_file.h"

enum { FILE_SIZE = 80 };

_Static_assert(sizeof(struct uvh_tls_ticket_key) == FILE_SIZE, "a file holds one key");

void uvh_tls_tickets_init(struct uvh_tls_tickets *tickets)
{
    memset(tickets, 0, sizeof(*tickets));
    uvh_lock_init(&tickets->lock);
}

void uvh_tls_tickets_release(struct uvh_tls_tickets *tickets)
{
    OPENSSL_cleanse(tickets->keys, sizeof(tickets->keys));
    uvh_lock_destroy(&tickets->lock);
}

/* A clock that is set back does not extend a key's lifetime. */
static bool is_due(const struct uvh_tls_tickets *tickets, int64_t now, int64_t lifetime)
{
    return tickets->count == 0 || now >= tickets->next || now < tickets->next - lifetime;
}

static bool rotate(struct uvh_tls_tickets *tickets, int64_t now, int64_t lifetime)
{
    struct uvh_tls_ticket_key key;
    if (RAND_bytes((unsigned char *)&key, sizeof(key)) != 1)
        return false;
    /* After two lifetimes without use no ticket of the last key is valid. */
    bool recent = tickets->count > 0 && now < tickets->next + lifetime;
    tickets->keys[1] = tickets->keys[0];
    tickets->keys[0] = key;
    tickets->count = recent ? 2 : 1;
    tickets->next = now + lifetime;
    OPENSSL_cleanse(&key, sizeof(key));
    return true;
}

bool uvh_tls_tickets_current(struct uvh_tls_tickets *tickets, int64_t now, int64_t lifetime,
                             struct uvh_tls_ticket_key *key)
{
    uvh_lock_acquire(&tickets->lock);
    bool found = !is_due(tickets, now, lifetime) || rotate(tickets, now, lifetime);
    if (found)
        *key = tickets->keys[0];
    uvh_lock_release(&tickets->lock);
    return found;
}

bool uvh_tls_tickets_find(struct uvh_tls_tickets *tickets, int64_t now, int64_t lifetime,
                          const unsigned char name[UVH_TLS_TICKET_NAME_SIZE],
                          struct uvh_tls_ticket_key *key, bool *newest)
{
    bool found = false;
    uvh_lock_acquire(&tickets->lock);
    if (is_due(tickets, now, lifetime))
        rotate(tickets, now, lifetime);
    for (unsigned i = 0; i < tickets->count && !found; i++) {
        found = memcmp(tickets->keys[i].name, name, UVH_TLS_TICKET_NAME_SIZE) == 0;
        if (found)
            *key = tickets->keys[i];
        *newest = i == 0;
    }
    uvh_lock_release(&tickets->lock);
    return found;
}

/* The first member tells the form. */
struct state {
    char form[8];
    int64_t next;
    uint64_t count;
    struct uvh_tls_ticket_key keys[2];
};

_Static_assert(sizeof(struct state) == UVHTTP_TLS_TICKET_STATE_SIZE, "the public size is right");

static const char form[8] = "tickets1";

void uvh_tls_tickets_save(struct uvh_tls_tickets *tickets,
                          unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE])
{
    uvh_lock_acquire(&tickets->lock);
    struct state saved = {.next = tickets->next, .count = tickets->count};
    memcpy(saved.keys, tickets->keys, sizeof(saved.keys));
    uvh_lock_release(&tickets->lock);
    memcpy(saved.form, form, sizeof(form));
    memcpy(state, &saved, sizeof(saved));
    OPENSSL_cleanse(&saved, sizeof(saved));
}

bool uvh_tls_tickets_restore(struct uvh_tls_tickets *tickets,
                             const unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE])
{
    struct state saved;
    memcpy(&saved, state, sizeof(saved));
    bool valid = memcmp(saved.form, form, sizeof(form)) == 0 && saved.count <= 2;
    uvh_lock_acquire(&tickets->lock);
    if (valid) {
        memcpy(tickets->keys, saved.keys, sizeof(saved.keys));
        tickets->count = (unsigned)saved.count;
        tickets->next = saved.next;
    }
    uvh_lock_release(&tickets->lock);
    OPENSSL_cleanse(&saved, sizeof(saved));
    return valid;
}

int uvh_tls_tickets_load(struct uvh_tls_ticket_files *files, const uvhttp_tls_options_t *options,
                         uvhttp_error_t *error)
{
    files->count = 0;
    for (size_t i = 0; i < options->ticket_key_file_count; i++) {
        const char *path = options->ticket_key_files[i];
        char *data;
        size_t size;
        int err =
            uvh_tls_read_file("ticket_key_files", path, options->allocator, &data, &size, error);
        if (err != 0)
            return err;
        if (size == FILE_SIZE)
            memcpy(&files->keys[files->count++], data, FILE_SIZE);
        uvh_tls_forget_file(options->allocator, data, size);
        if (size != FILE_SIZE)
            return uvh_error_sentence(error, "ticket_key_files", path,
                                      "ticket_key_files '%s' has %zu bytes; it must have %d", path,
                                      size, FILE_SIZE);
    }
    return 0;
}
