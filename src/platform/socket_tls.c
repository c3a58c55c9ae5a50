/* See the header. On systems other than Linux no keys are copied, so no other function is
 * called. */
#include "platform/socket_tls.h"

#include <errno.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/tls.h>)
#define HAS_KERNEL_TLS
#endif
#endif

#if defined(HAS_KERNEL_TLS)

#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* Headers of older C libraries lack these. */
#if !defined(TCP_ULP)
#define TCP_ULP 31
#endif
#if !defined(SOL_TLS)
#define SOL_TLS 282
#endif

enum {
    ALERT_SIZE = 2,
    RECORD_TYPE_ALERT = 21, /* RFC 8446 section 5.1 */
};

bool uvh_socket_tls_copy_keys(struct uvh_socket_tls_keys *keys, const void *info)
{
    struct tls_crypto_info kind;
    memcpy(&kind, info, sizeof(kind));
    if (kind.cipher_type == TLS_CIPHER_AES_GCM_128)
        keys->size = sizeof(struct tls12_crypto_info_aes_gcm_128);
    else if (kind.cipher_type == TLS_CIPHER_AES_GCM_256)
        keys->size = sizeof(struct tls12_crypto_info_aes_gcm_256);
    else
        return false;
    memcpy(keys->info, info, keys->size);
    return true;
}

/* Adds to a big-endian 64-bit number. */
static void add(unsigned char number[8], uint64_t count)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | number[i];
    value += count;
    for (int i = 7; i >= 0; i--, value >>= 8)
        number[i] = (unsigned char)value;
}

/* In TLS 1.2 the explicit part of the nonce is a counter of its own (RFC 5288 section 3); in TLS
 * 1.3 the nonce is made of the sequence number (RFC 8446 section 5.3). */
void uvh_socket_tls_skip_records(struct uvh_socket_tls_keys *keys, uint64_t count)
{
    struct tls12_crypto_info_aes_gcm_128 aes128;
    struct tls12_crypto_info_aes_gcm_256 aes256;
    bool is_128 = keys->size == sizeof(aes128);
    struct tls_crypto_info kind;
    memcpy(&kind, keys->info, sizeof(kind));
    size_t sequence = is_128 ? offsetof(struct tls12_crypto_info_aes_gcm_128, rec_seq)
                             : offsetof(struct tls12_crypto_info_aes_gcm_256, rec_seq);
    size_t nonce = is_128 ? offsetof(struct tls12_crypto_info_aes_gcm_128, iv)
                          : offsetof(struct tls12_crypto_info_aes_gcm_256, iv);
    _Static_assert(sizeof(aes128.rec_seq) == 8 && sizeof(aes128.iv) == 8, "numbers of 64 bits");
    _Static_assert(sizeof(aes256.rec_seq) == 8 && sizeof(aes256.iv) == 8, "numbers of 64 bits");
    _Static_assert(sizeof(aes256) <= sizeof(keys->info), "keys fit");
    add(keys->info + sequence, count);
    if (kind.version == TLS_1_2_VERSION)
        add(keys->info + nonce, count);
}

int uvh_socket_tls_start(int socket, const struct uvh_socket_tls_keys *keys)
{
    if (setsockopt(socket, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) != 0) {
        /* EPERM: a seccomp filter. */
        bool never = errno == ENOENT || errno == ENOPROTOOPT || errno == EPERM;
        return never ? -ENOSYS : -errno;
    }
    /* Without keys the kernel module passes data through unchanged. */
    if (setsockopt(socket, SOL_TLS, TLS_TX, keys->info, (socklen_t)keys->size) == 0)
        return 0;
    /* The kernel does not support this version or cipher, or has no AES-GCM. */
    bool never = errno == EINVAL || errno == ENOENT || errno == EOPNOTSUPP;
    return never ? -ENOSYS : -errno;
}

/* The kernel accepts a record while a part of an earlier one does not fit into TCP's send queue,
 * and a shutdown would cut that part off. With a third of the queue free both fit. poll also
 * requests an event for when there is space. */
static bool has_space(int socket)
{
    struct pollfd polled = {.fd = socket, .events = POLLOUT};
    return poll(&polled, 1, 0) != 0;
}

int uvh_socket_tls_send_alert(int socket, const void *alert)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(1)];
    } control = {.bytes = {0}};
    struct iovec area = {(void *)(uintptr_t)alert, ALERT_SIZE};
    struct msghdr message = {
        .msg_iov = &area, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(1)};
    if (!has_space(socket))
        return -EAGAIN;
    control.header.cmsg_level = SOL_TLS;
    control.header.cmsg_type = TLS_SET_RECORD_TYPE;
    control.header.cmsg_len = CMSG_LEN(1);
    *CMSG_DATA(&control.header) = RECORD_TYPE_ALERT;
    for (;;) {
        if (sendmsg(socket, &message, MSG_NOSIGNAL) >= 0)
            return 0;
        if (errno != EINTR)
            return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
}

#else

bool uvh_socket_tls_copy_keys(struct uvh_socket_tls_keys *keys, const void *info)
{
    (void)keys;
    (void)info;
    return false;
}

void uvh_socket_tls_skip_records(struct uvh_socket_tls_keys *keys, uint64_t count)
{
    (void)keys;
    (void)count;
}

int uvh_socket_tls_start(int socket, const struct uvh_socket_tls_keys *keys)
{
    (void)socket;
    (void)keys;
    return -ENOSYS;
}

int uvh_socket_tls_send_alert(int socket, const void *alert)
{
    (void)socket;
    (void)alert;
    return -ENOSYS;
}

#endif
