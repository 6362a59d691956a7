/* How a guest came to rest, told to the host: the guest's JSON as it is, in the frame's tail if it is large, cut at its
   messages (batches.py says why). Nothing here allocates, because a signal handler tells the host too. */
#include <string.h>
#include "runner.h"

#define STOP_MESSAGES 6
#define HEAD_CHARACTERS 200
#define NULL_RESULT "{\"value\":null,\"lossy\":[]}"
#define SOME_FAILURE "{\"kind\":\"exception\"}"
#define VALUE_PREFIX "{\"value\":"

static void put_spent(const cr_spent *spent)
{
    cr_head_text(",\"spent\":{\"prepare_us\":");
    cr_head_uint(spent->prepare_us);
    cr_head_text(",\"restore_us\":");
    cr_head_uint(spent->restore_us);
    cr_head_text(",\"run_us\":");
    cr_head_uint(spent->run_us);
    cr_head_text("}");
}

static void put_too_many_parts(cr_span result)
{
    cr_span begins = result;
    size_t prefix = sizeof VALUE_PREFIX - 1;
    if (begins.len > prefix && !memcmp(begins.data, VALUE_PREFIX, prefix))
        begins = (cr_span){begins.data + prefix, begins.len - prefix};
    cr_head_text(",\"failure\":{\"kind\":\"value_too_large\",\"bytes\":");
    cr_head_uint(result.len);
    cr_head_text(",\"parts\":");
    cr_head_uint(cr_json_parts(result));
    cr_head_text(",\"head\":");
    cr_head_string(begins, HEAD_CHARACTERS);
    cr_head_text("}");
}

static void put_length(size_t len)
{
    char bytes[4] = {(char)len, (char)(len >> 8), (char)(len >> 16), (char)(len >> 24)};
    cr_tail_put(bytes, 4);
}

static void put_chunk(cr_chunk chunk)
{
    put_length(chunk.bytes.len + (chunk.is_list ? 2 : 0));
    if (chunk.is_list)
        cr_tail_put("[", 1);
    cr_tail_put(chunk.bytes.data, chunk.bytes.len);
    if (chunk.is_list)
        cr_tail_put("]", 1);
}

/* how many chunks the messages make, and bytes of a tail; a step that is not the end says why there are none */
static enum cr_batch_step count_chunks(cr_span messages, size_t *count, size_t *bytes)
{
    cr_batch batch = cr_batch_of(messages);
    cr_chunk chunk;
    enum cr_batch_step step;
    *count = *bytes = 0;
    if (messages.len + 2 > CR_MAX_MESSAGE_BYTES)
        return CR_BATCH_TOO_MUCH;
    while ((step = cr_batch_next(&batch, &chunk)) == CR_BATCH_CHUNK) {
        *count += 1;
        *bytes += 4 + chunk.bytes.len + (chunk.is_list ? 2 : 0);
    }
    return step;
}

/* Writes the frame of an outcome: the guest's JSON as it is, in the tail if it is large. */
static void put_outcome(const cr_outcome *outcome, size_t chunks, size_t tail, const cr_spent *spent)
{
    static const char *const types[] = {"idle", "done", "threw", "interrupted", "stopped"};
    cr_span said = outcome->said;
    bool ends = outcome->kind == CR_DONE || outcome->kind == CR_THREW;
    bool too_many = outcome->kind == CR_DONE && said.len > CR_MAX_PARTS && cr_json_parts(said) > CR_MAX_PARTS;
    bool apart = ends && !too_many && said.len > CR_INLINE_BYTES;
    cr_head_begin();
    cr_head_text("{\"type\":\"");
    cr_head_text(too_many ? "threw" : types[outcome->kind]);
    cr_head_text("\",\"messages\":[");
    if (!chunks)
        cr_head_put(outcome->messages.data, outcome->messages.len);
    cr_head_text("]");
    if (chunks) {
        cr_head_text(",\"chunks\":");
        cr_head_uint(chunks);
    }
    if (apart)
        cr_head_text(",\"apart\":true");
    put_spent(spent);
    if (outcome->kind != CR_INTERRUPTED)
        cr_tape_report();
    if (too_many)
        put_too_many_parts(said);
    else if (ends) {
        bool done = outcome->kind == CR_DONE;
        cr_head_text(done ? ",\"result\":" : ",\"failure\":");
        if (apart)
            cr_head_text(done ? NULL_RESULT : SOME_FAILURE);
        else
            cr_head_put(said.data, said.len);
    } else if (outcome->kind == CR_IDLE) {
        cr_head_text(outcome->returned ? ",\"returned\":true" : ",\"returned\":false");
        cr_head_text(",\"pending_calls\":");
        cr_head_uint(outcome->calls);
        cr_head_text(",\"pending_timers\":");
        cr_head_uint(outcome->timers);
        cr_head_text(",\"pending_yields\":");
        cr_head_uint(outcome->yields);
    } else if (outcome->kind == CR_STOPPED) {
        cr_head_text(",\"reason\":");
        cr_head_uint(outcome->stop);
    }
    cr_head_text("}");
    cr_tail_begin(tail + (apart ? 4 + said.len : 0));
    if (chunks) {
        cr_batch batch = cr_batch_of(outcome->messages);
        cr_chunk chunk;
        while (cr_batch_next(&batch, &chunk) == CR_BATCH_CHUNK)
            put_chunk(chunk);
    }
    if (apart)
        put_chunk((cr_chunk){said, false});
    cr_frame_end();
}

bool cr_report(const cr_outcome *outcome, const cr_spent *spent)
{
    size_t chunks = 0, tail = 0;
    cr_outcome told = *outcome;
    if (told.messages.len + 2 > CR_INLINE_BYTES) {
        switch (count_chunks(told.messages, &chunks, &tail)) {
        case CR_BATCH_TORN:
            cr_die("what the guest sent is no list of messages");
        case CR_BATCH_TOO_MUCH:
            told = (cr_outcome){.kind = CR_STOPPED, .messages = {"", 0}, .stop = STOP_MESSAGES};
            chunks = tail = 0;
            break;
        default:
            break;
        }
    }
    put_outcome(&told, chunks, tail, spent);
    return told.kind == CR_IDLE && told.calls > 0;
}

/* The guest computes on, so its messages may be half written. */
void cr_report_overdue(void)
{
    size_t chunks, tail;
    cr_outcome told = {.kind = CR_INTERRUPTED, .messages = cr_guest_messages()};
    if (count_chunks(told.messages, &chunks, &tail) != CR_BATCH_END)
        told.messages.len = chunks = tail = 0;
    if (told.messages.len + 2 <= CR_INLINE_BYTES)
        chunks = tail = 0;
    put_outcome(&told, chunks, tail, &(cr_spent){0});
}
