/* The functions programs call: output, console, timers, yield, tools.call/search/describe. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "shim.h"

/* Defines a property of a borrowed object that no program can change. Takes over v. */
int cm_define_locked(JSContext *ctx, JSValueConst obj, const char *name, JSValue v)
{
    return JS_DefinePropertyValueStr(ctx, obj, name, v, JS_PROP_ENUMERABLE);
}

/* Freezes a borrowed tree of plain objects and arrays that no program has touched yet. */
int cm_freeze_deep(JSContext *ctx, JSValueConst v)
{
    if (!JS_IsObject(v))
        return 0;
    JSPropertyEnum *names;
    uint32_t count;
    if (JS_GetOwnPropertyNames(ctx, &names, &count, v, JS_GPN_STRING_MASK))
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        JSValue child = JS_GetProperty(ctx, v, names[i].atom);
        cm_freeze_deep(ctx, child);
        JS_FreeValue(ctx, child);
    }
    JS_FreePropertyEnum(ctx, names, count);
    return JS_FreezeObject(ctx, v);
}

static JSValue function(JSContext *ctx, JSCFunctionMagic *f, const char *name, int length, int magic)
{
    JSValue v = JS_NewCFunctionMagic(ctx, f, name, length, JS_CFUNC_generic_magic, magic);
    JS_FreezeObject(ctx, v);
    return v;
}

/* ---- output ------------------------------------------------------------------------------------ */

static bool put_string(JSContext *ctx, cm_buf *out, JSValueConst string)
{
    size_t len;
    const char *s = JS_ToCStringLen(ctx, &len, string);
    if (!s)
        return false;
    cm_buf_put(out, s, len);
    JS_FreeCString(ctx, s);
    return true;
}

/* Appends an error that has a code, as those of calls do: its name, message and code, and whether the same call
   may succeed later. Reads data properties
   only; false, and nothing written, for anything else. */
static bool put_coded_error(JSContext *ctx, cm_buf *out, JSValueConst v)
{
    static const char *const names[] = {"name", "message", "code"};
    JSValue found[3] = {JS_UNDEFINED, JS_UNDEFINED, JS_UNDEFINED};
    bool is_coded = JS_IsObject(v) && cm_engine_is_error(v);
    for (int i = 0; i < 3 && is_coded; i++)
        is_coded = cm_engine_data_property(ctx, v, names[i], &found[i]) && JS_IsString(found[i]);
    cm_object o = {0};
    if (is_coded)
        o = cm_object_open(out);
    for (int i = 0; i < 3; i++) {
        size_t len;
        const char *s = is_coded ? JS_ToCStringLen(ctx, &len, found[i]) : NULL;
        if (s)
            cm_object_text(&o, names[i], s, len);
        JS_FreeCString(ctx, s);
        JS_FreeValue(ctx, found[i]);
    }
    JSValue retryable;
    if (is_coded && cm_engine_data_property(ctx, v, "retryable", &retryable)) {
        if (JS_IsBool(retryable) && JS_VALUE_GET_BOOL(retryable))
            cm_object_json(&o, "retryable", "true", strlen("true"));
        JS_FreeValue(ctx, retryable);
    }
    if (is_coded)
        cm_object_close(&o);
    return is_coded;
}

/* Appends what text() shows of a borrowed value: strings as they are, a file of API as its content, anything
   else as compact JSON. Returns false with an exception pending when the program is being interrupted. */
static bool put_shown(JSContext *ctx, cm_buf *out, JSValueConst v)
{
    if (JS_IsString(v))
        return put_string(ctx, out, v);
    JSValue content = cm_file_content(ctx, v);
    if (!JS_IsUndefined(content)) {
        bool done = put_string(ctx, out, content);
        JS_FreeValue(ctx, content);
        return done;
    }
    if (put_coded_error(ctx, out, v) || cm_json_write(ctx, out, v, false) == CM_JSON_OK)
        return true;
    JS_ThrowInternalError(ctx, "interrupted");
    return false;
}

/* Whether a function was called as `list.forEach(f)` calls it: with the item, its index and the list. */
static bool is_for_each(int argc, JSValueConst *argv)
{
    return argc == 3 && JS_IsNumber(argv[1]) && JS_IsArray(argv[2]);
}

/* One item for all arguments, joined by blanks, as console does it: what comes second must not be lost. */
static JSValue api_text(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    cm_buf shown = cm_outbox_item();
    bool is_shown = put_shown(ctx, &shown, argc ? argv[0] : JS_UNDEFINED);
    for (int i = 1; i < argc && is_shown && !is_for_each(argc, argv); i++) {
        cm_buf_putc(&shown, ' ');
        is_shown = put_shown(ctx, &shown, argv[i]);
    }
    if (is_shown)
        cm_outbox_text(&shown, NULL);
    cm_buf_free(&shown);
    return is_shown ? JS_UNDEFINED : JS_EXCEPTION;
}

static JSValue api_json(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    cm_buf json = cm_outbox_item();
    if (cm_json_write(ctx, &json, argc ? argv[0] : JS_UNDEFINED, false) != CM_JSON_OK) {
        cm_buf_free(&json);
        return JS_ThrowInternalError(ctx, "interrupted");
    }
    cm_outbox_json(&json);
    cm_buf_free(&json);
    return JS_UNDEFINED;
}

static const char *const levels[] = {"log", "info", "warn", "error", "debug"};
static const char *const others[] = {"table", "dir", "trace", "group", "groupCollapsed"}; /* as log */
/* No program ends because it measures or counts for nobody. */
static const char *const quiet[] = {"groupEnd", "time", "timeEnd", "timeLog", "count", "countReset", "clear"};
#define LEVEL_ERROR 3
#define COUNT(list) (int)(sizeof(list) / sizeof((list)[0]))

static JSValue api_console(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    cm_buf shown = cm_outbox_item();
    bool is_shown = true;
    for (int i = 0; i < argc && is_shown; i++) {
        if (i)
            cm_buf_putc(&shown, ' ');
        is_shown = put_shown(ctx, &shown, argv[i]);
    }
    if (is_shown)
        cm_outbox_text(&shown, levels[magic]);
    cm_buf_free(&shown);
    return is_shown ? JS_UNDEFINED : JS_EXCEPTION;
}

static JSValue api_quiet(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    return JS_UNDEFINED;
}

static JSValue api_assert(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    if (argc && JS_ToBool(ctx, argv[0]))
        return JS_UNDEFINED;
    JSValue head = JS_NewString(ctx, argc > 1 ? "Assertion failed:" : "Assertion failed");
    JSValueConst told[] = {head, argc > 1 ? argv[1] : JS_UNDEFINED};
    JSValue r = api_console(ctx, self, argc > 1 ? 2 : 1, told, LEVEL_ERROR);
    JS_FreeValue(ctx, head);
    return r;
}

static const char *const content_kinds[] = {"image", "file"};

#define CONTENT_ID_PREFIX "cnt_"
#define CONTENT_ID_BYTES 36 /* with 32 hexadecimal digits behind the prefix; the host makes them */

static bool is_content_id(const char *s, size_t len)
{
    if (len != CONTENT_ID_BYTES || strncmp(s, CONTENT_ID_PREFIX, strlen(CONTENT_ID_PREFIX)))
        return false;
    return strspn(s + strlen(CONTENT_ID_PREFIX), "0123456789abcdef") == len - strlen(CONTENT_ID_PREFIX);
}

/* Only the host knows whether there is such content: here a handle just has to look like one. */
static JSValue api_content(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    JSValue id = argc && JS_IsObject(argv[0]) ? JS_GetPropertyStr(ctx, argv[0], "id") : JS_UNDEFINED;
    if (JS_IsException(id))
        return id;
    size_t len = 0;
    const char *s = JS_IsString(id) ? JS_ToCStringLen(ctx, &len, id) : NULL;
    bool is_handle = s && is_content_id(s, len);
    if (is_handle)
        cm_outbox_content(content_kinds[magic], s, len);
    if (s)
        JS_FreeCString(ctx, s);
    JS_FreeValue(ctx, id);
    return is_handle ? JS_UNDEFINED
                     : JS_ThrowTypeError(ctx,
                                         "%s() takes a handle from a tool's result, such as { type: \"%s\", mimeType, "
                                         "bytes, id }; text(v) and json(v) show everything else",
                                         content_kinds[magic], content_kinds[magic]);
}

/* ---- time ---------------------------------------------------------------------------------------- */

static JSValue api_yield(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    return cm_bridge_yield(ctx, argc ? argv[0] : JS_UNDEFINED);
}

static JSValue api_set_timeout(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    double ms = 0;
    if (argc < 1 || !JS_IsFunction(ctx, argv[0]))
        return JS_ThrowTypeError(ctx, "setTimeout needs a function");
    if (argc > 1 && JS_ToFloat64(ctx, &ms, argv[1]))
        return JS_EXCEPTION;
    return cm_bridge_timer(ctx, argv[0], ms, argc > 2 ? argc - 2 : 0, argv + 2);
}

static JSValue api_clear_timeout(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    double id = 0;
    if (argc && JS_IsNumber(argv[0]) && !JS_ToFloat64(ctx, &id, argv[0]) && id >= 1 && id <= 4294967295.0)
        cm_bridge_clear_timer(ctx, (uint32_t)id);
    return JS_UNDEFINED;
}

/* ---- tools ---------------------------------------------------------------------------------------- */

/* Calls with the target in a borrowed value; anything but a string is a mistake of the program. */
static JSValue call_with_target(JSContext *ctx, const char *method, JSValueConst target, int argc, JSValueConst *argv)
{
    if (!JS_IsString(target))
        return JS_ThrowTypeError(ctx, "tools.%s needs a tool id or name as its first argument, a string", method);
    size_t len;
    const char *s = JS_ToCStringLen(ctx, &len, target);
    if (!s)
        return JS_EXCEPTION;
    JSValue r = cm_bridge_call(ctx, method, s, len, argc, argv);
    JS_FreeCString(ctx, s);
    return r;
}

static JSValue tools_call(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    return cm_rejected(ctx, call_with_target(ctx, "call", argc ? argv[0] : JS_UNDEFINED, argc > 1 ? 1 : 0, argv + 1));
}

static JSValue tools_describe(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    return cm_rejected(ctx, call_with_target(ctx, "describe", argc ? argv[0] : JS_UNDEFINED, 0, NULL));
}

static JSValue tools_search(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic)
{
    if (argc < 1 || !JS_IsString(argv[0]))
        return cm_rejected(ctx, JS_ThrowTypeError(ctx, "tools.search needs a query, a string"));
    return cm_rejected(ctx, cm_bridge_call(ctx, "search", "", 0, argc > 2 ? 2 : argc, argv));
}

/* Installs the three methods on the borrowed tools object; views.c makes the rest of it. */
int cm_api_define_tools(JSContext *ctx, JSValueConst tools)
{
    cm_define_locked(ctx, tools, "search", function(ctx, tools_search, "search", 2, 0));
    cm_define_locked(ctx, tools, "describe", function(ctx, tools_describe, "describe", 1, 0));
    return cm_define_locked(ctx, tools, "call", function(ctx, tools_call, "call", 2, 0));
}

int cm_api_init(JSContext *ctx)
{
    static const struct {
        const char *name;
        JSCFunctionMagic *f;
        int length;
        int magic;
    } globals[] = {
        {"text", api_text, 1, 0},
        {"json", api_json, 1, 0},
        {"image", api_content, 1, 0},
        {"file", api_content, 1, 1},
        {"yield_control", api_yield, 0, 0},
        {"setTimeout", api_set_timeout, 2, 0},
        {"clearTimeout", api_clear_timeout, 1, 0},
    };
    JSValue global = JS_GetGlobalObject(ctx);
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++)
        cm_define_locked(ctx, global, globals[i].name,
                         function(ctx, globals[i].f, globals[i].name, globals[i].length, globals[i].magic));
    JSValue console = JS_NewObject(ctx);
    for (int i = 0; i < COUNT(levels); i++)
        cm_define_locked(ctx, console, levels[i], function(ctx, api_console, levels[i], 0, i));
    for (int i = 0; i < COUNT(others); i++)
        cm_define_locked(ctx, console, others[i], function(ctx, api_console, others[i], 0, 0));
    for (int i = 0; i < COUNT(quiet); i++)
        cm_define_locked(ctx, console, quiet[i], function(ctx, api_quiet, quiet[i], 0, 0));
    cm_define_locked(ctx, console, "assert", function(ctx, api_assert, "assert", 0, 0));
    JS_FreezeObject(ctx, console);
    cm_define_locked(ctx, global, "console", console);
    JS_FreeValue(ctx, global);
    return 0;
}
