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

void uvh_machine_add(struct uvh_machine_addresses *list, const char *address)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], address) == 0)
            return;
    }
    if (list->count < UVH_MACHINE_ADDRESSES)
        snprintf(list->items[list->count++], UVH_MACHINE_ADDRESS_SIZE, "%s", address);
}

void uvh_machine_add_all(struct uvh_machine_addresses *list, int family)
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
