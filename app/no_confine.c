/* Replaces confine.c in a build without libseccomp. */
#include "confine.h"

#define NO_CONFINE "confine is not supported: this build has no libseccomp (BUILD_WITH_SECCOMP)"

bool uvh_confine_files(struct uvh_confine *confine, const struct uvh_setup *setup,
                       const struct uvh_options *options, bool only_check, uvh_advice_cb warn,
                       void *arg, struct uvh_problems *problems)
{
    (void)options, (void)only_check;
    *confine = (struct uvh_confine){.active = false};
    if (setup->confine.mode == UVH_CONFINE_ON)
        uvh_problems_add(problems, setup->confine.mark, NO_CONFINE);
    else if (setup->confine.mode == UVH_CONFINE_BEST_EFFORT)
        warn(NO_CONFINE, arg);
    return setup->confine.mode != UVH_CONFINE_ON;
}

bool uvh_confine_calls(struct uvh_confine *confine, const struct uvh_setup *setup,
                       uvh_advice_cb warn, void *arg)
{
    (void)confine, (void)setup, (void)warn, (void)arg;
    return true;
}

bool uvh_confine_allows(const struct uvh_confine *confine, const struct uvh_setup *next,
                        const struct uvh_options *options, struct uvh_problems *problems)
{
    (void)confine, (void)next, (void)options, (void)problems;
    return true;
}

void uvh_confine_release(struct uvh_confine *confine)
{
    (void)confine;
}
