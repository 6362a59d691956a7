/* Calls out, settlements in, output. Messages are framed here, in memory no program can name; a
   program holds only promises. The outbox is read by the worker when the guest is idle, so no host
   function is ever on the stack while a call is in flight, and a capture may be taken then. */
#include <stdlib.h>
#include <string.h>
#include "shim.h"

enum kind { CALL, TIMER, YIELD };

/* Work that the host will settle. A timer has a callback and its arguments, the others a promise. */
typedef struct {
    uint32_t id;      /* 0: the slot is free */
    enum kind kind;
    JSValue resolve;  /* or the timer's callback */
    JSValue reject;
    JSValue *args;    /* owned */
    int argc;
    int line, column; /* where the program made the call */
} pending;

static pending *table;
static uint32_t table_len, next_id = 1;
static cm_buf outbox;
static uint32_t outbox_count;
static bool closed;
static JSAtom atom_brand; /* a private symbol on errors that tools caused; programs cannot see it */

int cm_bridge_init(JSContext *ctx)
{
    JSValue brand = JS_NewPrivateSymbol(ctx, "toolError");
    atom_brand = JS_ValueToAtom(ctx, brand);
    JS_FreeValue(ctx, brand);
    return 0;
}

static void publish(void)
{
    cm_shared.out_ptr = (cm_address)outbox.data;
    cm_shared.out_len = (uint32_t)outbox.len;
}

void cm_bridge_clear_outbox(void)
{
    cm_buf_free(&outbox);
    outbox_count = 0;
    publish();
}

/* One message becomes visible to the host only when it is complete. More than may cross at once ends
   the guest, before it fills the heap with them; what is in the outbox already stays readable. */
static void post(const cm_buf *message)
{
    if (++outbox_count > CM_MAX_MESSAGES || message->len > CM_MAX_MESSAGE_BYTES - outbox.len - 3)
        cm_stop(CM_STOP_MESSAGES);
    if (outbox.len)
        cm_buf_putc(&outbox, ',');
    cm_buf_put(&outbox, message->data, message->len);
    publish();
}

static pending *claim_slot(enum kind kind)
{
    uint32_t i = 0;
    while (i < table_len && table[i].id)
        i++;
    if (i == table_len) {
        table_len = table_len ? table_len * 2 : 16;
        table = realloc(table, table_len * sizeof *table);
        memset(table + i, 0, (table_len - i) * sizeof *table);
    }
    table[i] = (pending){.id = next_id++, .kind = kind, .resolve = JS_UNDEFINED, .reject = JS_UNDEFINED};
    return &table[i];
}

static pending *find(uint32_t id)
{
    for (uint32_t i = 0; i < table_len; i++)
        if (id && table[i].id == id)
            return &table[i];
    return NULL;
}

static uint32_t *counter(enum kind kind)
{
    return kind == CALL ? &cm_shared.pending_calls : kind == TIMER ? &cm_shared.pending_timers : &cm_shared.pending_yields;
}

static void release_slot(JSContext *ctx, pending *p)
{
    --*counter(p->kind);
    JS_FreeValue(ctx, p->resolve);
    JS_FreeValue(ctx, p->reject);
    for (int i = 0; i < p->argc; i++)
        JS_FreeValue(ctx, p->args[i]);
    free(p->args);
    memset(p, 0, sizeof *p);
}

void cm_bridge_close(JSContext *ctx)
{
    (void)ctx;
    closed = true;
}

static JSValue throw_closed(JSContext *ctx)
{
    return JS_ThrowTypeError(ctx, "the program has already returned");
}

/* ---- out ------------------------------------------------------------------------------------- */

/* Writes the arguments as a JSON array; an exception is pending if this returns false. */
static bool put_args(JSContext *ctx, cm_buf *m, int argc, JSValueConst *argv)
{
    m->most = cm_shared.message_limit; /* what is too large is only measured */
    cm_buf_putc(m, '[');
    for (int i = 0; i < argc; i++) {
        if (i)
            cm_buf_putc(m, ',');
        switch (cm_json_write(ctx, m, argv[i], NULL, true)) {
        case CM_JSON_OK:
            break;
        case CM_JSON_TOO_DEEP:
            JS_ThrowRangeError(ctx, "an argument is nested deeper than %d levels", CM_MAX_DEPTH);
            return false;
        case CM_JSON_INTERRUPTED:
            JS_ThrowInternalError(ctx, "interrupted");
            return false;
        }
    }
    cm_buf_putc(m, ']');
    if (m->dropped) {
        JS_ThrowRangeError(ctx, "the arguments are %zu bytes of JSON, more than the %u allowed for one call",
                           m->len + m->dropped, cm_shared.message_limit);
        return false;
    }
    return true;
}

static JSValue rejected_with_exception(JSContext *ctx)
{
    JSValue error = JS_GetException(ctx);
    if (JS_IsUncatchableError(error))
        return JS_Throw(ctx, error);
    JSValue promise = JS_NewSettledPromise(ctx, true, error);
    JS_FreeValue(ctx, error);
    return promise;
}

JSValue cm_bridge_call(JSContext *ctx, const char *method, const char *target, size_t target_len, int argc,
                       JSValueConst *argv)
{
    if (closed)
        return throw_closed(ctx);
    cm_buf args = {0};
    if (!put_args(ctx, &args, argc, argv)) {
        cm_buf_free(&args);
        return rejected_with_exception(ctx);
    }
    /* the whole batch is refused before any of it is sent, and no program can catch that */
    if (cm_shared.pending_calls >= cm_shared.call_limit)
        cm_stop(CM_STOP_CALLS);

    JSValue functions[2];
    JSValue promise = JS_NewPromiseCapability(ctx, functions);
    if (JS_IsException(promise)) {
        cm_buf_free(&args);
        return promise;
    }
    pending *p = claim_slot(CALL);
    p->resolve = functions[0];
    p->reject = functions[1];
    cm_engine_call_site(ctx, &p->line, &p->column);
    cm_shared.pending_calls++;

    cm_buf m = {0};
    cm_buf_puts(&m, "{\"type\":\"call\",\"id\":");
    cm_buf_put_uint(&m, p->id);
    cm_buf_puts(&m, ",\"method\":\"");
    cm_buf_puts(&m, method);
    cm_buf_puts(&m, "\",\"target\":");
    cm_buf_put_json_string(&m, target, target_len, NULL);
    cm_buf_puts(&m, ",\"args\":");
    cm_buf_put(&m, args.data, args.len);
    cm_buf_putc(&m, '}');
    post(&m);
    cm_buf_free(&m);
    cm_buf_free(&args);
    return promise;
}

JSValue cm_bridge_yield(JSContext *ctx, JSValueConst reason)
{
    if (closed)
        return throw_closed(ctx);
    if (cm_shared.pending_yields >= CM_MAX_TIMERS)
        return JS_ThrowRangeError(ctx, "more than %d yields at once", CM_MAX_TIMERS);
    JSValue functions[2];
    cm_buf m = {0};
    JSValue promise = JS_NewPromiseCapability(ctx, functions);
    if (JS_IsException(promise))
        return promise;
    pending *p = claim_slot(YIELD);
    p->resolve = functions[0];
    p->reject = functions[1];
    cm_shared.pending_yields++;
    cm_buf_puts(&m, "{\"type\":\"yield\",\"id\":");
    cm_buf_put_uint(&m, p->id);
    if (JS_IsString(reason)) {
        size_t len;
        const char *s = JS_ToCStringLen(ctx, &len, reason);
        cm_buf_puts(&m, ",\"reason\":");
        cm_buf_put_json_string(&m, s, len > 1000 ? 0 : len, NULL);
        JS_FreeCString(ctx, s);
    }
    cm_buf_putc(&m, '}');
    post(&m);
    cm_buf_free(&m);
    return promise;
}

JSValue cm_bridge_timer(JSContext *ctx, JSValueConst callback, double ms, int argc, JSValueConst *argv)
{
    if (closed)
        return throw_closed(ctx);
    if (cm_shared.pending_timers >= CM_MAX_TIMERS)
        return JS_ThrowRangeError(ctx, "more than %d timers at once", CM_MAX_TIMERS);
    pending *p = claim_slot(TIMER);
    p->resolve = JS_DupValue(ctx, callback);
    p->argc = argc;
    p->args = argc ? malloc((size_t)argc * sizeof(JSValue)) : NULL;
    for (int i = 0; i < argc; i++)
        p->args[i] = JS_DupValue(ctx, argv[i]);
    cm_shared.pending_timers++;
    cm_buf m = {0};
    cm_buf_puts(&m, "{\"type\":\"timer\",\"id\":");
    cm_buf_put_uint(&m, p->id);
    cm_buf_puts(&m, ",\"ms\":");
    /* also NaN and negatives mean "as soon as possible" */
    cm_buf_put_uint(&m, ms >= 1 ? ms < 2147483647.0 ? (uint32_t)ms : 2147483647u : 0);
    cm_buf_putc(&m, '}');
    post(&m);
    cm_buf_free(&m);
    return JS_NewUint32(ctx, p->id);
}

void cm_bridge_clear_timer(JSContext *ctx, uint32_t id)
{
    pending *p = find(id);
    if (!p || p->kind != TIMER)
        return;
    release_slot(ctx, p);
    cm_buf m = {0};
    cm_buf_puts(&m, "{\"type\":\"clear\",\"id\":");
    cm_buf_put_uint(&m, id);
    cm_buf_putc(&m, '}');
    post(&m);
    cm_buf_free(&m);
}

/* An empty text has no bytes, but whoever holds the result pays for it as for any other: there are no
   more items than the limit has bytes, and never more than a host should have to keep. */
static bool has_room_for_item(void)
{
    uint32_t most = cm_shared.output_limit < CM_MAX_OUTPUT_ITEMS ? cm_shared.output_limit : CM_MAX_OUTPUT_ITEMS;
    return cm_shared.output_items < most;
}

void cm_bridge_output(JSContext *ctx, const char *type, const char *json, size_t len, size_t weight, const char *level)
{
    (void)ctx;
    if (weight > cm_shared.output_limit - cm_shared.output_used || !has_room_for_item())
        cm_stop(CM_STOP_OUTPUT); /* what is in the outbox already stays readable */
    cm_shared.output_used += (uint32_t)weight;
    cm_shared.output_items++;
    cm_buf m = {0};
    cm_buf_puts(&m, "{\"type\":\"");
    cm_buf_puts(&m, type);
    cm_buf_puts(&m, level ? "\",\"text\":" : type[0] == 't' ? "\",\"text\":" : "\",\"value\":");
    cm_buf_put(&m, json, len);
    if (level) {
        cm_buf_puts(&m, ",\"level\":\"");
        cm_buf_puts(&m, level);
        cm_buf_putc(&m, '"');
    }
    cm_buf_putc(&m, '}');
    post(&m);
    cm_buf_free(&m);
}

/* ---- in -------------------------------------------------------------------------------------- */

static void set_text(JSContext *ctx, JSValueConst error, JSValueConst info, const char *name, const char *fallback)
{
    JSValue v = JS_GetPropertyStr(ctx, info, name);
    if (!JS_IsString(v) && fallback) {
        JS_FreeValue(ctx, v);
        v = JS_NewString(ctx, fallback);
    }
    if (JS_IsString(v))
        JS_DefinePropertyValueStr(ctx, error, name, v, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    else
        JS_FreeValue(ctx, v);
}

/* A plain Error of the guest's own realm with name, message, code and data, and as its stack the
   place where the program made the call. */
static JSValue make_tool_error(JSContext *ctx, JSValueConst info, const pending *p)
{
    JSValue error = JS_NewError(ctx);
    JS_SetPrototype(ctx, info, JS_NULL); /* what a program put on Object.prototype is not the tool's */
    set_text(ctx, error, info, "name", "ToolError");
    set_text(ctx, error, info, "message", "the call failed");
    set_text(ctx, error, info, "code", "tool_error");
    JSValue data = JS_GetPropertyStr(ctx, info, "data");
    if (JS_IsUndefined(data) || JS_IsNull(data))
        JS_FreeValue(ctx, data);
    else
        JS_DefinePropertyValueStr(ctx, error, "data", data, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE | JS_PROP_ENUMERABLE);
    JS_DefinePropertyValue(ctx, error, atom_brand, JS_NewUint32(ctx, p->id), 0);
    if (p->line) {
        cm_buf at = {0};
        cm_buf_puts(&at, "    at program (program:");
        cm_buf_put_uint(&at, (uint32_t)p->line);
        cm_buf_putc(&at, ':');
        cm_buf_put_uint(&at, (uint32_t)p->column);
        cm_buf_put(&at, ")\n", 3);
        cm_engine_set_error_stack(ctx, error, at.data);
        cm_buf_free(&at);
    }
    return error;
}

#define MAX_ERRORS 100000 /* looked at for one failure */
#define MAX_INSIDE 500    /* errors inside each other, where they are no mere chain */

static bool is_branded(JSContext *ctx, JSValueConst v)
{
    JSPropertyDescriptor d;
    if (JS_GetOwnProperty(ctx, &d, v, atom_brand) <= 0)
        return false;
    JS_FreeValue(ctx, d.value);
    return true;
}

static bool has_brand(JSContext *ctx, JSValue v, int depth, int *budget);

/* Whether a tool's error is among the elements of an AggregateError, or of what takes its shape. */
static bool any_has_brand(JSContext *ctx, JSValueConst error, int depth, int *budget)
{
    JSValue list, item;
    bool found = false;
    if (!cm_engine_data_property(ctx, error, "errors", &list))
        return false;
    for (uint32_t i = 0; JS_IsArray(list) && !found && *budget > 0 && cm_engine_element(ctx, list, i, &item); i++)
        found = has_brand(ctx, item, depth + 1, budget);
    JS_FreeValue(ctx, list);
    return found;
}

/* Takes an owned error and looks at it and at all it was made of. Chains of causes, and of what each
   error suppressed, are followed without recursion. Errors may refer to each other in circles: a chain
   that comes back to where it was ends there, anything else at the budget. */
static bool has_brand(JSContext *ctx, JSValue v, int depth, int *budget)
{
    static const char *const links[] = {"suppressed", "error", "cause"}; /* the first two: SuppressedError */
    void *before = NULL; /* an error of this chain, moved on after 1, 2, 4 … steps */
    bool found = false;
    for (uint32_t steps = 1; !found && JS_IsObject(v) && !JS_IsProxy(v) && depth <= MAX_INSIDE; steps++) {
        if (JS_VALUE_GET_PTR(v) == before || --*budget < 0)
            break;
        if (!(steps & (steps - 1)))
            before = JS_VALUE_GET_PTR(v);
        found = is_branded(ctx, v) || any_has_brand(ctx, v, depth, budget);
        JSValue next = JS_UNDEFINED, link;
        for (int i = cm_engine_is_error(v) ? 0 : 2; i < 3 && !found; i++) {
            if (!cm_engine_data_property(ctx, v, links[i], &link))
                i += i == 0; /* it suppressed nothing, so its `error` is a word of the program's own */
            else if (JS_IsUndefined(next) && JS_IsObject(link))
                next = link;
            else
                found = has_brand(ctx, link, depth + 1, budget);
        }
        JS_FreeValue(ctx, v);
        v = next;
    }
    JS_FreeValue(ctx, v);
    return found;
}

/* Whether a call caused a borrowed error: itself, in its causes, inside an AggregateError or a
   SuppressedError. Reads data properties only. */
bool cm_bridge_is_tool_error(JSContext *ctx, JSValueConst v)
{
    int budget = MAX_ERRORS;
    return has_brand(ctx, JS_DupValue(ctx, v), 0, &budget);
}

/* Settles one piece of work with borrowed, zero-terminated JSON. Unknown ids are passed over: the
   program may have cleared the timer. Returns -1 with an exception pending if a timer threw. */
int cm_bridge_settle(JSContext *ctx, uint32_t id, enum cm_settle how, const char *json, size_t len)
{
    pending *found = find(id);
    if (!found)
        return 0;
    pending p = *found;
    --*counter(p.kind);
    memset(found, 0, sizeof *found);

    int result = 0;
    JSValue answer = JS_UNDEFINED, returned;
    if (p.kind == TIMER) {
        returned = JS_Call(ctx, p.resolve, JS_UNDEFINED, p.argc, (JSValueConst *)p.args);
    } else {
        if (len && (p.kind == CALL || how == CM_REJECT)) /* a yield resolves to undefined */
            answer = JS_ParseJSON(ctx, json, len, "<result>");
        if (JS_IsException(answer)) { /* the host sends JSON; too deep for the stack is possible */
            answer = JS_GetException(ctx);
            how = CM_REJECT;
        } else if (how == CM_REJECT) {
            JSValue error = make_tool_error(ctx, answer, &p);
            JS_FreeValue(ctx, answer);
            answer = error;
        }
        JSValueConst args[] = {answer};
        returned = JS_Call(ctx, how == CM_REJECT ? p.reject : p.resolve, JS_UNDEFINED, 1, args);
    }
    if (JS_IsException(returned))
        result = -1;
    JS_FreeValue(ctx, returned);
    JS_FreeValue(ctx, answer);
    ++*counter(p.kind); /* release_slot takes it off again */
    release_slot(ctx, &p);
    return result;
}

JSValue cm_bridge_lookup(JSContext *ctx, enum cm_lookup kind, const char *key, size_t len)
{
    int32_t size = cm_import_lookup(kind, key, (uint32_t)len);
    if (size < 0)
        return JS_UNDEFINED;
    char *text = malloc((size_t)size + 1);
    cm_import_lookup_read(text);
    text[size] = 0;
    JSValue v = JS_ParseJSON(ctx, text, (size_t)size, "<descriptor>");
    free(text);
    return v;
}
