/* File names with a content hash, as bundlers generate them: "index-BfK3x_9Q.js",
 * "main.3f2a9c01.css", "app.0b1c2d3e4f5a6b7c.js.map". The content under such a name never changes.
 *
 * This is a heuristic that prefers false negatives: a missed hash costs a revalidation, while a
 * name that is wrongly taken for a hash is never revalidated. */
#ifndef UVH_CODEC_FIELDS_HASHED_NAME_H
#define UVH_CODEC_FIELDS_HASHED_NAME_H

#include <uvhttp/types.h>

/* True if the file name, which may follow directories, has between a '-', '_' or '.' and an
 * extension a possible hash: 8 to 64 characters with a digit, which are
 *   - hexadecimal digits of one case, one a letter (webpack, Parcel, Next.js), or
 *   - letters of both cases and digits, up to 32, of which exactly 8 may have '-' and '_' among
 *     them (Vite, Rollup), or
 *   - exactly 8 capitals and digits from 2 to 7 (esbuild, Angular);
 * but not a word followed by a number ("Version2", "DSC00012"), nor any with a word of five letters
 * in it ("Draft-v2"), nor digits alone (dates). */
bool uvh_hashed_name(uvhttp_slice_t path);

#endif
