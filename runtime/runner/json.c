/* Looks at JSON text that a guest wrote, in one pass and without decoding it: how many parts it has, and where one
   message ends and the next begins. Takes any bytes; a signal handler may call it. */
#include <string.h>
#include "runner.h"

static const char value_message[] = "{\"type\":\"json\""; /* what json() sends: the host decodes it */

/* behind the string that begins at the quote at; len if it does not end */
static size_t behind_string(const char *s, size_t len, size_t at)
{
    for (at++; at < len; at++) {
        if (s[at] == '\\')
            at++;
        else if (s[at] == '"')
            return at + 1;
    }
    return len;
}

uint64_t cr_json_parts(cr_span json)
{
    const char *s = json.data;
    uint64_t parts = 1;
    for (size_t at = 0; at < json.len;) {
        char c = s[at];
        if (c == '"') {
            at = behind_string(s, json.len, at);
            continue;
        }
        at++;
        if (c == '[' || c == '{') {
            if (at < json.len && s[at] == (c == '[' ? ']' : '}'))
                continue; /* an empty one holds nothing */
            parts++;
        } else if (c == ',' || c == ':')
            parts++;
    }
    return parts;
}

cr_batch cr_batch_of(cr_span messages) { return (cr_batch){messages, 0}; }

/* behind the object at the start; 0 if there is no whole one */
static size_t behind_message(cr_span rest)
{
    size_t depth = 0;
    if (!rest.len || rest.data[0] != '{')
        return 0;
    for (size_t at = 0; at < rest.len;) {
        char c = rest.data[at];
        if (c == '"') {
            at = behind_string(rest.data, rest.len, at);
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']') {
            if (--depth == 0)
                return at;
        }
    }
    return 0;
}

/* takes one message and the comma behind it */
static enum cr_batch_step take(cr_batch *batch, cr_span *out)
{
    size_t end = behind_message(batch->rest);
    if (!end)
        return CR_BATCH_TORN;
    if (++batch->messages > CR_MAX_MESSAGES)
        return CR_BATCH_TOO_MUCH;
    *out = (cr_span){batch->rest.data, end};
    if (end < batch->rest.len) {
        if (batch->rest.data[end] != ',' || end + 1 == batch->rest.len)
            return CR_BATCH_TORN;
        end++;
    }
    batch->rest = (cr_span){batch->rest.data + end, batch->rest.len - end};
    return CR_BATCH_CHUNK;
}

static bool is_large(cr_span message) { return message.len + 2 > CR_INLINE_BYTES; }

enum cr_batch_step cr_batch_next(cr_batch *batch, cr_chunk *out)
{
    if (!batch->rest.len)
        return CR_BATCH_END;
    cr_span message;
    enum cr_batch_step step = take(batch, &message);
    if (step != CR_BATCH_CHUNK)
        return step;
    *out = (cr_chunk){message, !is_large(message)};
    if (is_large(message)) {
        size_t mark = sizeof value_message - 1;
        if (message.len > mark && !memcmp(message.data, value_message, mark) && cr_json_parts(message) > CR_MAX_PARTS)
            return CR_BATCH_TOO_MUCH;
        return CR_BATCH_CHUNK;
    }
    while (batch->rest.len) {
        cr_batch after = *batch;
        step = take(&after, &message);
        if (step != CR_BATCH_CHUNK)
            return step;
        size_t len = (size_t)(message.data + message.len - out->bytes.data);
        if (is_large(message) || len + 2 > CR_INLINE_BYTES)
            break;
        out->bytes.len = len;
        *batch = after;
    }
    return CR_BATCH_CHUNK;
}
