/* A TLS session on the server's side, whose client is OpenSSL itself. The first byte chooses the
 * version; each following pair is a step: ciphertext of so many bytes arrives, so much plaintext is
 * read, the client or the server writes, a byte is changed on the way, an end. Holds: until a byte
 * is changed, what one side has written comes out at the other, in order and complete; after that
 * nothing that was not written comes out; no call waits or fails without a reason, and the queue of
 * errors is empty. */
#include <stdlib.h>

#include "fuzz/fuzz_check.h"
#include "support/tls_pair.h"

enum { MOST = 1 << 16 };

static struct tls_pair pair;

struct run {
    unsigned char sent;     /* the next byte that the client writes */
    unsigned char expected; /* the next one that the server's end is to give */
    bool changed;
    bool failed;
};

static void check_read(struct run *run, size_t space)
{
    unsigned char data[512];
    ssize_t count = uvh_tls_session_read(pair.server, data, space);
    require(count >= -EPROTO || count == -EAGAIN);
    for (ssize_t i = 0; i < count; i++)
        require(data[i] == run->expected++);
    run->failed |= count == -EPROTO;
    require(!run->failed || run->changed);
    require(!run->failed || pair.server->why != NULL);
}

static void arrive(struct run *run, size_t count, bool change)
{
    char bytes[4096];
    if (uvh_tls_session_has_input(pair.server))
        return; /* as a connection does: what is at hand comes first */
    count = tls_pair_take(&pair, bytes, count < sizeof(bytes) ? count : sizeof(bytes));
    if (count > 0 && change) {
        bytes[count / 2] = (char)(bytes[count / 2] ^ 0x10);
        run->changed = true;
    }
    if (count > 0 && !pair.ready) {
        int err = uvh_tls_session_handshake(pair.server);
        run->failed |= err == -EPROTO;
        pair.ready = err == 0;
        require(run->changed || err != -EPROTO);
    } else if (count > 0) {
        check_read(run, 200);
    }
    require(uvh_tls_session_keep_input(pair.server));
}

static void client_writes(struct run *run, size_t count)
{
    unsigned char data[4096];
    if (!pair.ready || SSL_is_init_finished(pair.client) == 0 || run->changed || count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        data[i] = (unsigned char)(run->sent + i);
    if (SSL_write(pair.client, data, (int)count) == (int)count)
        run->sent = (unsigned char)(run->sent + count);
    ERR_clear_error();
}

static void server_writes(size_t count)
{
    static char data[256 * 64];
    if (!pair.ready)
        return;
    int err = uvh_tls_session_write(pair.server, &(uvhttp_slice_t){data, count}, count, count);
    require(err == 0 || pair.server->why != NULL || pair.server->close_sent);
}

/* Not within a handshake, and not in TLS 1.2. */
static void client_updates_its_key(void)
{
    SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED);
    ERR_clear_error();
}

static void client_goes_on(void)
{
    char data[4096];
    tls_pair_deliver(&pair);
    ERR_clear_error();
    if (SSL_is_init_finished(pair.client) == 0)
        SSL_do_handshake(pair.client);
    else
        SSL_read(pair.client, data, sizeof(data));
    ERR_clear_error();
}

static void step(struct run *run, unsigned what, size_t size)
{
    switch (what % 8) {
    case 0:
        arrive(run, size + 1, false);
        break;
    case 1:
        arrive(run, 4096, false);
        break;
    case 2:
        arrive(run, size + 1, size % 5 == 0);
        break;
    case 3:
        client_writes(run, size * 16);
        break;
    case 4:
        if (pair.ready)
            check_read(run, size + 1);
        break;
    case 5:
        server_writes(size * 64);
        break;
    case 6:
        client_goes_on();
        break;
    default:
        if (size == 7)
            uvh_tls_session_close(pair.server);
        else if (size == 8)
            client_updates_its_key();
        else
            client_goes_on();
        break;
    }
    require(ERR_peek_error() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run run = {0};
    if (pair.tls == NULL)
        require(tls_pair_begin(&pair, uvh_alloc_default()));
    if (size == 0)
        return 0;
    tls_pair_client(&pair, data[0] % 2 == 0 ? TLS1_3_VERSION : TLS1_2_VERSION);
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    require(pair.server != NULL);
    client_goes_on();
    if (data[0] % 4 < 2) /* most inputs are about what follows the handshake */
        require(tls_pair_handshake(&pair, 4096));
    for (size_t i = 1; i + 1 < size; i += 2) {
        step(&run, data[i], data[i + 1]);
        if (run.failed)
            break;
    }
    tls_pair_close(&pair);
    ERR_clear_error();
    return 0;
}
