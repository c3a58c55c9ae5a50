/* See client_rules.h. Called by options.c, config_clients.c and serve_site.c. */
#include "client_rules.h"

#include <stdio.h>
#include <string.h>

enum { MOST_REQUESTS = 1000000, MOST_SECONDS = 86400, PERIOD_SIZE = 16 };

const char *uvh_client_rules_check_address(const char *text)
{
    const uvhttp_address_rule_t rule = {.prefix = text};
    const uvhttp_address_rules_options_t options = {.rules = &rule, .rule_count = 1};
    uvhttp_address_rules_t *rules;
    int err = uvhttp_address_rules_new(&rules, &options, NULL);
    uvhttp_address_rules_free(rules);
    return err != UVHTTP_ECONFIG ? NULL
                                 : "all, unix, an address such as 192.0.2.1, and a prefix such as "
                                   "10.0.0.0/8 without host bits";
}

const char *uvh_client_rules_check_proxy(const char *text)
{
    return strcmp(text, "all") != 0 && uvh_client_rules_check_address(text) == NULL
               ? NULL
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
