/* See self_signed.h. The file is always complete, also if several programs start at once: it is
 * written under a temporary name and renamed, while the directory is locked. Called by
 * tls_setup.c. */
#include "self_signed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "certificate.h"

#define DAY        86400L
#define VALID_DAYS 397 /* most days that clients with a limit accept */
#define RENEW_DAYS 7
#define HOST_SIZE  254
#define NAMES_SIZE (HOST_SIZE + 64 + UVH_MACHINE_ADDRESSES * (UVH_MACHINE_ADDRESS_SIZE + 4))

static const char own_name[] = "self-signed.pem";

/* The names the certificate must have, besides localhost. */
struct names {
    char host[HOST_SIZE]; /* "": none */
    struct uvh_machine_addresses addresses;
};

struct message {
    char *text;
    size_t size;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
refuse(const struct message *message, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(message->text, message->size, format, values);
    va_end(values);
    return false;
}

/* Labels of letters, digits and hyphens (RFC 1123): valid in certificates, and compared by
 * clients. */
static bool is_host_name(const char *host)
{
    static const char alphanumeric[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (size_t length; *host != '\0'; host += length) {
        length = strcspn(host, ".");
        if (length == 0 || length > 63 || strspn(host, alphanumeric) == 0 ||
            strchr(alphanumeric, host[length - 1]) == NULL)
            return false;
        for (size_t i = 0; i < length; i++) {
            if (host[i] != '-' && strchr(alphanumeric, host[i]) == NULL)
                return false;
        }
        length += host[length] == '.';
    }
    return true;
}

/* The name of this machine; "" if it has none that fits into a certificate. */
static void find_host(char host[HOST_SIZE])
{
    if (gethostname(host, HOST_SIZE) != 0)
        host[0] = '\0';
    host[HOST_SIZE - 1] = '\0';
    if (!is_host_name(host) || strcmp(host, "localhost") == 0)
        host[0] = '\0';
}

/* ---- the directory ---- */

/* "$XDG_STATE_HOME/uvhttp", else "~/.local/state/uvhttp" (XDG Base Directory Specification). */
static bool find_directory(char directory[PATH_MAX], const struct message *message)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length;
    if (state != NULL && *state == '/') /* relative paths are to be ignored */
        length = snprintf(directory, PATH_MAX, "%s/uvhttp", state);
    else if (home != NULL && *home == '/')
        length = snprintf(directory, PATH_MAX, "%s/.local/state/uvhttp", home);
    else
        return refuse(
            message,
            "no directory for a self-signed certificate: neither XDG_STATE_HOME nor HOME is set; "
            "set XDG_STATE_HOME, or give a certificate with --tls-cert");
    return (size_t)length + sizeof(own_name) < PATH_MAX ||
           refuse(message,
                  "the path of the directory for a self-signed certificate is too long; set "
                  "XDG_STATE_HOME to another one, or give a certificate with --tls-cert");
}

static bool refuse_directory(const char *directory, int number, const struct message *message)
{
    return refuse(
        message,
        "a self-signed certificate cannot be stored in '%s': %s; set XDG_STATE_HOME to a writable "
        "directory, or give a certificate with --tls-cert",
        directory, strerror(number));
}

/* Creates a directory and its parents. Returns 0 or an errno. */
static int make_directory(const char *directory)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", directory);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST && access(path, F_OK) != 0)
            return errno;
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

/* Opens the directory, which must belong to this user; `close_it`: removes the permissions of
 * others. -1 with errno set. */
static int open_directory(const char *directory, bool close_it)
{
    struct stat facts;
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return -1;
    int error = fstat(descriptor, &facts) != 0 ? errno : facts.st_uid != geteuid() ? EPERM : 0;
    if (error == 0 && close_it && (facts.st_mode & 077) != 0 && fchmod(descriptor, 0700) != 0)
        error = errno;
    if (error == 0)
        return descriptor;
    close(descriptor);
    errno = error;
    return -1;
}

/* ---- the existing file ---- */

static bool covers(X509 *certificate, const struct names *names)
{
    for (size_t i = 0; i < names->addresses.count; i++) {
        if (X509_check_ip_asc(certificate, names->addresses.items[i], 0) != 1)
            return false;
    }
    return X509_check_host(certificate, "localhost", 0, 0, NULL) == 1 &&
           X509_check_ip_asc(certificate, "127.0.0.1", 0) == 1 &&
           X509_check_ip_asc(certificate, "::1", 0) == 1 &&
           (*names->host == '\0' || X509_check_host(certificate, names->host, 0, 0, NULL) == 1);
}

/* True if a certificate and its key are valid for some more days. */
static bool is_usable(X509 *certificate, EVP_PKEY *key, const struct names *names)
{
    time_t now = time(NULL), later = now + RENEW_DAYS * DAY;
    return certificate != NULL && key != NULL && X509_check_private_key(certificate, key) == 1 &&
           X509_cmp_time(X509_get0_notBefore(certificate), &now) < 0 &&
           X509_cmp_time(X509_get0_notAfter(certificate), &later) > 0 && covers(certificate, names);
}

/* Keeps old addresses: a machine that moves between networks has one certificate for all of them
 * after a while. */
static void keep_addresses(const X509 *certificate, struct uvh_machine_addresses *addresses)
{
    GENERAL_NAMES *found = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(found); i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(found, i);
        char text[INET6_ADDRSTRLEN];
        int length = one->type == GEN_IPADD ? ASN1_STRING_length(one->d.iPAddress) : 0;
        if ((length == 4 || length == 16) &&
            inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(one->d.iPAddress),
                      text, sizeof(text)) != NULL &&
            strcmp(text, "127.0.0.1") != 0 && strcmp(text, "::1") != 0)
            uvh_machine_add(addresses, text);
    }
    GENERAL_NAMES_free(found);
}

static int no_passphrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer, (void)size, (void)writing, (void)arg;
    return -1;
}

/* Uses the existing file if it belongs to this user and is valid; otherwise only takes its
 * addresses. */
static bool use_existing(int directory, struct names *names, char *fingerprint)
{
    struct stat facts;
    int descriptor = openat(directory, own_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    bool ours = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
                facts.st_uid == geteuid() && (facts.st_mode & 077) == 0;
    FILE *file = ours ? fdopen(descriptor, "r") : NULL;
    if (file == NULL) {
        close(descriptor);
        return false;
    }
    X509 *certificate = PEM_read_X509(file, NULL, no_passphrase, NULL);
    rewind(file);
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);
    bool good =
        is_usable(certificate, key, names) && uvh_certificate_fingerprint(certificate, fingerprint);
    if (!good && certificate != NULL)
        keep_addresses(certificate, &names->addresses);
    X509_free(certificate);
    EVP_PKEY_free(key);
    fclose(file);
    return good;
}

/* ---- a new one ---- */

static bool add_extension(X509 *certificate, int name, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, name, value);
    bool added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

/* A random positive number of 127 bits, unique in practice. */
static bool set_serial(X509 *certificate)
{
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40);
    BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool set =
        number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return set;
}

static bool set_name(X509 *certificate, const char *host)
{
    /* Lists of certificates show it, so it should differ between machines. */
    const char *common = *host == '\0' || strlen(host) > 64 ? "localhost" : host;
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC,
                                      (const unsigned char *)"uvhttp self-signed", -1, -1,
                                      0) == 1 &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)common, -1,
                                      -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1;
}

static void write_names(const struct names *names, char text[NAMES_SIZE])
{
    int length = snprintf(text, NAMES_SIZE, "DNS:localhost,IP:127.0.0.1,IP:::1%s%s",
                          *names->host == '\0' ? "" : ",DNS:", names->host);
    for (size_t i = 0; i < names->addresses.count; i++)
        length += snprintf(text + length, NAMES_SIZE - (size_t)length, ",IP:%s",
                           names->addresses.items[i]);
}

static bool fill(X509 *certificate, EVP_PKEY *key, const struct names *wanted)
{
    char names[NAMES_SIZE];
    write_names(wanted, names);
    return X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
           set_name(certificate, wanted->host) &&
           /* An hour ago: the clock of a client may be slow. */
           X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_DAYS * DAY - 3600) != NULL &&
           X509_set_pubkey(certificate, key) == 1 &&
           add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
           add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
           add_extension(certificate, NID_subject_key_identifier, "hash") &&
           add_extension(certificate, NID_subject_alt_name, names) &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

/* Writes both to one file with mode 0600, renamed when complete. Returns 0 or an errno. */
static int write_file(int directory, const char *path, X509 *certificate, EVP_PKEY *key)
{
    char other[PATH_MAX + 16];
    snprintf(other, sizeof(other), "%s.XXXXXX", path);
    int descriptor = mkostemp(other, O_CLOEXEC); /* with mode 0600 */
    if (descriptor < 0)
        return errno;
    FILE *file = fdopen(descriptor, "w");
    if (file == NULL) {
        int error = errno;
        close(descriptor);
        unlink(other);
        return error;
    }
    errno = 0;
    bool written = PEM_write_X509(file, certificate) == 1 &&
                   PEM_write_PKCS8PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1 &&
                   fflush(file) == 0 && fsync(descriptor) == 0;
    int error = written ? 0 : errno != 0 ? errno : EIO;
    if (fclose(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(other, path) != 0)
        error = errno;
    if (error != 0)
        unlink(other);
    else
        fsync(directory);
    return error;
}

static bool make_new(int directory, struct uvh_self_signed *found, const struct names *names,
                     const struct message *message)
{
    char reason[120];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    bool made = key != NULL && certificate != NULL && fill(certificate, key, names) &&
                uvh_certificate_fingerprint(certificate, found->fingerprint);
    if (!made)
        refuse(message, "a self-signed certificate cannot be created: %s",
               uvh_certificate_reason(reason, sizeof(reason)));
    int error = made ? write_file(directory, found->path, certificate, key) : 0;
    if (error != 0)
        made = refuse(message,
                      "the self-signed certificate '%s' cannot be written: %s; set XDG_STATE_HOME "
                      "to a writable directory, or give a certificate with --tls-cert",
                      found->path, strerror(error));
    X509_free(certificate);
    EVP_PKEY_free(key);
    return made;
}

bool uvh_self_signed_open(struct uvh_self_signed *found,
                          const struct uvh_machine_addresses *addresses, bool make, char *text,
                          size_t size)
{
    const struct message message = {text, size};
    char directory[PATH_MAX];
    struct names names = {.addresses = *addresses};
    *found = (struct uvh_self_signed){.fingerprint = ""};
    find_host(names.host);
    if (!find_directory(directory, &message))
        return false;
    snprintf(found->path, sizeof(found->path), "%.*s/%s",
             (int)(sizeof(found->path) - sizeof(own_name) - 1), directory, own_name);
    int error = make ? make_directory(directory) : 0;
    int descriptor = error == 0 ? open_directory(directory, make) : -1;
    if (descriptor < 0) {
        error = error != 0 ? error : errno;
        return (!make && error == ENOENT) || refuse_directory(directory, error, &message);
    }
    /* On a file system without locks each program writes its own file, and the last one remains. */
    flock(descriptor, LOCK_EX);
    bool good = use_existing(descriptor, &names, found->fingerprint);
    if (!good)
        good = !make || make_new(descriptor, found, &names, &message);
    close(descriptor);
    return good;
}
