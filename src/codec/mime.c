/* Media types by extension, see mime.h. The types are those registered with IANA where there is one;
 * source code goes out as plain text, so that a browser shows it. */
#include "codec/mime.h"

#include <string.h>

#include "codec/chars.h"
#include "codec/field.h"

enum { EXTENSION_SIZE = 12 };

struct row {
    char extension[EXTENSION_SIZE]; /* lower case */
    const char *type;
};

/* In the order of strcmp, which the unit test checks by finding each. */
static const struct row rows[] = {
    {"aac",         "audio/aac"                                                                },
    {"apk",         "application/vnd.android.package-archive"                                  },
    {"apng",        "image/apng"                                                               },
    {"atom",        "application/atom+xml"                                                     },
    {"avi",         "video/x-msvideo"                                                          },
    {"avif",        "image/avif"                                                               },
    {"bin",         "application/octet-stream"                                                 },
    {"bmp",         "image/bmp"                                                                },
    {"br",          "application/x-brotli"                                                     },
    {"bz2",         "application/x-bzip2"                                                      },
    {"c",           "text/plain; charset=utf-8"                                                },
    {"cc",          "text/plain; charset=utf-8"                                                },
    {"cjs",         "text/javascript; charset=utf-8"                                           },
    {"conf",        "text/plain; charset=utf-8"                                                },
    {"cpp",         "text/plain; charset=utf-8"                                                },
    {"crt",         "application/x-x509-ca-cert"                                               },
    {"css",         "text/css; charset=utf-8"                                                  },
    {"csv",         "text/csv; charset=utf-8"                                                  },
    {"cur",         "image/x-icon"                                                             },
    {"deb",         "application/vnd.debian.binary-package"                                    },
    {"dmg",         "application/x-apple-diskimage"                                            },
    {"doc",         "application/msword"                                                       },
    {"docx",        "application/vnd.openxmlformats-officedocument.wordprocessingml.document"  },
    {"dtd",         "application/xml-dtd"                                                      },
    {"eot",         "application/vnd.ms-fontobject"                                            },
    {"epub",        "application/epub+zip"                                                     },
    {"exe",         "application/vnd.microsoft.portable-executable"                            },
    {"flac",        "audio/flac"                                                               },
    {"geojson",     "application/geo+json"                                                     },
    {"gif",         "image/gif"                                                                },
    {"glb",         "model/gltf-binary"                                                        },
    {"gltf",        "model/gltf+json"                                                          },
    {"go",          "text/plain; charset=utf-8"                                                },
    {"gpx",         "application/gpx+xml"                                                      },
    {"gz",          "application/gzip"                                                         },
    {"h",           "text/plain; charset=utf-8"                                                },
    {"heic",        "image/heic"                                                               },
    {"heif",        "image/heif"                                                               },
    {"hpp",         "text/plain; charset=utf-8"                                                },
    {"htm",         "text/html; charset=utf-8"                                                 },
    {"html",        "text/html; charset=utf-8"                                                 },
    {"ico",         "image/x-icon"                                                             },
    {"ics",         "text/calendar; charset=utf-8"                                             },
    {"ini",         "text/plain; charset=utf-8"                                                },
    {"iso",         "application/octet-stream"                                                 },
    {"jar",         "application/java-archive"                                                 },
    {"java",        "text/plain; charset=utf-8"                                                },
    {"jfif",        "image/jpeg"                                                               },
    {"jpeg",        "image/jpeg"                                                               },
    {"jpg",         "image/jpeg"                                                               },
    {"js",          "text/javascript; charset=utf-8"                                           },
    {"json",        "application/json"                                                         },
    {"json5",       "application/json5"                                                        },
    {"jsonld",      "application/ld+json"                                                      },
    {"jxl",         "image/jxl"                                                                },
    {"kml",         "application/vnd.google-earth.kml+xml"                                     },
    {"log",         "text/plain; charset=utf-8"                                                },
    {"lua",         "text/plain; charset=utf-8"                                                },
    {"m3u8",        "application/vnd.apple.mpegurl"                                            },
    {"m4a",         "audio/mp4"                                                                },
    {"m4v",         "video/mp4"                                                                },
    {"map",         "application/json"                                                         },
    {"markdown",    "text/markdown; charset=utf-8"                                             },
    {"md",          "text/markdown; charset=utf-8"                                             },
    {"mid",         "audio/midi"                                                               },
    {"midi",        "audio/midi"                                                               },
    {"mjs",         "text/javascript; charset=utf-8"                                           },
    {"mkv",         "video/matroska"                                                           },
    {"mov",         "video/quicktime"                                                          },
    {"mp3",         "audio/mpeg"                                                               },
    {"mp4",         "video/mp4"                                                                },
    {"mpd",         "application/dash+xml"                                                     },
    {"mpeg",        "video/mpeg"                                                               },
    {"mpg",         "video/mpeg"                                                               },
    {"odp",         "application/vnd.oasis.opendocument.presentation"                          },
    {"ods",         "application/vnd.oasis.opendocument.spreadsheet"                           },
    {"odt",         "application/vnd.oasis.opendocument.text"                                  },
    {"oga",         "audio/ogg"                                                                },
    {"ogg",         "audio/ogg"                                                                },
    {"ogv",         "video/ogg"                                                                },
    {"opus",        "audio/ogg"                                                                },
    {"otf",         "font/otf"                                                                 },
    {"pdf",         "application/pdf"                                                          },
    {"pem",         "application/x-pem-file"                                                   },
    {"php",         "text/plain; charset=utf-8"                                                },
    {"pl",          "text/plain; charset=utf-8"                                                },
    {"png",         "image/png"                                                                },
    {"ppt",         "application/vnd.ms-powerpoint"                                            },
    {"pptx",        "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"ps",          "application/postscript"                                                   },
    {"py",          "text/plain; charset=utf-8"                                                },
    {"rar",         "application/vnd.rar"                                                      },
    {"rb",          "text/plain; charset=utf-8"                                                },
    {"rpm",         "application/x-rpm"                                                        },
    {"rs",          "text/plain; charset=utf-8"                                                },
    {"rss",         "application/rss+xml"                                                      },
    {"rst",         "text/plain; charset=utf-8"                                                },
    {"rtf",         "application/rtf"                                                          },
    {"sh",          "text/plain; charset=utf-8"                                                },
    {"shtml",       "text/html; charset=utf-8"                                                 },
    {"so",          "application/octet-stream"                                                 },
    {"sql",         "application/sql"                                                          },
    {"svg",         "image/svg+xml"                                                            },
    {"svgz",        "image/svg+xml"                                                            },
    {"tar",         "application/x-tar"                                                        },
    {"tex",         "text/plain; charset=utf-8"                                                },
    {"text",        "text/plain; charset=utf-8"                                                },
    {"tgz",         "application/gzip"                                                         },
    {"tif",         "image/tiff"                                                               },
    {"tiff",        "image/tiff"                                                               },
    {"toml",        "application/toml"                                                         },
    {"ts",          "video/mp2t"                                                               },
    {"tsv",         "text/tab-separated-values; charset=utf-8"                                 },
    {"ttc",         "font/collection"                                                          },
    {"ttf",         "font/ttf"                                                                 },
    {"txt",         "text/plain; charset=utf-8"                                                },
    {"vcf",         "text/vcard; charset=utf-8"                                                },
    {"vtt",         "text/vtt; charset=utf-8"                                                  },
    {"wasm",        "application/wasm"                                                         },
    {"wav",         "audio/wav"                                                                },
    {"weba",        "audio/webm"                                                               },
    {"webm",        "video/webm"                                                               },
    {"webmanifest", "application/manifest+json"                                                },
    {"webp",        "image/webp"                                                               },
    {"woff",        "font/woff"                                                                },
    {"woff2",       "font/woff2"                                                               },
    {"xht",         "application/xhtml+xml"                                                    },
    {"xhtml",       "application/xhtml+xml"                                                    },
    {"xls",         "application/vnd.ms-excel"                                                 },
    {"xlsx",        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"        },
    {"xml",         "text/xml; charset=utf-8"                                                  },
    {"xsl",         "text/xml; charset=utf-8"                                                  },
    {"xz",          "application/x-xz"                                                         },
    {"yaml",        "application/yaml"                                                         },
    {"yml",         "application/yaml"                                                         },
    {"zip",         "application/zip"                                                          },
    {"zst",         "application/zstd"                                                         },
};

/* The extension in lower case, NUL-terminated; false when there is none or none that could be known. */
static bool extension_of(uvhttp_slice_t name, char extension[EXTENSION_SIZE])
{
    size_t dot = name.length;
    while (dot > 0 && name.base[dot - 1] != '.') {
        if (name.length - dot >= EXTENSION_SIZE)
            return false;
        dot--;
    }
    size_t length = name.length - dot;
    if (dot == 0 || length == 0 || length >= EXTENSION_SIZE)
        return false;
    for (size_t i = 0; i < length; i++)
        extension[i] = uvh_chars_lower(name.base[dot + i]);
    extension[length] = '\0';
    return true;
}

const char *uvh_mime_type(uvhttp_slice_t file_name)
{
    char extension[EXTENSION_SIZE];
    size_t low = 0;
    size_t high = extension_of(file_name, extension) ? sizeof rows / sizeof rows[0] : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(extension, rows[middle].extension);
        if (order == 0)
            return rows[middle].type;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return "application/octet-stream";
}

/* Besides all of "text" and what the suffix tells (RFC 6839): formats of text without one, and binary ones that are not packed. Fonts as
 * ".woff" and ".woff2" are. */
static const char *const compressible[] = {
    "application/ecmascript",
    "application/graphql",
    "application/graphql-response",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/jsonl",
    "application/mbox",
    "application/n-quads",
    "application/n-triples",
    "application/pgp-keys",
    "application/postscript",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/trig",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-httpd-php",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-ns-proxy-autoconfig",
    "application/x-pem-file",
    "application/x-sh",
    "application/x-subrip",
    "application/x-tar",
    "application/x-tex",
    "application/x-www-form-urlencoded",
    "application/x-x509-ca-cert",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
    "font/collection",
    "font/otf",
    "font/sfnt",
    "font/ttf",
    "image/bmp",
    "image/vnd.adobe.photoshop",
    "image/vnd.microsoft.icon",
    "image/x-icon",
    "image/x-ms-bmp",
    "message/rfc822",
    "model/gltf-binary",
    "model/mtl",
    "model/obj",
    "model/stl",
};

static const char *const compressible_suffixes[] = {"+json", "+json-seq", "+text", "+xml", "+yaml"};

static bool ends_with(uvhttp_slice_t text, const char *end)
{
    size_t length = strlen(end);
    return text.length > length &&
           uvh_field_name_equal((uvhttp_slice_t){text.base + text.length - length, length},
                                (uvhttp_slice_t){end, length});
}

bool uvh_mime_is_compressible(const char *type)
{
    uvhttp_slice_t essence = {type, strcspn(type, "; \t")};
    if (essence.length > 5 && uvh_field_name_equal((uvhttp_slice_t){type, 5}, (uvhttp_slice_t){"text/", 5}))
        return true;
    for (size_t i = 0; i < sizeof compressible_suffixes / sizeof compressible_suffixes[0]; i++)
        if (ends_with(essence, compressible_suffixes[i]))
            return true;
    for (size_t i = 0; i < sizeof compressible / sizeof compressible[0]; i++)
        if (uvh_field_name_equal(essence, (uvhttp_slice_t){compressible[i], strlen(compressible[i])}))
            return true;
    return false;
}
