/* See client_rules.h. */
#include "client_rules.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REQUESTS = 1000000, MOST_SECONDS = 86400, PERIOD_SIZE = 16 };

/* Sets the bits of an address after its prefix to zero. */
static void clear_host_bits(unsigned char *bytes, size_t size, unsigned long prefix)
{
    for (size_t i = 0; i < size; i++) {
        size_t kept = prefix > 8 * i ? prefix - 8 * i : 0;
        if (kept < 8)
            bytes[i] &= (unsigned char)(0xff00 >> kept);
    }
}

/* For a prefix with host bits its network and its address; NULL for other texts. */
static const char *name_network(const char *text)
{
    static char allowed[2 * INET6_ADDRSTRLEN + 64]; /* the options are read by one thread */
    char address[INET6_ADDRSTRLEN], network[INET6_ADDRSTRLEN], *end;
    unsigned char bytes[16];
    size_t length = strcspn(text, "/");
    int family = memchr(text, ':', length) != NULL ? AF_INET6 : AF_INET;
    size_t size = family == AF_INET6 ? 16 : 4;
    if (text[length] == '\0' || length >= sizeof(address))
        return NULL;
    snprintf(address, sizeof(address), "%.*s", (int)length, text);
    unsigned long prefix = strtoul(text + length + 1, &end, 10);
    if (*end != '\0' || end == text + length + 1 || prefix > 8 * size ||
        inet_pton(family, address, bytes) != 1)
        return NULL;
    clear_host_bits(bytes, size, prefix);
    inet_ntop(family, bytes, network, sizeof(network));
    snprintf(allowed, sizeof(allowed), "%s/%lu (the network) and %s (this address)", network,
             prefix, address);
    return allowed;
}

const char *uvh_client_rules_check_address(const char *text)
{
    const uvhttp_address_rule_t rule = {.prefix = text};
    const uvhttp_address_rules_options_t options = {.rules = &rule, .rule_count = 1};
    uvhttp_address_rules_t *rules;
    int err = uvhttp_address_rules_new(&rules, &options, NULL);
    uvhttp_address_rules_free(rules);
    const char *network = err == UVHTTP_ECONFIG ? name_network(text) : NULL;
    return err != UVHTTP_ECONFIG ? NULL
           : network != NULL     ? network
                                 : "all, unix, an address such as 192.0.2.1, and a prefix such as "
                                   "10.0.0.0/8 without host bits";
}

const char *uvh_client_rules_check_proxy(const char *text)
{
    const char *network = name_network(text);
    return strcmp(text, "all") != 0 && uvh_client_rules_check_address(text) == NULL ? NULL
           : network != NULL
               ? network
               : "unix, an address such as 192.0.2.1, and a prefix such as 10.0.0.0/8 without "
                 "host bits";
}

/* "min" is "1min". */
static bool read_period(const char *text, size_t *seconds)
{
    char period[PERIOD_SIZE];
    bool number = *text >= '0' && *text <= '9';
    int length = snprintf(period, sizeof(period), "%s%s", number ? "" : "1", text);
    return *text != '\0' && length < PERIOD_SIZE &&
           uvhttp_config_parse(period, "seconds", seconds) == 0 && *seconds >= 1 &&
           *seconds <= MOST_SECONDS;
}

const char *uvh_client_rules_read_limit(const char *text, uvhttp_rate_limit_options_t *limit)
{
    char number[PERIOD_SIZE];
    size_t length = strcspn(text, "/"), requests = 0, seconds = 0;
    if (length < sizeof(number) && text[length] == '/') {
        snprintf(number, sizeof(number), "%.*s", (int)length, text);
        if (uvhttp_config_parse(number, "", &requests) == 0 && requests >= 1 &&
            requests <= MOST_REQUESTS && read_period(text + length + 1, &seconds)) {
            limit->requests = requests;
            limit->period_ms = (uint32_t)(seconds * 1000);
            return NULL;
        }
    }
    return "1 to 1000000 requests and a period up to 1d, such as 10/s, 100/min, 1000/h and 50/10s";
}

const char *uvh_client_rules_check_limit(const char *text)
{
    uvhttp_rate_limit_options_t limit;
    return uvh_client_rules_read_limit(text, &limit);
}
