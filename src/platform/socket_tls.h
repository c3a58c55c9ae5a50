/* Kernel TLS (Linux, module `tls`): after a handshake in user space the kernel encrypts what is
 * sent on a TCP socket, so send and sendfile take plaintext. Receiving is unchanged. */
#ifndef UVH_PLATFORM_SOCKET_TLS_H
#define UVH_PLATFORM_SOCKET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys and state of the sending direction: a struct tls12_crypto_info_* of <linux/tls.h>. */
struct uvh_socket_tls_keys {
    unsigned char info[64];
    size_t size;
};

/* Copies the struct that OpenSSL passes to a BIO. False for ciphers other than AES-GCM and on
 * systems other than Linux. */
bool uvh_socket_tls_copy_keys(struct uvh_socket_tls_keys *keys, const void *info);

/* Advances the nonce by `count` records that were encrypted with these keys in user space. */
void uvh_socket_tls_skip_records(struct uvh_socket_tls_keys *keys, uint64_t count);

/* The kernel encrypts everything sent from now on.
 * Returns 0, or with nothing changed
 *   -ENOSYS: the kernel supports it for no connection;
 *   another negative errno: not possible for this connection. */
int uvh_socket_tls_start(int socket, const struct uvh_socket_tls_keys *keys);

/* Sends an alert (two bytes: level and description) as its own record. After it the socket may be
 * shut down: all earlier data is in TCP's queue.
 * Returns 0, or
 *   -EAGAIN: too little space in the send queue; an event follows when it is writable,
 *   another negative errno. */
int uvh_socket_tls_send_alert(int socket, const void *alert);

#endif
