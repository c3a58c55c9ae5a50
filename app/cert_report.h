/* What a file of certificates says, in words. Called by the command cert. */
#ifndef UVH_APP_CERT_REPORT_H
#define UVH_APP_CERT_REPORT_H

struct uvh_cert_command {
    const char *file;
    const char *key_file;        /* NULL: none is compared */
    const char *passphrase_file; /* NULL: none */
};

/* Prints it. UVH_EXIT_OK, or UVH_EXIT_FAILED when something is wrong with it. */
int uvh_cert_report(const struct uvh_cert_command *command);

#endif
