/* The JSON of single values: of primitives, and the texts that stand for what JSON does not know. Runs no
   code of the program, except for the description of an object of the prelude's classes, which is ours. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "json_writer.h"

#define MAX_NAME 100    /* bytes of a function's or symbol's name */
#define MAX_MESSAGE 200 /* bytes of what was thrown */

static JSValue regexp_to_string;  /* owned; the intrinsic, kept at boot */
static JSValue describe_instance; /* owned; of the prelude: text for an object of its classes, else undefined */

/* ---- texts ------------------------------------------------------------------------------------- */

enum cm_json cm_json_note(cm_writer *w, const char *text, const char *kind)
{
    cm_buf_put_json_string(w->out, text, strlen(text), NULL);
    cm_lossy_note(w, kind);
    return CM_JSON_OK;
}

/* Writes "[before inner]"; leaves out an empty name, or one that is not a string. */
static enum cm_json write_labelled(cm_writer *w, const char *before, JSValueConst inner, const char *kind)
{
    cm_buf text = {0};
    cm_buf_puts(&text, before);
    if (JS_IsString(inner)) {
        size_t len;
        const char *s = JS_ToCStringLen(w->ctx, &len, inner);
        if (len) {
            cm_buf_putc(&text, ' ');
            cm_buf_put(&text, s, cm_clip(s, len, MAX_NAME));
        }
        JS_FreeCString(w->ctx, s);
    }
    cm_buf_putc(&text, ']');
    cm_buf_put_json_string(w->out, text.data, text.len, NULL);
    cm_buf_free(&text);
    cm_lossy_note(w, kind);
    return CM_JSON_OK;
}

/* What the program threw while it was read stands in the value, unless the program is being interrupted. */
enum cm_json cm_json_thrown(cm_writer *w)
{
    JSContext *ctx = w->ctx;
    JSValue error = JS_GetException(ctx), message = JS_UNDEFINED;
    if (cm_shared.interrupt || JS_IsUncatchableError(error)) {
        JS_FreeValue(ctx, error);
        return CM_JSON_INTERRUPTED;
    }
    cm_buf text = {0};
    cm_buf_puts(&text, "[Threw");
    if (JS_IsString(error))
        message = JS_DupValue(ctx, error);
    else
        cm_engine_data_property(ctx, error, "message", &message);
    if (JS_IsString(message)) {
        size_t len;
        const char *s = JS_ToCStringLen(ctx, &len, message);
        cm_buf_puts(&text, ": ");
        cm_buf_put(&text, s, cm_clip(s, len, MAX_MESSAGE));
        JS_FreeCString(ctx, s);
    }
    cm_buf_puts(&text, "]");
    cm_buf_put_json_string(w->out, text.data, text.len, NULL);
    cm_lossy_note(w, "threw");
    cm_buf_free(&text);
    JS_FreeValue(ctx, message);
    JS_FreeValue(ctx, error);
    return CM_JSON_OK;
}

/* ---- primitives -------------------------------------------------------------------------------- */

enum cm_json cm_json_string(cm_writer *w, JSValueConst v)
{
    size_t len;
    bool replaced = false;
    const char *s = JS_ToCStringLen(w->ctx, &len, v);
    if (!s)
        return cm_json_thrown(w);
    cm_buf_put_json_string(w->out, s, len, &replaced);
    JS_FreeCString(w->ctx, s);
    if (replaced)
        cm_lossy_note(w, "surrogate");
    return CM_JSON_OK;
}

static enum cm_json write_number(cm_writer *w, JSValueConst v)
{
    double d;
    JS_ToFloat64(w->ctx, &d, v);
    if (!isfinite(d)) {
        cm_buf_puts(w->out, "null");
        cm_lossy_note(w, "number");
        return CM_JSON_OK;
    }
    if (d == 0) { /* also -0, which JSON.stringify writes as 0 */
        cm_buf_putc(w->out, '0');
        return CM_JSON_OK;
    }
    const char *s = JS_ToCString(w->ctx, v);
    cm_buf_puts(w->out, s);
    JS_FreeCString(w->ctx, s);
    return CM_JSON_OK;
}

static enum cm_json write_symbol(cm_writer *w, JSValueConst v)
{
    JSAtom atom = JS_ValueToAtom(w->ctx, v);
    const char *s = JS_AtomToCString(w->ctx, atom);
    JSValue text = JS_NewString(w->ctx, s ? s : "");
    enum cm_json r = write_labelled(w, "[Symbol", text, "symbol");
    JS_FreeValue(w->ctx, text);
    JS_FreeCString(w->ctx, s);
    JS_FreeAtom(w->ctx, atom);
    return r;
}

enum cm_json cm_json_primitive(cm_writer *w, JSValueConst v)
{
    switch (JS_VALUE_GET_NORM_TAG(v)) {
    case JS_TAG_BOOL:
        cm_buf_puts(w->out, JS_VALUE_GET_BOOL(v) ? "true" : "false");
        return CM_JSON_OK;
    case JS_TAG_INT:
    case JS_TAG_FLOAT64:
        return write_number(w, v);
    case JS_TAG_STRING:
    case JS_TAG_STRING_ROPE:
        return cm_json_string(w, v);
    case JS_TAG_BIG_INT:
    case JS_TAG_SHORT_BIG_INT:
        cm_lossy_note(w, "bigint");
        return cm_json_string(w, v);
    case JS_TAG_SYMBOL:
        return write_symbol(w, v);
    default: /* null, undefined */
        cm_buf_puts(w->out, "null");
        return CM_JSON_OK;
    }
}

/* ---- objects ----------------------------------------------------------------------------------- */

static void write_text_property(cm_writer *w, cm_object *o, JSValueConst error, const char *name, const char *fallback)
{
    JSValue v = JS_UNDEFINED;
    cm_object_key(o, name);
    if (cm_engine_data_property(w->ctx, error, name, &v) && JS_IsString(v))
        cm_json_string(w, v);
    else
        cm_buf_put_json_string(w->out, fallback, strlen(fallback), NULL);
    JS_FreeValue(w->ctx, v);
}

static enum cm_json write_error(cm_writer *w, JSValueConst v)
{
    cm_lossy_note(w, "error");
    cm_object o = cm_object_open(w->out);
    write_text_property(w, &o, v, "name", "Error");
    write_text_property(w, &o, v, "message", "");
    cm_object_close(&o);
    return CM_JSON_OK;
}

static enum cm_json write_date(cm_writer *w, JSValueConst v)
{
    JSValue text = cm_engine_date_text(w->ctx, v);
    if (JS_IsNull(text)) {
        cm_buf_puts(w->out, "null");
        cm_lossy_note(w, "date");
        return CM_JSON_OK;
    }
    enum cm_json r = JS_IsException(text) ? cm_json_thrown(w) : cm_json_string(w, text);
    JS_FreeValue(w->ctx, text);
    return r;
}

static enum cm_json write_function(cm_writer *w, JSValueConst v)
{
    JSValue name = JS_UNDEFINED;
    cm_engine_data_property(w->ctx, v, "name", &name);
    enum cm_json r = write_labelled(w, "[Function", name, "function");
    JS_FreeValue(w->ctx, name);
    return r;
}

/* Writes an owned text, or the exception in its place, for a value that is lost but for this text. */
static enum cm_json write_described(cm_writer *w, JSValue text, const char *kind)
{
    enum cm_json r;
    if (JS_IsException(text)) {
        r = cm_json_thrown(w);
    } else {
        cm_lossy_note(w, kind);
        r = cm_json_string(w, text);
    }
    JS_FreeValue(w->ctx, text);
    return r;
}

/* Writes an object that has a label, with its bytes if it is binary. */
static bool write_label(cm_writer *w, JSValueConst v, enum cm_json *r)
{
    uint32_t bytes;
    char text[80];
    const char *label = cm_engine_class_label(v, &bytes);
    if (!label)
        label = cm_web_label(v);
    if (!label)
        return false;
    if (bytes == UINT32_MAX)
        snprintf(text, sizeof text, "[%s]", label);
    else
        snprintf(text, sizeof text, "[%s of %u bytes]", label, bytes);
    *r = cm_json_note(w, text, bytes == UINT32_MAX ? "object" : "binary");
    return true;
}

bool cm_json_form(cm_writer *w, JSValueConst v, enum cm_json *r)
{
    if (JS_IsFunction(w->ctx, v))
        *r = write_function(w, v);
    else if (write_label(w, v, r))
        return true;
    else if (cm_engine_is_error(v))
        *r = write_error(w, v);
    else if (JS_IsRegExp(v))
        *r = write_described(w, JS_Call(w->ctx, regexp_to_string, v, 0, NULL), "regexp");
    else if (JS_IsDate(v))
        *r = write_date(w, v);
    else
        return false;
    return true;
}

/* Objects of the prelude's classes keep everything in private fields: as an object they would be `{}`. */
bool cm_json_instance(cm_writer *w, JSValueConst v, enum cm_json *r)
{
    if (!cm_engine_is_instance(w->ctx, v))
        return false;
    JSValueConst args[] = {v};
    JSValue text = JS_Call(w->ctx, describe_instance, JS_UNDEFINED, 1, args);
    if (JS_IsUndefined(text))
        return false;
    *r = write_described(w, text, "object");
    return true;
}

/* ---- boot -------------------------------------------------------------------------------------- */

JSValue cm_json_intrinsic(JSContext *ctx, const char *class, const char *method)
{
    JSValue global = JS_GetGlobalObject(ctx);
    JSValue ctor = JS_GetPropertyStr(ctx, global, class);
    JSValue proto = JS_GetPropertyStr(ctx, ctor, "prototype");
    JSValue f = JS_GetPropertyStr(ctx, proto, method);
    JS_FreeValue(ctx, proto);
    JS_FreeValue(ctx, ctor);
    JS_FreeValue(ctx, global);
    return f;
}

int cm_json_forms_init(JSContext *ctx)
{
    regexp_to_string = cm_json_intrinsic(ctx, "RegExp", "toString");
    return 0;
}

void cm_json_take(JSContext *ctx, JSValueConst internal)
{
    describe_instance = JS_GetPropertyStr(ctx, internal, "describeInstance");
}
