/* Numbers as people read them. */
#ifndef UVH_OBSERVE_STATUS_TEXT_H
#define UVH_OBSERVE_STATUS_TEXT_H

#include "base/bytes.h"

/* "1,234,567" */
void uvh_status_text_count(struct uvh_bytes *page, uint64_t value);

/* Of thousandths: "0.4", "12", "1,234". */
void uvh_status_text_rate(struct uvh_bytes *page, uint64_t thousandths);

/* "999 B", "1.2 MB"; powers of 1000 */
void uvh_status_text_size(struct uvh_bytes *page, uint64_t bytes);

/* "85 µs", "1.2 ms", "3.4 s" */
void uvh_status_text_duration(struct uvh_bytes *page, uint64_t microseconds);

/* Of thousandths: "12.3 %". */
void uvh_status_text_share(struct uvh_bytes *page, uint64_t thousandths);

/* "45 s", "12 min", "3 h 12 min", "40 d 3 h" */
void uvh_status_text_time(struct uvh_bytes *page, uint64_t seconds);

/* With character references. */
void uvh_status_text_html(struct uvh_bytes *page, const char *text);

#endif
