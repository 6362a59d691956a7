/* Errors that calls caused: made here from what the host says, and recognised again in what a program
   throws, behind whatever it wrapped them in. */
#include "shim.h"

#define MAX_ERRORS 100000 /* looked at for one failure */
#define MAX_INSIDE 500    /* errors inside each other, where they are no mere chain */
#define PLAIN (JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE)

static JSAtom atom_brand; /* a private symbol on errors that calls caused; programs cannot see it */

int cm_tool_error_init(JSContext *ctx)
{
    JSValue brand = JS_NewPrivateSymbol(ctx, "toolError");
    atom_brand = JS_ValueToAtom(ctx, brand);
    JS_FreeValue(ctx, brand);
    return 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Copies a text from the borrowed info to the error, or the fallback where it has none. */
static void set_text(JSContext *ctx, JSValueConst error, JSValueConst info, const char *name, const char *fallback)
{
    JSValue v = JS_GetPropertyStr(ctx, info, name);
    if (!JS_IsString(v)) {
        JS_FreeValue(ctx, v);
        v = JS_NewString(ctx, fallback);
    }
    JS_DefinePropertyValueStr(ctx, error, name, v, PLAIN);
}

/* Copies what the borrowed info says under a name, if it is of the kind that belongs there. */
static void set_if(JSContext *ctx, JSValueConst error, JSValueConst info, const char *name, bool (*fits)(JSValueConst))
{
    JSValue v = JS_GetPropertyStr(ctx, info, name);
    if (fits(v))
        JS_DefinePropertyValueStr(ctx, error, name, v, PLAIN);
    else
        JS_FreeValue(ctx, v);
}

static bool is_text(JSValueConst v) { return JS_IsString(v); }
static bool is_truth(JSValueConst v) { return JS_IsBool(v); }

/* As its stack the error gets the place where the program made the call. */
static void set_place(JSContext *ctx, JSValueConst error, int line, int column)
{
    cm_buf at = {0};
    cm_buf_puts(&at, "    at program (program:");
    cm_buf_put_uint(&at, (uint32_t)line);
    cm_buf_putc(&at, ':');
    cm_buf_put_uint(&at, (uint32_t)column);
    cm_buf_put(&at, ")\n", 3); /* with the zero that ends the text */
    cm_engine_set_error_stack(ctx, error, at.data);
    cm_buf_free(&at);
}

/* The error is a plain Error of the guest's own realm with name, message, code, data, and what the tool says about it. */
JSValue cm_tool_error_new(JSContext *ctx, JSValueConst info, uint32_t id, int line, int column)
{
    JSValue error = JS_NewError(ctx);
    JS_SetPrototype(ctx, info, JS_NULL); /* what a program put on Object.prototype is not the tool's */
    set_text(ctx, error, info, "name", "ToolError");
    set_text(ctx, error, info, "message", "the call failed");
    set_text(ctx, error, info, "code", "tool_error");
    set_if(ctx, error, info, "retryable", is_truth);
    set_if(ctx, error, info, "recoverable", is_truth);
    set_if(ctx, error, info, "suggestion", is_text);
    set_if(ctx, error, info, "status", is_text);
    JSValue data = JS_GetPropertyStr(ctx, info, "data");
    if (JS_IsUndefined(data) || JS_IsNull(data))
        JS_FreeValue(ctx, data);
    else
        JS_DefinePropertyValueStr(ctx, error, "data", data, PLAIN | JS_PROP_ENUMERABLE);
    JS_DefinePropertyValue(ctx, error, atom_brand, JS_NewUint32(ctx, id), 0);
    if (line)
        set_place(ctx, error, line, column);
    return error;
}

/* ---- recognising ----------------------------------------------------------------------------- */

typedef struct {
    int budget;    /* errors that may still be looked at */
    uint32_t call; /* whose error was found */
} search;

static bool is_branded(JSContext *ctx, JSValueConst v, search *s)
{
    JSPropertyDescriptor d;
    if (JS_GetOwnProperty(ctx, &d, v, atom_brand) <= 0)
        return false;
    JS_ToUint32(ctx, &s->call, d.value); /* a number that this file wrote */
    JS_FreeValue(ctx, d.value);
    return true;
}

static bool has_brand(JSContext *ctx, JSValue v, int depth, search *s);

/* Whether a tool's error is among the elements of an AggregateError, or of what takes its shape. */
static bool any_has_brand(JSContext *ctx, JSValueConst error, int depth, search *s)
{
    JSValue list, item;
    bool found = false;
    if (!cm_engine_data_property(ctx, error, "errors", &list))
        return false;
    for (uint32_t i = 0; JS_IsArray(list) && !found && s->budget > 0 && cm_engine_element(ctx, list, i, &item); i++)
        found = has_brand(ctx, item, depth + 1, s);
    JS_FreeValue(ctx, list);
    return found;
}

/* Takes over an error and looks at it and at all it was made of. Chains of causes, and of what each
   error suppressed, are followed without recursion. Errors may refer to each other in circles: a chain
   that comes back to where it was ends there, anything else at the budget. */
static bool has_brand(JSContext *ctx, JSValue v, int depth, search *s)
{
    static const char *const links[] = {"suppressed", "error", "cause"}; /* the first two: SuppressedError */
    void *before = NULL; /* an error of this chain, moved on after 1, 2, 4 … steps */
    bool found = false;
    for (uint32_t steps = 1; !found && JS_IsObject(v) && !JS_IsProxy(v) && depth <= MAX_INSIDE; steps++) {
        if (JS_VALUE_GET_PTR(v) == before || --s->budget < 0)
            break;
        if (!(steps & (steps - 1)))
            before = JS_VALUE_GET_PTR(v);
        found = is_branded(ctx, v, s) || any_has_brand(ctx, v, depth, s);
        JSValue next = JS_UNDEFINED, link;
        for (int i = cm_engine_is_error(v) ? 0 : 2; i < 3 && !found; i++) {
            if (!cm_engine_data_property(ctx, v, links[i], &link))
                i += i == 0; /* it suppressed nothing, so its `error` is a word of the program's own */
            else if (JS_IsUndefined(next) && JS_IsObject(link))
                next = link;
            else
                found = has_brand(ctx, link, depth + 1, s);
        }
        JS_FreeValue(ctx, v);
        v = next;
    }
    JS_FreeValue(ctx, v);
    return found;
}

/* The id of the call that caused a borrowed error: itself, in its causes, inside an AggregateError or a
   SuppressedError; 0 if none did. Reads data properties only. */
uint32_t cm_tool_error_call(JSContext *ctx, JSValueConst v)
{
    search s = {.budget = MAX_ERRORS};
    return has_brand(ctx, JS_DupValue(ctx, v), 0, &s) ? s.call : 0;
}
