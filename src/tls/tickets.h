/* Keys of session tickets (RFC 5077 section 4): random ones that rotate, or those of files.
 *
 * Always true: a ticket is accepted for at most twice the session lifetime, because a key is
 * deleted after two rotations. Shared by all workers. */
#ifndef UVH_TLS_TICKETS_H
#define UVH_TLS_TICKETS_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/tls.h>

#include "platform/lock.h"
#include "tls/failure.h"

enum {
    UVH_TLS_TICKET_KEYS_MAX = 16, /* from files */
    UVH_TLS_TICKET_NAME_SIZE = 16,
};

struct uvh_tls_ticket_key {
    unsigned char name[UVH_TLS_TICKET_NAME_SIZE];
    unsigned char hmac[32];
    unsigned char aes[32];
};

/* Random keys: the first one encrypts, the second one is its predecessor. */
struct uvh_tls_tickets {
    struct uvh_lock lock;
    struct uvh_tls_ticket_key keys[2];
    unsigned count;
    int64_t next; /* time of the next rotation, seconds since 1970 */
};

/* Keys from files; they do not rotate. */
struct uvh_tls_ticket_files {
    struct uvh_tls_ticket_key keys[UVH_TLS_TICKET_KEYS_MAX];
    unsigned count; /* 0: no files */
};

void uvh_tls_tickets_init(struct uvh_tls_tickets *tickets);
void uvh_tls_tickets_release(struct uvh_tls_tickets *tickets);

/* The key to encrypt with at `now`; rotates if the current one is older than `lifetime` seconds.
 * Any thread. False if the system has no random bytes. */
bool uvh_tls_tickets_current(struct uvh_tls_tickets *tickets, int64_t now, int64_t lifetime,
                             struct uvh_tls_ticket_key *key);

/* Finds a key by name; `*newest`: it is the one to encrypt with. Any thread. False: not found. */
bool uvh_tls_tickets_find(struct uvh_tls_tickets *tickets, int64_t now, int64_t lifetime,
                          const unsigned char name[UVH_TLS_TICKET_NAME_SIZE],
                          struct uvh_tls_ticket_key *key, bool *newest);

/* The state of random keys as bytes, and back. Any thread. False if the bytes are invalid. */
void uvh_tls_tickets_save(struct uvh_tls_tickets *tickets,
                          unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE]);
bool uvh_tls_tickets_restore(struct uvh_tls_tickets *tickets,
                             const unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE]);

/* Loads the ticket key files of a configuration.
 * Returns 0, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG with a filled `error`. */
int uvh_tls_tickets_load(struct uvh_tls_ticket_files *files, const uvhttp_tls_options_t *options,
                         uvhttp_error_t *error);

#endif
