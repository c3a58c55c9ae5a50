/* A YAML document as a tree whose nodes know their lines.
 *
 * The part of YAML that a configuration needs, and that means the same to everybody: one document
 * of maps, lists and scalars. Anchors, aliases and tags are refused, so is a key that stands twice
 * in a map, and every scalar is text: what it means is for the reader of the tree to say ("no" is a
 * country here, if that is what is asked for). */
#ifndef UVH_APP_YAML_READER_H
#define UVH_APP_YAML_READER_H

#include "problems.h"

#define UVH_YAML_SIZE_MAX  ((size_t)1024 * 1024) /* bytes of a document */
#define UVH_YAML_DEPTH_MAX 16                    /* maps and lists in each other */
#define UVH_YAML_KEYS_MAX  500                   /* in one map */

enum uvh_yaml_kind { UVH_YAML_SCALAR, UVH_YAML_LIST, UVH_YAML_MAP };

struct uvh_yaml_node {
    enum uvh_yaml_kind kind;
    struct uvh_mark mark;
    const char *text;            /* of a scalar, NUL-terminated UTF-8 without a NUL inside */
    bool nothing;                /* a scalar of which nothing stands there: "key:" */
    struct uvh_yaml_node *key;   /* of a value of a map: its key, a scalar */
    struct uvh_yaml_node *first; /* of a list or map: its values, in order */
    struct uvh_yaml_node *next;
    size_t count; /* of a list or map: how many values */
};

struct uvh_yaml {
    struct uvh_yaml_node *root;
    void *blocks; /* all memory of the tree */
};

/* Reads a document. False, with at least one problem noted, when it is not as above or memory ran
 * out. Release it either way. */
bool uvh_yaml_read(struct uvh_yaml *yaml, const char *bytes, size_t size,
                   struct uvh_problems *problems);
void uvh_yaml_release(struct uvh_yaml *yaml);

/* The place of the value that a key of a map has; `otherwise` when there is none. */
struct uvh_mark uvh_yaml_mark_of(const struct uvh_yaml_node *map, const char *key,
                                 struct uvh_mark otherwise);

/* Zeroed memory that lives as long as the tree; NULL when memory ran out. */
void *uvh_yaml_allocate(struct uvh_yaml *yaml, size_t size);

#endif
