/* See proxies.h. The addresses were checked when they were read. */
#include "proxies.h"

#include <stdlib.h>

#include <uvhttp/embedding.h>

typedef int set_proxies(uvhttp_server_t *server, const char *const *texts, size_t count,
                        unsigned word);

static int trust(uvhttp_server_t *server, const char *const *texts, size_t count, unsigned word)
{
    return uvhttp_server_trust_proxies(server, texts, count, (uvhttp_forwarding_t)word);
}

static int accept_protocol(uvhttp_server_t *server, const char *const *texts, size_t count,
                           unsigned word)
{
    return uvhttp_server_accept_proxy_protocol(server, texts, count, (uvhttp_proxy_others_t)word);
}

/* A list, and the word that goes with it. */
struct kind {
    const struct uvh_text_list *list;
    struct uvh_mark mark; /* of the word in the file */
    unsigned word;
    const char *keys[2], *flags[2]; /* of the word and the list */
    set_proxies *set;
};

static bool set(const struct kind *kind, uvhttp_server_t *server, struct uvh_problems *problems)
{
    const struct uvh_text_list *list = kind->list;
    bool in_file = kind->mark.line != 0;
    if (list->count == 0 && (in_file || kind->word != 0)) {
        uvh_problems_add(problems, kind->mark, in_file ? "'%s' requires '%s'" : "%s requires %s",
                         in_file ? kind->keys[0] : kind->flags[0],
                         in_file ? kind->keys[1] : kind->flags[1]);
        return false;
    }
    if (list->count == 0)
        return true;
    const char **texts = calloc(list->count, sizeof(*texts));
    for (size_t i = 0; i < list->count && texts != NULL; i++)
        texts[i] = list->items[i].text;
    int err = texts == NULL ? UVHTTP_ENOMEM : kind->set(server, texts, list->count, kind->word);
    free(texts);
    if (err != 0)
        uvh_problems_add(problems, list->items[0].mark, "%s", uvhttp_strerror(err));
    return err == 0;
}

bool uvh_proxies_apply(uvhttp_server_t *server, const struct uvh_setup *setup,
                       struct uvh_problems *problems)
{
    struct kind trusted = {.list = &setup->proxies,
                           .mark = setup->proxy_fields_mark,
                           .word = setup->proxy_fields,
                           .keys = {"proxy_fields", "trusted_proxies"},
                           .flags = {"--proxy-fields", "--trusted-proxy"},
                           .set = trust};
    struct kind sources = {.list = &setup->proxy_sources,
                           .mark = setup->proxy_others_mark,
                           .word = setup->proxy_others,
                           .keys = {"proxy_protocol_others", "proxy_protocol"},
                           .flags = {"--proxy-protocol-others", "--proxy-protocol"},
                           .set = accept_protocol};
    bool right = set(&trusted, server, problems);
    return set(&sources, server, problems) && right;
}
