/* See cert_command.h. Reads the options; cert_report.c does the work. */
#include "cert_command.h"

#include <getopt.h>
#include <stdbool.h>

#include "cert_report.h"
#include "options.h"
#include "usage.h"

/* UVH_EXIT_OK, or an exit code after a message. */
static int read_options(struct uvh_cert_command *command, int count, char **arguments, bool *help)
{
    static const struct option options[] = {
        {"key", required_argument, NULL, 'k'},
        {"passphrase-file", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(count, arguments, "k:h", options, NULL)) != -1) {
        switch (option) {
        case 'k':
            command->key_file = optarg;
            break;
        case 'p':
            command->passphrase_file = optarg;
            break;
        case 'h':
            *help = true;
            return UVH_EXIT_OK;
        default:
            return uvh_usage_refuse(arguments, options);
        }
    }
    const char *wrong = NULL;
    if (count - optind != 1)
        wrong = count == optind ? "missing FILE" : "only one FILE is allowed";
    else if (command->passphrase_file != NULL && command->key_file == NULL)
        wrong = "--passphrase-file requires --key";
    if (wrong != NULL) {
        fprintf(stderr, "uvhttp cert: %s\nTry 'uvhttp cert --help'.\n", wrong);
        return UVH_EXIT_USAGE;
    }
    command->file = arguments[optind];
    return UVH_EXIT_OK;
}

int uvh_cert_run(int argc, char **argv)
{
    struct uvh_cert_command command = {.file = NULL};
    bool help = false;
    int code = read_options(&command, argc, argv, &help);
    if (help)
        uvh_cert_help(stdout);
    else if (code == UVH_EXIT_OK)
        code = uvh_cert_report(&command);
    return code;
}

void uvh_cert_help(FILE *out)
{
    fputs("Usage: uvhttp cert [OPTION]... FILE\n"
          "\n"
          "Prints the certificates in FILE (PEM): names, validity period, key, fingerprint,\n"
          "and whether each is issued by the next one, as clients require.\n"
          "\n"
          "  -k, --key FILE              check whether this private key belongs to the\n"
          "                              first certificate\n"
          "      --passphrase-file FILE  file whose first line is the key's pass phrase\n"
          "  -h, --help                  print this help\n"
          "\n"
          "Exit status: 0; 1 if a certificate has expired or is not valid yet, the chain\n"
          "is not in order or has more than 100 certificates, the key does not belong to\n"
          "the first certificate, or a file cannot be read; 2 wrong usage.\n",
          out);
}
