/* The status as an HTML page. */
#ifndef UVH_OBSERVE_STATUS_PAGE_H
#define UVH_OBSERVE_STATUS_PAGE_H

#include "base/bytes.h"
#include "observe/status_sample.h"

/* The element <main>, which an event replaces. */
void uvh_status_page_append_main(struct uvh_bytes *page, const struct uvh_status_view *view);

/* The page; its policy has the nonce. */
void uvh_status_page_append(struct uvh_bytes *page, const struct uvh_status_view *view,
                            const char *nonce);

/* status_style.c: the style sheet and the script. */
extern const char uvh_status_style[], uvh_status_script[];

#endif
