/* Prints the certificates in a file. Called by the command cert. */
#ifndef UVH_APP_CERT_REPORT_H
#define UVH_APP_CERT_REPORT_H

struct uvh_cert_command {
    const char *file;
    const char *key_file;        /* or NULL */
    const char *passphrase_file; /* or NULL */
};

/* Returns UVH_EXIT_OK, or UVH_EXIT_FAILED if a certificate is not valid now, the chain is not in
 * order or longer than it reads, the key does not match it, or a file is not readable. */
int uvh_cert_report(const struct uvh_cert_command *command);

#endif
