/* Defaults, range checks and the listing of the configuration, all from the limits table. */
#include <uvhttp/config.h>

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "options/error.h"
#include "server/config_field.h"
#include "server/limits.h"
#include "server/server.h"

#define LIMIT_ROW(field, preset, min, max, unit, status, help) \
    {#field, unit, help, preset, min, max, status},
static const uvhttp_limit_t limits[] = {UVH_LIMITS(LIMIT_ROW)};
#undef LIMIT_ROW

#define LIMIT_OFFSET(field, preset, min, max, unit, status, help) offsetof(uvhttp_config_t, field),
static const size_t offsets[] = {UVH_LIMITS(LIMIT_OFFSET)};
#undef LIMIT_OFFSET

/* A number without a row would have no default, no range and no test. */
_Static_assert(sizeof(limits) / sizeof(limits[0]) * sizeof(size_t) ==
                   offsetof(uvhttp_config_t, allocator),
               "every number of uvhttp_config_t is in the limits table");

static size_t *value_of(uvhttp_config_t *config, size_t index)
{
    return (size_t *)(void *)((char *)config + offsets[index]);
}

uvhttp_config_t *uvhttp_config_new(void)
{
    uvhttp_config_t *config = uvh_alloc_zero(uvh_alloc_default(), sizeof(*config));
    if (config == NULL)
        return NULL;
    for (size_t i = 0; i < UVH_COUNT_OF(limits); i++)
        *value_of(config, i) = (size_t)limits[i].preset;
    config->log = uvh_log_problems;
    config->log_level = UVHTTP_LOG_INFO;
    return config;
}

void uvhttp_config_free(uvhttp_config_t *config)
{
    uvh_free(uvh_alloc_default(), config);
}

const uvhttp_limit_t *uvhttp_config_limit(size_t index)
{
    return index < UVH_COUNT_OF(limits) ? &limits[index] : NULL;
}

size_t *uvh_config_field(uvhttp_config_t *config, const char *name, const uvhttp_limit_t **row)
{
    for (size_t i = 0; config != NULL && name != NULL && i < UVH_COUNT_OF(limits); i++) {
        if (strcmp(limits[i].name, name) == 0) {
            *row = &limits[i];
            return value_of(config, i);
        }
    }
    return NULL;
}

static int check(const uvhttp_config_t *config, uvhttp_error_t *error)
{
    if (config == NULL)
        return UVHTTP_EINVAL;
    for (size_t i = 0; i < UVH_COUNT_OF(limits); i++) {
        const uvhttp_limit_t *row = &limits[i];
        size_t value = *value_of((uvhttp_config_t *)(uintptr_t)config, i);
        if (value >= row->min && value <= row->max)
            continue;
        return uvh_error_size(error, row->name, value, "allowed are %llu to %llu %s",
                              (unsigned long long)row->min, (unsigned long long)row->max,
                              row->unit);
    }
    if ((unsigned)config->log_level > UVHTTP_LOG_DEBUG)
        return uvh_error_int(error, "log_level", (int)config->log_level, "allowed are %d to %d",
                             UVHTTP_LOG_ERROR, UVHTTP_LOG_DEBUG);
    /* A head and a trailer section are each parsed in one contiguous buffer, which may hold another
     * connection's bytes too. */
    if (config->max_header_size > config->buffer_size / 2 ||
        config->max_trailer_size > config->buffer_size / 2)
        return uvh_error_size(error, "buffer_size", config->buffer_size,
                              "it must be at least twice max_header_size (%zu) and "
                              "max_trailer_size (%zu)",
                              config->max_header_size, config->max_trailer_size);
    return 0;
}

int uvhttp_config_check(const uvhttp_config_t *config, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, check(config, error));
}
