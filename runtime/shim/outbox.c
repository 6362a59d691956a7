/* Messages on their way to the host. They are framed in memory that no program can name, and the worker
   reads them when the guest is idle: no host function is ever on the stack while a call is in flight, so
   that a capture may be taken then. */
#include "shim.h"

static cm_buf outbox; /* owned; JSON objects separated by commas */
static uint32_t message_count;

static void publish(void)
{
    cm_shared.out_ptr = (cm_address)outbox.data;
    cm_shared.out_len = (uint32_t)outbox.len;
}

void cm_outbox_clear(void)
{
    cm_buf_free(&outbox);
    message_count = 0;
    publish();
}

/* The host sees a message only when it is complete. More than may cross at once ends the guest before it
   fills the heap with them; what is in the outbox already stays readable. */
void cm_outbox_post(cm_buf *message)
{
    if (++message_count > CM_MAX_MESSAGES || outbox.len + message->len + 3 > CM_MAX_MESSAGE_BYTES)
        cm_stop(CM_STOP_MESSAGES);
    if (outbox.len)
        cm_buf_putc(&outbox, ',');
    cm_buf_put(&outbox, message->data, message->len);
    publish();
    cm_buf_free(message);
}

/* An empty text has no bytes, but the holder of the result pays for it as for any other: there are no
   more items than the limit has bytes, and never more than a host should have to keep. */
static bool has_room_for_item(void)
{
    uint32_t most = cm_shared.output_limit < CM_MAX_OUTPUT_ITEMS ? cm_shared.output_limit : CM_MAX_OUTPUT_ITEMS;
    return cm_shared.output_items < most;
}

void cm_outbox_output(const char *type, const char *json, size_t len, size_t weight, const char *level)
{
    if (weight > cm_shared.output_limit - cm_shared.output_used || !has_room_for_item())
        cm_stop(CM_STOP_OUTPUT); /* what is in the outbox already stays readable */
    cm_shared.output_used += (uint32_t)weight;
    cm_shared.output_items++;
    cm_buf m = {0};
    cm_object o = cm_object_open(&m);
    cm_object_word(&o, "type", type);
    cm_object_json(&o, type[0] == 't' ? "text" : "value", json, len);
    if (level)
        cm_object_word(&o, "level", level);
    cm_object_close(&o);
    cm_outbox_post(&m);
}
