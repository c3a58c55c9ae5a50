/* uv_async_send is called under the lock. So when uvh_inbox_take with `shut` has taken the lock, no
 * call is in progress and the handle can be closed. */
#include "net/inbox.h"

int uvh_inbox_open(struct uvh_inbox *inbox, uv_loop_t *loop, uv_async_cb woken)
{
    uvh_list_init(&inbox->messages);
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
    uv_mutex_lock(&inbox->lock);
    bool open = !inbox->shut;
    if (open) {
        uvh_list_append(&inbox->messages, &message->link);
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

void uvh_inbox_take(struct uvh_inbox *inbox, struct uvh_list *messages, bool shut)
{
    uvh_list_init(messages);
    uv_mutex_lock(&inbox->lock);
    uvh_list_take_all(messages, &inbox->messages);
    inbox->shut = inbox->shut || shut;
    uv_mutex_unlock(&inbox->lock);
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
