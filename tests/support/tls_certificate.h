/* A certificate for localhost with its key, for tests only: ECDSA P-256, made with openssl-req(1),
 * valid for a hundred years. */
#ifndef UVH_TESTS_TLS_CERTIFICATE_H
#define UVH_TESTS_TLS_CERTIFICATE_H

#define TLS_CERTIFICATE                                                  \
    "-----BEGIN CERTIFICATE-----\n"                                      \
    "MIIBljCCATugAwIBAgIUZgqi/xzG9GEq1NR/tScSV4j7wZowCgYIKoZIzj0EAwIw\n" \
    "FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTE2MzI1OFoYDzIxMjYxMTAx\n" \
    "MTYzMjU4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO\n" \
    "PQMBBwNCAAQB9AdVv1thygAmD5oCGLXqVRxXbcprkL5Vuv3yArjw7TrDyQ1VtMrm\n" \
    "P+9K0tdf5RKdVfcJiLeT1ql7DpWUBRS6o2kwZzAdBgNVHQ4EFgQUbrN9rgOqzADw\n" \
    "KeHH/z1IqhKosCkwHwYDVR0jBBgwFoAUbrN9rgOqzADwKeHH/z1IqhKosCkwDwYD\n" \
    "VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID\n" \
    "SQAwRgIhANj6THZMncglF6JczGz0gMH9ik5BYg76b35HvGqeY7/KAiEAgfAR6cFM\n" \
    "4KoGkcOn56eEgdI/8dxlZo/Fl737axYoEpE=\n"                             \
    "-----END CERTIFICATE-----\n"

#define TLS_KEY                                                          \
    "-----BEGIN PRIVATE KEY-----\n"                                      \
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgluqLWmCpfZ2DwXfX\n" \
    "nKg7cQ+67Q3UwYLsXnE1hFzSTuKhRANCAAQB9AdVv1thygAmD5oCGLXqVRxXbcpr\n" \
    "kL5Vuv3yArjw7TrDyQ1VtMrmP+9K0tdf5RKdVfcJiLeT1ql7DpWUBRS6\n"         \
    "-----END PRIVATE KEY-----\n"

#endif
