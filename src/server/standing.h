/* Answers that are asked for often, kept whole: head and body behind one another in a file in memory, from which sendfile sends them in one call
 * and without a copy. As printers keep type standing for what will be printed again.
 *
 * Since a head says what time it is, an answer stands for the rest of a second, and in the next one it is made anew, in another file: pages that are on their
 * way to a client are never written to, and need no descriptor any more. One store for
 * each worker, used on its thread only; time is an argument. Filled by conn_standing.c; worker.c gives it back. */
#ifndef UVH_SERVER_STANDING_H
#define UVH_SERVER_STANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

enum {
    UVH_STANDING_PLACES = 4096,   /* answers that are counted at once; a power of two */
    UVH_STANDING_MOST = 64 << 10, /* bytes of one answer: what is larger gains nothing any more */
};

struct uvh_standing_answer {
    uint64_t id;
    uint64_t edition; /* that it was counted in */
    uint64_t offset;  /* in the file */
    uint32_t size;    /* 0: it is not kept */
    uint32_t asked;   /* times in this edition; once it is kept, times since then */
    bool again;       /* it was worth it in the edition before */
};

/* Always true: an answer of this edition with a size lies in the file. */
struct uvh_standing {
    const uvhttp_allocator_t *allocator;
    size_t most;                        /* bytes of the file; 0: nothing is kept */
    uint64_t until;                     /* when this second is over, by the loop's clock */
    uint64_t edition;                   /* one for each file, and for each second without one */
    struct uvh_standing_answer *places; /* an answer's is found by its id; NULL until one is asked for */
    int descriptor;                     /* of the file; negative: there is none */
    uint64_t size;                      /* of the file */
};

void uvh_standing_init(struct uvh_standing *standing, const uvhttp_allocator_t *allocator, size_t most);

/* Gives all memory back; asking begins anew. */
void uvh_standing_release(struct uvh_standing *standing);

/* Gives the file back when its second is over. */
void uvh_standing_expire(struct uvh_standing *standing, uint64_t now);

/* Counts one more request for the answer `id` (never 0) in the second that ends at `until`, and gives its place, good until the next call; NULL: it
 * cannot be kept. */
struct uvh_standing_answer *uvh_standing_ask(struct uvh_standing *standing, uint64_t id, uint64_t until);

/* How many times sending an answer of `size` bytes saves what keeping it costs, which is a call, and two copies if it comes from a disk. */
static inline uint32_t uvh_standing_often(uint64_t size)
{
    return (uint32_t)(8 + size / 2048);
}

/* It is not kept and has just become worth it. */
static inline bool uvh_standing_wants(const struct uvh_standing_answer *answer, uint64_t size)
{
    return answer->size == 0 && answer->asked == (answer->again ? 1 : uvh_standing_often(size));
}

/* Keeps an answer for the rest of its second, if there is room for it: asking again tells. Both slices are copied. */
void uvh_standing_keep(struct uvh_standing *standing, struct uvh_standing_answer *answer, uvhttp_slice_t head,
                       uvhttp_slice_t body);

#endif
