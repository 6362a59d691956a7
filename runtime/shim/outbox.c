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

/* The host sees a message only when it is complete. What a program computed after it was told to stop may be
   wrong (build/polls.py), and is not sent. More than may cross at once ends the guest before it
   fills the heap with them; what is in the outbox already stays readable. */
void cm_outbox_post(cm_buf *message)
{
    if (cm_is_interrupted()) {
        cm_buf_free(message);
        return;
    }
    if (++message_count > CM_MAX_MESSAGES || outbox.len + message->len + 3 > CM_MAX_MESSAGE_BYTES)
        cm_stop(CM_STOP_MESSAGES);
    if (outbox.len)
        cm_buf_putc(&outbox, ',');
    cm_buf_put(&outbox, message->data, message->len);
    publish();
    cm_buf_free(message);
}

/* ---- items of output ------------------------------------------------------------------------------

   What counts is the JSON of an item, as the holder of a result pays for it: an empty text is not free. An
   item that does not fit any more is clipped to half of what is left, so that the program can go on and say
   something else; only where that is too little to be of use, the output is over. */

#define LEAST_CLIPPED 256 /* bytes of an item that was clipped */
#define FRAME 160         /* bytes of it that are not the text: members, and the note in the middle */

static size_t room_left(void) { return cm_shared.output_limit - cm_shared.output_used; }

cm_buf cm_outbox_item(void)
{
    size_t room = room_left();
    return (cm_buf){.most = room + 1, .keep_last = room / 4 + 1};
}

static void post_item(cm_buf *item)
{
    cm_shared.output_used += (uint32_t)item->len;
    cm_shared.output_items++;
    cm_outbox_post(item);
}

/* Returns the item of a borrowed text, or of borrowed JSON. It keeps no more than fits, and counts. */
static cm_buf item_of(const char *type, const cm_buf *shown, const char *level, uint32_t clipped)
{
    cm_buf item = {.most = room_left() + 1};
    cm_object o = cm_object_open(&item);
    cm_object_word(&o, "type", type);
    if (type[0] == 't')
        cm_object_text(&o, "text", shown->data, shown->len);
    else
        cm_object_json(&o, "value", shown->data, shown->len);
    if (level)
        cm_object_word(&o, "level", level);
    if (clipped)
        cm_object_uint(&o, "clipped", clipped);
    cm_object_close(&o);
    return item;
}

/* Returns how many of the first bytes take no more than so many bytes of JSON; never half a character. */
static size_t fitting(const char *utf8, size_t len, size_t most)
{
    size_t n = 0, cost = 0;
    while (n < len && (cost += cm_json_cost(utf8, n)) <= most)
        n++;
    return cm_clip(utf8, len, n);
}

/* Returns where the last bytes begin that take no more than so many bytes of JSON. */
static size_t fitting_end(const char *utf8, size_t len, size_t most)
{
    size_t at = len, cost = 0;
    while (at && (cost += cm_json_cost(utf8, at - 1)) <= most)
        at--;
    while (at < len && ((unsigned char)utf8[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* JSON that is cut is no JSON any more: it is shown as text. */
static void post_clipped(const cm_buf *shown, const char *level)
{
    size_t room = room_left() / 2, whole = shown->len + shown->dropped;
    if (room < LEAST_CLIPPED)
        cm_stop(CM_STOP_OUTPUT);
    size_t side = (room - FRAME) / 2, head = fitting(shown->data, shown->len, side);
    cm_buf end = {0}, text = {0};
    cm_buf_put_end(&end, shown, side);
    size_t at = fitting_end(end.data, end.len, side);
    cm_buf_put(&text, shown->data, head);
    cm_buf_puts(&text, " … ");
    cm_buf_put_uint(&text, (uint32_t)(whole - head - (end.len - at)));
    cm_buf_puts(&text, " of ");
    cm_buf_put_uint(&text, (uint32_t)whole);
    cm_buf_puts(&text, " bytes left out … ");
    cm_buf_put(&text, end.data + at, end.len - at);
    cm_buf item = item_of("text", &text, level, (uint32_t)whole);
    cm_buf_free(&end);
    cm_buf_free(&text);
    post_item(&item);
}

static void post_output(const char *type, const cm_buf *shown, const char *level)
{
    if (cm_shared.output_items >= CM_MAX_OUTPUT_ITEMS)
        cm_stop(CM_STOP_OUTPUT); /* what is in the outbox already stays readable */
    cm_buf item = item_of(type, shown, level, 0);
    if (!shown->dropped && !item.dropped && item.len <= room_left()) {
        post_item(&item);
        return;
    }
    cm_buf_free(&item);
    post_clipped(shown, level);
}

/* There is nothing to clip: an item that does not fit ends the output. */
void cm_outbox_content(const char *as, const char *id, size_t len)
{
    cm_buf item = {.most = room_left() + 1};
    cm_object o = cm_object_open(&item);
    cm_object_word(&o, "type", "content");
    cm_object_word(&o, "as", as);
    cm_object_text(&o, "id", id, len);
    cm_object_close(&o);
    if (cm_shared.output_items >= CM_MAX_OUTPUT_ITEMS || item.dropped || item.len > room_left())
        cm_stop(CM_STOP_OUTPUT);
    post_item(&item);
}

void cm_outbox_text(const cm_buf *text, const char *level) { post_output("text", text, level); }
void cm_outbox_json(const cm_buf *json) { post_output("json", json, NULL); }
