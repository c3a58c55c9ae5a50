/* The status as JSON (RFC 8259). */
#ifndef UVH_OBSERVE_STATUS_JSON_H
#define UVH_OBSERVE_STATUS_JSON_H

#include "base/bytes.h"
#include "observe/status_sample.h"

void uvh_status_json_append(struct uvh_bytes *json, const struct uvh_status_view *view);

#endif
