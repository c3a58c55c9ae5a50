#include "support/raw_peer.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

int raw_peer_listen(uint32_t address, int *port, int backlog)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(address),
                             .sin_port = htons((uint16_t)*port)};
    socklen_t size = sizeof(in);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)(void *)&in, size), 0);
    assert_int_equal(listen(listener, backlog), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)(void *)&in, &size), 0);
    *port = ntohs(in.sin_port);
    return listener;
}

int raw_peer_accept(int listener)
{
    int accepted = accept(listener, NULL, NULL);
    assert_true(accepted >= 0);
    return accepted;
}

void raw_peer_expect(int socket, const char *text)
{
    char bytes[256];
    size_t length = strlen(text);
    assert_int_equal(recv(socket, bytes, length, MSG_WAITALL), length);
    assert_memory_equal(bytes, text, length);
}

void raw_peer_close(int socket, bool reset)
{
    struct linger at_once = {1, 0};
    if (reset)
        assert_int_equal(setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(socket);
}
