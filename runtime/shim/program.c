/* The life of one program: compile, run to idle, decide whether it is done, failed or waiting. */
#include <stdlib.h>
#include <string.h>
#include "shim.h"

static JSValue main_promise; /* owned; what the program's function returned */
static JSValue uncaught;     /* owned; thrown where no promise takes it: timers, microtasks */

/* Rejected promises that nobody handles yet, in the order they were rejected. All owned. */
static struct unhandled {
    JSValue promise, reason;
} *unhandled;
static uint32_t unhandled_len, unhandled_cap;
static cm_buf result; /* owned; the host reads it when the run is over */

#define MAX_THROWN 16384 /* bytes of a message or of a thrown value that are told */
#define MAX_STACK 4096   /* bytes of an error's stack */
#define MAX_CAUSES 5     /* errors behind the one that was thrown */
#define MAX_OUTLINE 2048 /* bytes that say how a value looks that is too large */
#define HEAD 200         /* bytes of it that are kept for that, whatever room there is */

static bool same_object(JSValueConst a, JSValueConst b) { return JS_VALUE_GET_PTR(a) == JS_VALUE_GET_PTR(b); }

static void track_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool is_handled, void *opaque)
{
    (void)opaque;
    if (!is_handled) {
        if (unhandled_len == unhandled_cap) {
            unhandled_cap = unhandled_cap ? unhandled_cap * 2 : 8;
            unhandled = realloc(unhandled, unhandled_cap * sizeof *unhandled);
        }
        unhandled[unhandled_len++] = (struct unhandled){JS_DupValue(ctx, promise), JS_DupValue(ctx, reason)};
        return;
    }
    for (uint32_t i = 0; i < unhandled_len; i++) {
        if (same_object(unhandled[i].promise, promise)) {
            JS_FreeValue(ctx, unhandled[i].promise);
            JS_FreeValue(ctx, unhandled[i].reason);
            memmove(&unhandled[i], &unhandled[i + 1], (--unhandled_len - i) * sizeof *unhandled);
            return;
        }
    }
}

int cm_is_interrupted(void) { return *(volatile uint32_t *)&cm_shared.interrupt != 0; }

static int poll_interrupt(JSRuntime *rt, void *opaque)
{
    (void)rt;
    (void)opaque;
    return cm_is_interrupted();
}

int cm_program_init(JSContext *ctx)
{
    JSRuntime *rt = JS_GetRuntime(ctx);
    main_promise = JS_UNDEFINED;
    uncaught = JS_UNINITIALIZED;
    JS_SetHostPromiseRejectionTracker(rt, track_rejection, NULL);
    JS_SetInterruptHandler(rt, poll_interrupt, NULL);
    return 0;
}

static void publish_result(void)
{
    cm_shared.result_ptr = (cm_address)result.data;
    cm_shared.result_len = (uint32_t)result.len;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Adds a member for a text, at most `most` bytes of it. Takes over v; leaves out a value that is not a string. */
static void put_text(JSContext *ctx, cm_object *o, const char *name, JSValue v, size_t most)
{
    if (JS_IsString(v)) {
        size_t len;
        const char *s = JS_ToCStringLen(ctx, &len, v);
        cm_object_text(o, name, s, cm_clip(s, len, most));
        JS_FreeCString(ctx, s);
    }
    JS_FreeValue(ctx, v);
}

/* Adds a member for a text of a borrowed error, if it has that text as a data property. */
static void put_property(JSContext *ctx, cm_object *o, JSValueConst error, const char *name)
{
    JSValue v;
    if (cm_engine_data_property(ctx, error, name, &v))
        put_text(ctx, o, name, v, MAX_THROWN);
}

static void put_causes(JSContext *ctx, JSValueConst error, int *left);

static void put_cause(JSContext *ctx, JSValueConst cause, int *left)
{
    if (!*left || !cm_engine_is_error(cause))
        return;
    if ((*left)-- != MAX_CAUSES)
        cm_buf_putc(&result, ',');
    cm_object o = cm_object_open(&result);
    put_property(ctx, &o, cause, "name");
    put_property(ctx, &o, cause, "message");
    cm_object_close(&o);
    put_causes(ctx, cause, left);
}

/* Writes the errors behind a borrowed one as elements of an array: its cause, what an AggregateError holds,
   and so on. Reads data properties only; errors may refer to each other in circles, so `left` counts down. */
static void put_causes(JSContext *ctx, JSValueConst error, int *left)
{
    JSValue inner, item;
    if (cm_engine_data_property(ctx, error, "cause", &inner)) {
        put_cause(ctx, inner, left);
        JS_FreeValue(ctx, inner);
    }
    if (cm_engine_data_property(ctx, error, "errors", &inner)) {
        for (uint32_t i = 0; JS_IsArray(inner) && *left && cm_engine_element(ctx, inner, i, &item); i++) {
            put_cause(ctx, item, left);
            JS_FreeValue(ctx, item);
        }
        JS_FreeValue(ctx, inner);
    }
}

/* Writes a borrowed thrown value that is no error; its getters may run, and may run on. */
static enum cm_json put_thrown(JSContext *ctx, JSValueConst thrown)
{
    cm_buf value = {.most = MAX_THROWN};
    enum cm_json r = cm_json_write(ctx, &value, thrown, false);
    if (value.dropped)
        cm_buf_puts(&result, "\"[a value too large to show]\"");
    else
        cm_buf_put(&result, value.data, value.len);
    cm_buf_free(&value);
    return cm_shared.interrupt ? CM_JSON_INTERRUPTED : r;
}

/* Adds what is told of a borrowed error. Reads it without running any code of the program. */
static void put_error(JSContext *ctx, cm_object *record, JSValueConst error)
{
    int left = MAX_CAUSES;
    cm_object_key(record, "error");
    cm_object o = cm_object_open(record->out);
    put_property(ctx, &o, error, "name");
    put_property(ctx, &o, error, "message");
    put_property(ctx, &o, error, "code");
    put_text(ctx, &o, "stack", cm_engine_error_stack(ctx, error), MAX_STACK);
    cm_object_close(&o);
    cm_object_key(record, "causes");
    cm_buf_putc(record->out, '[');
    put_causes(ctx, error, &left);
    cm_buf_putc(record->out, ']');
}

/* Writes the failure record for a borrowed thrown value: an error as it is, another value as JSON. */
static enum cm_status fail_with(JSContext *ctx, const char *kind, JSValueConst thrown)
{
    cm_bridge_close();
    cm_object record = cm_object_open(&result);
    cm_object_word(&record, "kind", kind);
    cm_object_uint(&record, "call", cm_tool_error_call(ctx, thrown));
    if (cm_engine_is_error(thrown)) {
        put_error(ctx, &record, thrown);
    } else if (!JS_IsUndefined(thrown)) { /* JSON has no undefined: it is left out */
        cm_object_key(&record, "thrown");
        if (put_thrown(ctx, thrown) != CM_JSON_OK)
            return CM_INTERRUPTED;
    }
    cm_object_close(&record);
    publish_result();
    return CM_FAILED;
}

static enum cm_status fail_with_exception(JSContext *ctx, const char *kind)
{
    JSValue error = JS_GetException(ctx);
    enum cm_status status = CM_INTERRUPTED;
    if (!cm_shared.interrupt)
        status = fail_with(ctx, kind, error);
    JS_FreeValue(ctx, error);
    return status;
}

void cm_program_uncaught(JSContext *ctx)
{
    JSValue error = JS_GetException(ctx);
    if (JS_VALUE_GET_TAG(uncaught) == JS_TAG_UNINITIALIZED)
        uncaught = error;
    else
        JS_FreeValue(ctx, error);
}

static enum cm_status fail_if_unhandled(JSContext *ctx)
{
    for (uint32_t i = 0; i < unhandled_len; i++)
        if (!same_object(unhandled[i].promise, main_promise))
            return fail_with(ctx, "unhandled", unhandled[i].reason);
    return CM_IDLE;
}

/* Runs jobs until there are none: CM_IDLE, or how the program ended on the way. */
static enum cm_status run_jobs(JSContext *ctx)
{
    JSRuntime *rt = JS_GetRuntime(ctx);
    for (;;) {
        JSContext *job_ctx;
        if (cm_shared.interrupt)
            return CM_INTERRUPTED; /* whatever the program did with the exception */
        if (JS_VALUE_GET_TAG(uncaught) != JS_TAG_UNINITIALIZED)
            return fail_with(ctx, "exception", uncaught);
        int r = JS_ExecutePendingJob(rt, &job_ctx);
        if (r == 0)
            return CM_IDLE;
        if (r < 0)
            cm_program_uncaught(ctx);
    }
}

/* ---- success --------------------------------------------------------------------------------- */

/* Writes the value that the program returned, or that it is too large. */
static enum cm_status finish_with_value(JSContext *ctx)
{
    JSValue value = JS_PromiseResult(ctx, main_promise);
    size_t room = cm_shared.output_limit - cm_shared.output_used;
    /* beyond the cap it is only measured: the heap has no room for a copy of everything */
    cm_buf json = {.most = room > HEAD ? room : HEAD}, lossy = {0}, outline = {.most = MAX_OUTLINE};
    cm_bridge_close();
    bool is_nothing = JS_IsUndefined(value);
    enum cm_json r = cm_json_write_result(ctx, &json, value, &lossy, &outline);
    JS_FreeValue(ctx, value);
    /* getters may have written output, and begun or lost something that ends before the run does */
    enum cm_status status = r == CM_JSON_INTERRUPTED ? CM_INTERRUPTED : run_jobs(ctx);
    if (status == CM_IDLE)
        status = fail_if_unhandled(ctx);
    if (status != CM_IDLE) {
        cm_buf_free(&json);
        cm_buf_free(&lossy);
        cm_buf_free(&outline);
        return status;
    }
    room = cm_shared.output_limit - cm_shared.output_used;
    size_t bytes = json.len + json.dropped;
    cm_object o = cm_object_open(&result);
    if (bytes > room) {
        status = CM_FAILED;
        cm_object_word(&o, "kind", "value_too_large");
        cm_object_uint(&o, "bytes", (uint32_t)bytes);
        cm_object_text(&o, "outline", outline.data,
                       outline.dropped ? cm_clip(outline.data, outline.len, outline.len - 3) : outline.len);
    } else {
        status = CM_DONE;
        cm_object_json(&o, "value", json.data, json.len);
        cm_object_key(&o, "lossy");
        cm_buf_putc(&result, '[');
        cm_buf_put(&result, lossy.data, lossy.len);
        cm_buf_putc(&result, ']');
        if (is_nothing) {
            int line, column;
            cm_engine_last_statement(&line, &column);
            cm_object_uint(&o, "last_line", (uint32_t)line);
            cm_object_uint(&o, "last_column", (uint32_t)column);
        }
    }
    cm_object_close(&o);
    cm_buf_free(&json);
    cm_buf_free(&lossy);
    cm_buf_free(&outline);
    publish_result();
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

static enum cm_status decide(JSContext *ctx)
{
    enum cm_status status;
    switch (JS_PromiseState(ctx, main_promise)) {
    case JS_PROMISE_REJECTED: {
        JSValue reason = JS_PromiseResult(ctx, main_promise);
        status = fail_with(ctx, "exception", reason);
        JS_FreeValue(ctx, reason);
        return status;
    }
    case JS_PROMISE_FULFILLED:
        cm_shared.returned = 1;
        if (cm_shared.pending_calls)
            return CM_IDLE; /* calls that were never awaited are drained first */
        status = fail_if_unhandled(ctx);
        return status == CM_IDLE ? finish_with_value(ctx) : status;
    default:
        if (cm_shared.pending_calls || cm_shared.pending_timers || cm_shared.pending_yields)
            return CM_IDLE;
        status = fail_if_unhandled(ctx); /* most likely the reason why nothing goes on */
        return status == CM_IDLE ? fail_with(ctx, "deadlock", JS_UNDEFINED) : status;
    }
}

/* Runs until there is nothing to do but wait. */
enum cm_status cm_program_run(JSContext *ctx)
{
    enum cm_status status = run_jobs(ctx);
    return status == CM_IDLE ? decide(ctx) : status;
}

void cm_program_forget(JSContext *ctx)
{
    JS_FreeValue(ctx, main_promise);
    main_promise = JS_UNDEFINED;
    while (unhandled_len) {
        struct unhandled *last = &unhandled[--unhandled_len];
        JS_FreeValue(ctx, last->promise);
        JS_FreeValue(ctx, last->reason);
    }
    free(unhandled);
    unhandled = NULL, unhandled_cap = 0;
    cm_buf_free(&result);
    result = (cm_buf){0};
    publish_result();
    cm_shared.returned = 0;
}

enum cm_status cm_program_start(JSContext *ctx, const char *text, size_t len, bool keeps)
{
    JSValue function = cm_engine_compile(ctx, text, len, "program", keeps);
    if (JS_IsException(function))
        return fail_with_exception(ctx, "syntax");
    main_promise = JS_Call(ctx, function, JS_UNDEFINED, 0, NULL);
    JS_FreeValue(ctx, function);
    if (JS_IsException(main_promise)) {
        main_promise = JS_UNDEFINED;
        return fail_with_exception(ctx, "exception");
    }
    return cm_program_run(ctx);
}
