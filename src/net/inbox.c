/* uv_async_send is called under the lock. So when uvh_inbox_shut has taken the lock, no call is in
 * progress and the handle can be closed. */
#include "net/inbox.h"

int uvh_inbox_open(struct uvh_inbox *inbox, uv_loop_t *loop, uv_async_cb woken)
{
    inbox->first = inbox->last = NULL;
    inbox->shut = false;
    int err = uv_mutex_init(&inbox->lock);
    if (err != 0)
        return err;
    err = uv_async_init(loop, &inbox->wake, woken);
    if (err != 0)
        uv_mutex_destroy(&inbox->lock);
    return err;
}

static bool put(struct uvh_inbox *inbox, struct uvh_message *message, bool wake)
{
    message->next = NULL;
    uv_mutex_lock(&inbox->lock);
    bool open = !inbox->shut;
    if (open) {
        if (inbox->first == NULL)
            inbox->first = message;
        else
            inbox->last->next = message;
        inbox->last = message;
        if (wake)
            uv_async_send(&inbox->wake);
    }
    uv_mutex_unlock(&inbox->lock);
    return open;
}

bool uvh_inbox_put(struct uvh_inbox *inbox, struct uvh_message *message)
{
    return put(inbox, message, true);
}

bool uvh_inbox_put_here(struct uvh_inbox *inbox, struct uvh_message *message)
{
    return put(inbox, message, false);
}

void uvh_inbox_wake(struct uvh_inbox *inbox)
{
    uv_mutex_lock(&inbox->lock);
    if (!inbox->shut)
        uv_async_send(&inbox->wake);
    uv_mutex_unlock(&inbox->lock);
}

static struct uvh_message *take(struct uvh_inbox *inbox, bool shut)
{
    uv_mutex_lock(&inbox->lock);
    struct uvh_message *first = inbox->first;
    inbox->first = inbox->last = NULL;
    inbox->shut = inbox->shut || shut;
    uv_mutex_unlock(&inbox->lock);
    return first;
}

struct uvh_message *uvh_inbox_take(struct uvh_inbox *inbox)
{
    return take(inbox, false);
}

struct uvh_message *uvh_inbox_shut(struct uvh_inbox *inbox)
{
    return take(inbox, true);
}

void uvh_inbox_reopen(struct uvh_inbox *inbox)
{
    uv_mutex_lock(&inbox->lock);
    inbox->shut = false;
    uv_mutex_unlock(&inbox->lock);
}

void uvh_inbox_release(struct uvh_inbox *inbox)
{
    uv_mutex_destroy(&inbox->lock);
}
