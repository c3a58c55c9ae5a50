/* See compressible.h. The default is an ordinary list, too. */
#include "codec/fields/compressible.h"

#include <uvhttp/text.h>

/* Besides text and structured syntax suffixes (RFC 6839): text formats without a suffix, and binary
 * formats that are not compressed. Fonts in ".woff" and ".woff2" are compressed. */
static const char usual[] =
    "text/* +json +json-seq +xml +text +yaml application/ecmascript application/graphql "
    "application/graphql-response application/javascript application/json application/json-seq "
    "application/json5 application/jsonl application/mbox application/n-quads "
    "application/n-triples "
    "application/ndjson application/pgp-keys application/postscript application/rtf "
    "application/sql "
    "application/toml application/trig application/vnd.apple.mpegurl application/vnd.ms-fontobject "
    "application/wasm application/x-font-ttf application/x-httpd-php application/x-javascript "
    "application/x-ndjson application/x-ns-proxy-autoconfig application/x-pem-file "
    "application/x-sh "
    "application/x-subrip application/x-tar application/x-tex application/x-www-form-urlencoded "
    "application/x-x509-ca-cert application/xml application/xml-dtd application/yaml audio/wav "
    "audio/x-wav font/collection font/otf font/sfnt font/ttf image/bmp image/vnd.adobe.photoshop "
    "image/vnd.microsoft.icon image/x-icon image/x-ms-bmp image/x-portable-pixmap message/rfc822 "
    "model/gltf-binary model/mtl model/obj model/stl";

bool uvh_compressible_type(uvhttp_slice_t type)
{
    return uvhttp_media_type_is(type, usual);
}
