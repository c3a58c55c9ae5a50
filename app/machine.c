/* See machine.h. Called by banner.c and tls_setup.c, which must use the same list, and by
 * self_signed.c. */
#include "machine.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"

void uvh_machine_add(struct uvh_machine_addresses *list, const char *address)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], address) == 0)
            return;
    }
    if (list->count < UVH_MACHINE_ADDRESSES)
        snprintf(list->items[list->count++], UVH_MACHINE_ADDRESS_SIZE, "%s", address);
}

static void add_family(struct uvh_machine_addresses *list, int family)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (one->ifa_addr == NULL || one->ifa_addr->sa_family != family ||
            !(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK))
            continue;
        socklen_t size =
            family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        char host[UVH_MACHINE_ADDRESS_SIZE];
        if (getnameinfo(one->ifa_addr, size, host, sizeof(host), NULL, 0, NI_NUMERICHOST) != 0)
            continue;
        /* A link-local address needs a zone, which browsers do not accept. */
        if (strchr(host, '%') == NULL)
            uvh_machine_add(list, host);
    }
    freeifaddrs(all);
}

bool uvh_machine_has_ipv6(void)
{
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                          .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = probe >= 0 &&
               bind(probe, (const struct sockaddr *)(const void *)&loopback, sizeof(loopback)) == 0;
    if (probe >= 0)
        close(probe);
    return has;
}

void uvh_machine_add_any(struct uvh_machine_addresses *list, const char *host)
{
    if (uvh_address_has_family(host, AF_INET))
        add_family(list, AF_INET);
    if (uvh_address_has_family(host, AF_INET6) && uvh_machine_has_ipv6())
        add_family(list, AF_INET6);
}
