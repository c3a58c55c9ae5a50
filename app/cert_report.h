/* Prints the certificates in a file. Called by the command cert. */
#ifndef UVH_APP_CERT_REPORT_H
#define UVH_APP_CERT_REPORT_H

struct uvh_cert_command {
    const char *file;
    const char *key_file;        /* NULL: none is compared */
    const char *passphrase_file; /* NULL: none */
};

/* Returns UVH_EXIT_OK, or UVH_EXIT_FAILED when a certificate is not valid now, the key does not
 * belong to it, or a file cannot be read. */
int uvh_cert_report(const struct uvh_cert_command *command);

#endif
