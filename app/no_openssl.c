/* Replaces self_signed.c, cert_report.c and tls_advice.c in a build without OpenSSL. */
#include <stdio.h>

#include "cert_report.h"
#include "options.h"
#include "self_signed.h"
#include "tls_advice.h"

#define NO_TLS "this build does not support TLS: it was built without OpenSSL (BUILD_WITH_HTTPS)"

bool uvh_self_signed_open(struct uvh_self_signed *found,
                          const struct uvh_machine_addresses *addresses, bool make, char *message,
                          size_t size)
{
    (void)addresses, (void)make;
    *found = (struct uvh_self_signed){.fingerprint = ""};
    snprintf(message, size, NO_TLS);
    return false;
}

bool uvh_self_signed_find_directory(char directory[PATH_MAX], bool make)
{
    (void)directory, (void)make;
    return false;
}

void uvh_tls_advise(const uvhttp_tls_options_t *config, bool dates, uvh_advice_cb tell, void *arg)
{
    (void)config, (void)dates, (void)tell, (void)arg;
}

void uvh_tls_read_settings(void)
{
}

int uvh_cert_report(const struct uvh_cert_command *command)
{
    (void)command;
    fputs("uvhttp cert: " NO_TLS "\n", stderr);
    return UVH_EXIT_FAILED;
}
