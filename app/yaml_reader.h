/* A YAML document as a tree whose nodes have positions.
 *
 * A subset of YAML for configurations: one document of maps, lists and scalars. Anchors, aliases,
 * tags and duplicate keys are rejected. Every scalar is text: the reader of the tree decides about
 * its type ("no" is a country where a country is expected). */
#ifndef UVH_APP_YAML_READER_H
#define UVH_APP_YAML_READER_H

#include "problems.h"

#define UVH_YAML_SIZE_MAX  ((size_t)1024 * 1024) /* most bytes of a document */
#define UVH_YAML_DEPTH_MAX 16                    /* most nested maps and lists */
#define UVH_YAML_KEYS_MAX  500                   /* most keys in one map */

enum uvh_yaml_kind { UVH_YAML_SCALAR, UVH_YAML_LIST, UVH_YAML_MAP };

struct uvh_yaml_node {
    enum uvh_yaml_kind kind;
    struct uvh_mark mark;
    const char *text;            /* of a scalar, NUL-terminated UTF-8 without a NUL inside */
    bool nothing;                /* a scalar without a value: "key:" */
    struct uvh_yaml_node *key;   /* of a value in a map: its key, a scalar */
    struct uvh_yaml_node *first; /* of a list or map: its values, in order */
    struct uvh_yaml_node *next;
    size_t count; /* of a list or map: the number of values */
};

struct uvh_yaml {
    struct uvh_yaml_node *root;
    const struct uvh_source *source;  /* of the marks; may be NULL */
    const struct uvh_source *sources; /* files that were read, the last one first */
    void *blocks;                     /* all memory of the tree, and of what else is allocated */
};

/* Reads a document into a tree that is empty, or has been read: memory of the previous one remains.
 * False, with at least one problem noted, if it is invalid or out of memory. Release it in either
 * case. */
bool uvh_yaml_read(struct uvh_yaml *yaml, const char *bytes, size_t size,
                   struct uvh_problems *problems);
void uvh_yaml_release(struct uvh_yaml *yaml);

/* The position of the value of a map's key; `otherwise` if there is none, or for another node. */
struct uvh_mark uvh_yaml_mark_of(const struct uvh_yaml_node *map, const char *key,
                                 struct uvh_mark otherwise);

/* Zeroed memory that lives as long as the tree; NULL if out of memory. */
void *uvh_yaml_allocate(struct uvh_yaml *yaml, size_t size);

#endif
