/* Defaults and range checks of the configuration, both from the limits table. */
#include <uvhttp/config.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "server/limits.h"

struct limit {
    const char *name;
    size_t offset; /* in uvhttp_config_t */
    uint64_t preset, min, max;
    const char *unit;
};

#define LIMIT_ROW(field, preset, min, max, unit, status) \
    {#field, offsetof(uvhttp_config_t, field), preset, min, max, unit},
static const struct limit limits[] = {UVH_LIMITS(LIMIT_ROW)};
#undef LIMIT_ROW

/* A number without a row would have no default, no range and no test. */
_Static_assert(sizeof(limits) / sizeof(limits[0]) * sizeof(size_t) == offsetof(uvhttp_config_t, allocator),
               "every number of uvhttp_config_t stands in the limits table");

static size_t *value_of(uvhttp_config_t *config, const struct limit *limit)
{
    return (size_t *)(void *)((char *)config + limit->offset);
}

uvhttp_config_t *uvhttp_config_new(void)
{
    uvhttp_config_t *config = uvh_alloc_zero(uvh_alloc_default(), sizeof(*config));
    if (config == NULL)
        return NULL;
    for (size_t i = 0; i < UVH_COUNT_OF(limits); i++)
        *value_of(config, &limits[i]) = (size_t)limits[i].preset;
    config->log_level = UVHTTP_LOG_INFO;
    return config;
}

void uvhttp_config_free(uvhttp_config_t *config)
{
    uvh_free(uvh_alloc_default(), config);
}

int uvhttp_config_check(const uvhttp_config_t *config, char *message, size_t size)
{
    for (size_t i = 0; i < UVH_COUNT_OF(limits); i++) {
        const struct limit *limit = &limits[i];
        size_t value = *value_of((uvhttp_config_t *)(uintptr_t)config, limit);
        if (value >= limit->min && value <= limit->max)
            continue;
        snprintf(message, size, "%s is %zu; allowed are %llu to %llu %s", limit->name, value,
                 (unsigned long long)limit->min, (unsigned long long)limit->max, limit->unit);
        return UVHTTP_ECONFIG;
    }
    if ((unsigned)config->log_level > UVHTTP_LOG_DEBUG) {
        snprintf(message, size, "log_level is %d; allowed are %d to %d", (int)config->log_level,
                 UVHTTP_LOG_ERROR, UVHTTP_LOG_DEBUG);
        return UVHTTP_ECONFIG;
    }
    /* A head and a trailer section are parsed in one piece, in a buffer that may hold another connection's bytes too. */
    if (config->max_header_size > config->buffer_size / 2 ||
        config->max_trailer_size > config->buffer_size / 2) {
        snprintf(
            message, size,
            "buffer_size is %zu; it must be at least twice max_header_size (%zu) and max_trailer_size (%zu)",
            config->buffer_size, config->max_header_size, config->max_trailer_size);
        return UVHTTP_ECONFIG;
    }
    return 0;
}
