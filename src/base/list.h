/* Intrusive doubly linked list (a ring with a head): nodes are embedded in the listed objects, so
 * linking never allocates.
 *
 * Always true: an initialised head and its linked nodes form a ring (node->next->previous == node);
 * an unlinked node points to itself. All operations are O(1). */
#ifndef UVH_BASE_LIST_H
#define UVH_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct uvh_list {
    struct uvh_list *next;
    struct uvh_list *previous;
};

static inline void uvh_list_init(struct uvh_list *node)
{
    node->next = node;
    node->previous = node;
}

static inline bool uvh_list_empty(const struct uvh_list *head)
{
    return head->next == head;
}

/* Unlinks a node; does nothing if it is in no list. */
static inline void uvh_list_remove(struct uvh_list *node)
{
    node->next->previous = node->previous;
    node->previous->next = node->next;
    uvh_list_init(node);
}

/* Links an unlinked node as the last (oldest first order) or first one. */
static inline void uvh_list_append(struct uvh_list *head, struct uvh_list *node)
{
    node->previous = head->previous;
    node->next = head;
    head->previous->next = node;
    head->previous = node;
}

static inline void uvh_list_prepend(struct uvh_list *head, struct uvh_list *node)
{
    uvh_list_append(head->next, node);
}

/* Unlinks the first node and returns it; NULL if the list is empty. */
static inline struct uvh_list *uvh_list_take(struct uvh_list *head)
{
    struct uvh_list *first = head->next;
    if (first == head)
        return NULL;
    uvh_list_remove(first);
    return first;
}

/* Moves all nodes of `from` to the empty list `head`, in order. */
static inline void uvh_list_take_all(struct uvh_list *head, struct uvh_list *from)
{
    if (uvh_list_empty(from))
        return;
    *head = *from;
    head->next->previous = head;
    head->previous->next = head;
    uvh_list_init(from);
}

#endif
