/* Calls out, settlements in. The work that the host has to settle stands in a table in memory that no
   program can name; a program holds only promises. */
#include <stdlib.h>
#include <string.h>
#include "shim.h"

enum kind { CALL, TIMER, YIELD };

/* Work that the host will settle. A timer has a callback and its arguments, the others a promise. */
typedef struct {
    uint32_t id; /* 0: the slot is free */
    enum kind kind;
    JSValue resolve; /* owned; or the timer's callback */
    JSValue reject;  /* owned */
    JSValue *args;   /* owned, and each of them */
    int argc;
    int line, column; /* where the program made the call */
} pending;

static pending *table; /* owned */
static uint32_t table_len, next_id = 1;
static bool closed;

/* Returns a borrowed slot, valid until the next one is claimed. */
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
    if (kind == TIMER)
        return &cm_shared.pending_timers;
    return kind == CALL ? &cm_shared.pending_calls : &cm_shared.pending_yields;
}

/* Frees what the slot owns, and the slot. */
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

void cm_bridge_close(void) { closed = true; }

void cm_bridge_reopen(JSContext *ctx)
{
    for (uint32_t i = 0; i < table_len; i++)
        if (table[i].id)
            release_slot(ctx, &table[i]);
    free(table);
    table = NULL, table_len = 0, next_id = 1, closed = false;
    cm_shared.pending_calls = cm_shared.pending_timers = cm_shared.pending_yields = 0;
}

static JSValue throw_closed(JSContext *ctx) { return JS_ThrowTypeError(ctx, "the program has already returned"); }

/* The one way in which a call fails: a program handles all failures alike. What no program may catch
   stays an exception. */
JSValue cm_rejected(JSContext *ctx, JSValue v)
{
    if (!JS_IsException(v))
        return v;
    JSValue error = JS_GetException(ctx);
    if (JS_IsUncatchableError(error))
        return JS_Throw(ctx, error);
    JSValue promise = JS_NewSettledPromise(ctx, true, error);
    JS_FreeValue(ctx, error);
    return promise;
}

/* ---- out ------------------------------------------------------------------------------------- */

/* Writes the borrowed arguments as a JSON array; an exception is pending if this returns false. */
static bool put_args(JSContext *ctx, cm_buf *m, int argc, JSValueConst *argv)
{
    m->most = cm_shared.message_limit; /* what is too large is only measured */
    cm_buf_putc(m, '[');
    for (int i = 0; i < argc; i++) {
        if (i)
            cm_buf_putc(m, ',');
        enum cm_json r = cm_json_write(ctx, m, argv[i], true);
        if (r == CM_JSON_TOO_DEEP)
            JS_ThrowRangeError(ctx, "an argument is nested deeper than %d levels", CM_MAX_DEPTH);
        if (r == CM_JSON_INTERRUPTED)
            JS_ThrowInternalError(ctx, "interrupted");
        if (r != CM_JSON_OK)
            return false;
    }
    cm_buf_putc(m, ']');
    if (m->dropped) {
        JS_ThrowRangeError(ctx, "the arguments are %zu bytes of JSON, more than the %u allowed for one call",
                           m->len + m->dropped, cm_shared.message_limit);
        return false;
    }
    return true;
}

/* Returns an owned promise and in *slot the borrowed slot that settles it, or an exception. */
static JSValue claim_promise(JSContext *ctx, enum kind kind, pending **slot)
{
    JSValue functions[2];
    JSValue promise = JS_NewPromiseCapability(ctx, functions);
    if (JS_IsException(promise))
        return promise;
    *slot = claim_slot(kind);
    (*slot)->resolve = functions[0];
    (*slot)->reject = functions[1];
    ++*counter(kind);
    return promise;
}

/* Opens a message in an empty buffer; the caller adds members and posts it. */
static cm_object open_message(cm_buf *m, const char *type, uint32_t id)
{
    cm_object o = cm_object_open(m);
    cm_object_word(&o, "type", type);
    cm_object_uint(&o, "id", id);
    return o;
}

/* Closes and posts a message, and leaves the buffer empty. */
static void post(cm_object *o)
{
    cm_object_close(o);
    cm_outbox_post(o->out);
}

JSValue cm_bridge_call(JSContext *ctx, const char *method, const char *target, size_t target_len, int argc,
                       JSValueConst *argv)
{
    cm_buf args = {0}, m = {0};
    pending *p;
    if (closed)
        return throw_closed(ctx);
    if (!put_args(ctx, &args, argc, argv)) {
        cm_buf_free(&args);
        return cm_rejected(ctx, JS_EXCEPTION);
    }
    /* the whole batch is refused before any of it is sent, and no program can catch that */
    if (cm_shared.pending_calls >= cm_shared.call_limit)
        cm_stop(CM_STOP_CALLS);
    JSValue promise = claim_promise(ctx, CALL, &p);
    if (!JS_IsException(promise)) {
        cm_engine_call_site(ctx, &p->line, &p->column);
        cm_object o = open_message(&m, "call", p->id);
        cm_object_word(&o, "method", method);
        cm_object_text(&o, "target", target, target_len);
        cm_object_json(&o, "args", args.data, args.len);
        post(&o);
    }
    cm_buf_free(&args);
    return promise;
}

JSValue cm_bridge_yield(JSContext *ctx, JSValueConst reason)
{
    cm_buf m = {0};
    pending *p;
    if (closed)
        return throw_closed(ctx);
    if (cm_shared.pending_yields >= CM_MAX_TIMERS)
        return JS_ThrowRangeError(ctx, "more than %d yields at once", CM_MAX_TIMERS);
    JSValue promise = claim_promise(ctx, YIELD, &p);
    if (JS_IsException(promise))
        return promise;
    cm_object o = open_message(&m, "yield", p->id);
    if (JS_IsString(reason)) {
        size_t len;
        const char *s = JS_ToCStringLen(ctx, &len, reason);
        cm_object_text(&o, "reason", s, cm_clip(s, len, CM_MAX_REASON));
        JS_FreeCString(ctx, s);
    }
    post(&o);
    return promise;
}

JSValue cm_bridge_timer(JSContext *ctx, JSValueConst callback, double ms, int argc, JSValueConst *argv)
{
    cm_buf m = {0};
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
    cm_object o = open_message(&m, "timer", p->id);
    /* also NaN and negatives mean "as soon as possible" */
    cm_object_uint(&o, "ms", ms >= 1 ? ms < 2147483647.0 ? (uint32_t)ms : 2147483647u : 0);
    post(&o);
    return JS_NewUint32(ctx, p->id);
}

void cm_bridge_clear_timer(JSContext *ctx, uint32_t id)
{
    cm_buf m = {0};
    pending *p = find(id);
    if (!p || p->kind != TIMER)
        return;
    release_slot(ctx, p);
    cm_object o = open_message(&m, "clear", id);
    post(&o);
}

/* ---- in -------------------------------------------------------------------------------------- */

/* Returns what the promise of a call or a yield settles with (owned), and corrects *how. */
static JSValue settled_with(JSContext *ctx, const pending *p, enum cm_settle *how, const char *json, size_t len)
{
    JSValue answer = JS_UNDEFINED;
    if (len && (p->kind == CALL || *how == CM_REJECT)) /* a yield resolves to undefined */
        answer = JS_ParseJSON(ctx, json, len, "<result>");
    if (JS_IsException(answer)) { /* the host sends JSON; too deep for the stack is possible */
        *how = CM_REJECT;
        return JS_GetException(ctx);
    }
    if (*how == CM_FULFILL)
        return answer;
    JSValue error = cm_tool_error_new(ctx, answer, p->id, p->line, p->column);
    JS_FreeValue(ctx, answer);
    return error;
}

/* Settles one piece of work with borrowed, zero-terminated JSON. Unknown ids are passed over: the
   program may have cleared the timer. Returns -1 with an exception pending if a timer threw. */
int cm_bridge_settle(JSContext *ctx, uint32_t id, enum cm_settle how, const char *json, size_t len)
{
    pending *found = find(id);
    if (!found)
        return 0;
    pending p = *found; /* taken over: what runs below may claim slots, and the table may move */
    --*counter(p.kind);
    memset(found, 0, sizeof *found);

    JSValue answer = JS_UNDEFINED, returned;
    if (p.kind == TIMER) {
        returned = JS_Call(ctx, p.resolve, JS_UNDEFINED, p.argc, (JSValueConst *)p.args);
    } else {
        answer = settled_with(ctx, &p, &how, json, len);
        JSValueConst args[] = {answer};
        returned = JS_Call(ctx, how == CM_REJECT ? p.reject : p.resolve, JS_UNDEFINED, 1, args);
    }
    int result = JS_IsException(returned) ? -1 : 0;
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
