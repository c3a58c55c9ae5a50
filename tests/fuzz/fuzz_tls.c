/* A TLS session of the server with OpenSSL's client. The first byte of the input determines the
 * version. Each following pair of bytes is a step: ciphertext arrives, plaintext is read, the
 * client or the server writes, a byte is changed in transit, or a side ends. Properties: until a
 * byte is changed, the data of one side arrives at the other, in order and complete. Afterwards no
 * data arrives that was not written. No call blocks or fails without a reason, and OpenSSL's error
 * queue is empty. */
#include <stdlib.h>

#include "fuzz/fuzz_check.h"
#include "support/tls_pair.h"

enum { MOST = 1 << 16 };

static struct tls_pair pair;

struct run {
    unsigned char sent;     /* next byte that the client writes */
    unsigned char expected; /* next byte that the server must read */
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

static void receive(struct run *run, size_t count, bool change)
{
    char bytes[4096];
    if (uvh_tls_session_has_input(pair.server))
        return; /* pending input is read first, as in a connection */
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

/* Not during a handshake, and not in TLS 1.2. */
static void client_updates_key(void)
{
    SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED);
    ERR_clear_error();
}

static void client_continues(void)
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

static void step(struct run *run, unsigned action, size_t size)
{
    switch (action % 8) {
    case 0:
        receive(run, size + 1, false);
        break;
    case 1:
        receive(run, 4096, false);
        break;
    case 2:
        receive(run, size + 1, size % 5 == 0);
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
        client_continues();
        break;
    default:
        if (size == 7)
            uvh_tls_session_close(pair.server);
        else if (size == 8)
            client_updates_key();
        else
            client_continues();
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
    client_continues();
    if (data[0] % 4 < 2) /* most inputs test the state after the handshake */
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
