/* See proxies.h. The addresses were checked when they were read. Called by setup_server.c. */
#include "proxies.h"

#include <stdlib.h>

#include <uvhttp/embedding.h>

bool uvh_proxies_trust(uvhttp_server_t *server, const struct uvh_setup *setup,
                       struct uvh_problems *problems)
{
    const struct uvh_text_list *list = &setup->proxies;
    if (list->count == 0 && (setup->proxy_fields_mark.line != 0 || setup->proxy_fields != 0)) {
        bool in_file = setup->proxy_fields_mark.line != 0;
        uvh_problems_add(problems, setup->proxy_fields_mark, "%s requires %s",
                         in_file ? "'proxy_fields'" : "--proxy-fields",
                         in_file ? "'trusted_proxies'" : "--trusted-proxy");
        return false;
    }
    if (list->count == 0)
        return true;
    const char **texts = calloc(list->count, sizeof(*texts));
    for (size_t i = 0; i < list->count && texts != NULL; i++)
        texts[i] = list->items[i].text;
    int err = texts == NULL ? UVHTTP_ENOMEM
                            : uvhttp_server_trust_proxies(server, texts, list->count,
                                                          (uvhttp_forwarding_t)setup->proxy_fields);
    free(texts);
    if (err != 0)
        uvh_problems_add(problems, list->items[0].mark, "%s", uvhttp_strerror(err));
    return err == 0;
}
