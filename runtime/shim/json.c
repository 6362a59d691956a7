/* Values to JSON, by the conversion rules of the contract. Written in C so that nothing a program
   replaces takes part; the program's own getters, proxies and toJSON run, and may throw or loop, but
   cannot touch the bytes already written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shim.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* One step of the way from the root to the value being written. */
typedef struct {
    void *object;
    JSAtom key;      /* JS_ATOM_NULL for an index */
    uint32_t index;
} step;

typedef struct {
    JSContext *ctx;
    cm_buf *out, *lossy;
    bool strict;
    unsigned lossy_count;
    int depth;
    step path[CM_MAX_DEPTH + 1];
} writer;

static JSValue date_to_json, regexp_to_string; /* the intrinsics, kept at boot */
static JSValue describe_instance; /* of the prelude: text for an object of its classes, else undefined */
static JSAtom atom_to_json;

static enum cm_json write_value(writer *w, JSValueConst v);

/* `.key`, or `["key"]` for one that is no identifier: "a.b" is another place than b inside a. */
static void put_key(cm_buf *path, const char *key, size_t len)
{
    bool plain = len && !(key[0] >= '0' && key[0] <= '9');
    for (size_t i = 0; i < len && plain; i++) {
        unsigned char c = (unsigned char)key[i];
        plain = c >= 0x80 || c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                (c >= 'A' && c <= 'Z');
    }
    if (plain) {
        cm_buf_putc(path, '.');
        cm_buf_put(path, key, len);
        return;
    }
    cm_buf_putc(path, '[');
    cm_buf_put_json_string(path, key, len, NULL);
    cm_buf_putc(path, ']');
}

static void note_lossy(writer *w, const char *kind)
{
    if (!w->lossy || ++w->lossy_count > CM_MAX_LOSSY)
        return;
    cm_buf path = {0};
    cm_buf_putc(&path, '$');
    for (int i = 0; i < w->depth; i++) {
        if (w->path[i].key) {
            size_t len;
            const char *key = JS_AtomToCStringLen(w->ctx, &len, w->path[i].key);
            put_key(&path, key ? key : "", key ? cm_clip(key, len, 200) : 0);
            JS_FreeCString(w->ctx, key);
        } else {
            cm_buf_putc(&path, '[');
            cm_buf_put_uint(&path, w->path[i].index);
            cm_buf_putc(&path, ']');
        }
    }
    if (w->lossy->len)
        cm_buf_putc(w->lossy, ',');
    cm_buf_puts(w->lossy, "{\"path\":");
    cm_buf_put_json_string(w->lossy, path.data, cm_clip(path.data, path.len, CM_MAX_PATH), NULL);
    cm_buf_puts(w->lossy, ",\"kind\":\"");
    cm_buf_puts(w->lossy, kind);
    cm_buf_puts(w->lossy, "\"}");
    cm_buf_free(&path);
}

static enum cm_json write_note(writer *w, const char *text, const char *kind)
{
    cm_buf_put_json_string(w->out, text, strlen(text), NULL);
    note_lossy(w, kind);
    return CM_JSON_OK;
}

/* The program threw while it was read: says so in the value, unless it is being interrupted. */
static enum cm_json write_thrown(writer *w)
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
        cm_buf_put(&text, s, cm_clip(s, len, 200));
        JS_FreeCString(ctx, s);
    }
    cm_buf_puts(&text, "]");
    cm_buf_put_json_string(w->out, text.data, text.len, NULL);
    note_lossy(w, "threw");
    cm_buf_free(&text);
    JS_FreeValue(ctx, message);
    JS_FreeValue(ctx, error);
    return CM_JSON_OK;
}

static enum cm_json write_string(writer *w, JSValueConst v)
{
    size_t len;
    bool replaced = false;
    const char *s = JS_ToCStringLen(w->ctx, &len, v);
    if (!s)
        return write_thrown(w);
    cm_buf_put_json_string(w->out, s, len, &replaced);
    JS_FreeCString(w->ctx, s);
    if (replaced)
        note_lossy(w, "surrogate");
    return CM_JSON_OK;
}

static enum cm_json write_number(writer *w, JSValueConst v)
{
    double d;
    JS_ToFloat64(w->ctx, &d, v);
    if (!isfinite(d)) {
        cm_buf_puts(w->out, "null");
        note_lossy(w, "number");
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

static enum cm_json write_labelled(writer *w, const char *before, JSValueConst inner, const char *kind)
{
    cm_buf text = {0};
    cm_buf_puts(&text, before);
    if (JS_IsString(inner)) {
        size_t len;
        const char *s = JS_ToCStringLen(w->ctx, &len, inner);
        if (len) {
            cm_buf_putc(&text, ' ');
            cm_buf_put(&text, s, cm_clip(s, len, 100));
        }
        JS_FreeCString(w->ctx, s);
    }
    cm_buf_putc(&text, ']');
    cm_buf_put_json_string(w->out, text.data, text.len, NULL);
    cm_buf_free(&text);
    note_lossy(w, kind);
    return CM_JSON_OK;
}

static enum cm_json write_symbol(writer *w, JSValueConst v)
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

static enum cm_json write_primitive(writer *w, JSValueConst v)
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
        return write_string(w, v);
    case JS_TAG_BIG_INT:
    case JS_TAG_SHORT_BIG_INT:
        note_lossy(w, "bigint");
        return write_string(w, v);
    case JS_TAG_SYMBOL:
        return write_symbol(w, v);
    default: /* null, undefined */
        cm_buf_puts(w->out, "null");
        return CM_JSON_OK;
    }
}

/* Writes one child; its key is already on the page and on the path. */
static enum cm_json write_child(writer *w, JSAtom key, uint32_t index, JSValueConst v)
{
    w->path[w->depth].key = key;
    w->path[w->depth].index = index;
    w->depth++;
    enum cm_json r = write_value(w, v);
    w->depth--;
    return r;
}

static enum cm_json write_array(writer *w, JSValueConst v)
{
    JSContext *ctx = w->ctx;
    int64_t len;
    if (JS_GetLength(ctx, v, &len))
        return write_thrown(w);
    cm_buf_putc(w->out, '[');
    for (int64_t i = 0; i < len; i++) {
        if (i)
            cm_buf_putc(w->out, ',');
        if (cm_shared.interrupt)
            return CM_JSON_INTERRUPTED;
        JSValue item = JS_GetPropertyInt64(ctx, v, i);
        enum cm_json r;
        if (JS_IsException(item)) {
            w->path[w->depth].key = JS_ATOM_NULL;
            w->path[w->depth++].index = (uint32_t)i;
            r = write_thrown(w);
            w->depth--;
        } else {
            r = write_child(w, JS_ATOM_NULL, (uint32_t)i, item);
        }
        JS_FreeValue(ctx, item);
        if (r)
            return r;
    }
    cm_buf_putc(w->out, ']');
    return CM_JSON_OK;
}

/* An entry of a Map: an array of its own in the JSON, so a step of its own on the path. */
static enum cm_json write_pair(writer *w, uint32_t index, const JSValue *pair)
{
    w->path[w->depth].key = JS_ATOM_NULL;
    w->path[w->depth++].index = index;
    w->path[w->depth].object = NULL;
    cm_buf_putc(w->out, '[');
    enum cm_json r = write_child(w, JS_ATOM_NULL, 0, pair[0]);
    if (!r) {
        cm_buf_putc(w->out, ',');
        r = write_child(w, JS_ATOM_NULL, 1, pair[1]);
    }
    cm_buf_putc(w->out, ']');
    w->depth--;
    return r;
}

static enum cm_json write_collection(writer *w, int width, JSValue *items, uint32_t count)
{
    enum cm_json r = CM_JSON_OK;
    note_lossy(w, width == 2 ? "map" : "set");
    cm_buf_putc(w->out, '[');
    for (uint32_t i = 0; i < count && !r; i += (uint32_t)width) {
        if (i)
            cm_buf_putc(w->out, ',');
        r = width == 2 ? write_pair(w, i / 2, items + i) : write_child(w, JS_ATOM_NULL, i, items[i]);
    }
    cm_buf_putc(w->out, ']');
    for (uint32_t i = 0; i < count; i++)
        JS_FreeValue(w->ctx, items[i]);
    js_free(w->ctx, items);
    return r;
}

/* Objects of the prelude's classes keep everything in private fields: as an object they would be `{}`. The
   function that is asked runs no code of the program. */
static bool write_instance(writer *w, JSValueConst v, enum cm_json *r)
{
    if (!cm_engine_is_instance(w->ctx, v))
        return false;
    JSValueConst args[] = {v};
    JSValue text = JS_Call(w->ctx, describe_instance, JS_UNDEFINED, 1, args);
    bool found = !JS_IsUndefined(text);
    if (JS_IsException(text)) {
        *r = write_thrown(w);
    } else if (found) {
        note_lossy(w, "object");
        *r = write_string(w, text);
    }
    JS_FreeValue(w->ctx, text);
    return found;
}

static enum cm_json write_object(writer *w, JSValueConst v)
{
    JSContext *ctx = w->ctx;
    JSPropertyEnum *names;
    uint32_t count;
    if (JS_GetOwnPropertyNames(ctx, &names, &count, v, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY))
        return write_thrown(w);
    enum cm_json r = CM_JSON_OK;
    bool first = true;
    if (!count && write_instance(w, v, &r)) {
        JS_FreePropertyEnum(ctx, names, count);
        return r;
    }
    cm_buf_putc(w->out, '{');
    for (uint32_t i = 0; i < count && !r; i++) {
        JSAtom key = names[i].atom;
        if (cm_shared.interrupt) {
            r = CM_JSON_INTERRUPTED;
            break;
        }
        JSValue item = JS_GetProperty(ctx, v, key);
        if (JS_IsUndefined(item))
            continue;
        if (!first)
            cm_buf_putc(w->out, ',');
        first = false;
        size_t len;
        bool replaced = false;
        const char *s = JS_AtomToCStringLen(ctx, &len, key);
        cm_buf_put_json_string(w->out, s, len, &replaced);
        JS_FreeCString(ctx, s);
        cm_buf_putc(w->out, ':');
        w->path[w->depth++].key = key;
        if (replaced)
            note_lossy(w, "surrogate");
        r = JS_IsException(item) ? write_thrown(w) : write_value(w, item);
        w->depth--;
        JS_FreeValue(ctx, item);
    }
    JS_FreePropertyEnum(ctx, names, count);
    cm_buf_putc(w->out, '}');
    return r;
}

static void write_text_property(writer *w, JSValueConst error, const char *name, const char *fallback)
{
    JSValue v = JS_UNDEFINED;
    if (cm_engine_data_property(w->ctx, error, name, &v) && JS_IsString(v))
        write_string(w, v);
    else
        cm_buf_put_json_string(w->out, fallback, strlen(fallback), NULL);
    JS_FreeValue(w->ctx, v);
}

static enum cm_json write_error(writer *w, JSValueConst v)
{
    note_lossy(w, "error");
    cm_buf_puts(w->out, "{\"name\":");
    write_text_property(w, v, "name", "Error");
    cm_buf_puts(w->out, ",\"message\":");
    write_text_property(w, v, "message", "");
    cm_buf_putc(w->out, '}');
    return CM_JSON_OK;
}

static enum cm_json write_date(writer *w, JSValueConst v)
{
    JSValue text = cm_engine_date_text(w->ctx, v);
    if (JS_IsNull(text)) {
        cm_buf_puts(w->out, "null");
        note_lossy(w, "date");
        return CM_JSON_OK;
    }
    enum cm_json r = JS_IsException(text) ? write_thrown(w) : write_string(w, text);
    JS_FreeValue(w->ctx, text);
    return r;
}

/* Objects whose kind decides their form; false if the value is to be written as a plain object. */
static bool write_special(writer *w, JSValueConst v, enum cm_json *r)
{
    JSContext *ctx = w->ctx;
    JSValue *items;
    uint32_t count, bytes;
    if (JS_IsFunction(ctx, v)) {
        JSValue name = JS_UNDEFINED;
        cm_engine_data_property(ctx, v, "name", &name);
        *r = write_labelled(w, "[Function", name, "function");
        JS_FreeValue(ctx, name);
        return true;
    }
    int width = cm_engine_collection(ctx, v, &items, &count);
    if (width) {
        *r = write_collection(w, width, items, count);
        return true;
    }
    const char *label = cm_engine_class_label(ctx, v, &bytes);
    if (!label)
        label = cm_web_label(v);
    if (label) {
        char text[80];
        if (bytes == UINT32_MAX)
            snprintf(text, sizeof text, "[%s]", label);
        else
            snprintf(text, sizeof text, "[%s of %u bytes]", label, bytes);
        *r = write_note(w, text, bytes == UINT32_MAX ? "object" : "binary");
        return true;
    }
    if (cm_engine_is_error(v)) {
        *r = write_error(w, v);
        return true;
    }
    if (JS_IsRegExp(v)) {
        JSValue text = JS_Call(ctx, regexp_to_string, v, 0, NULL);
        if (JS_IsException(text)) {
            *r = write_thrown(w);
        } else {
            note_lossy(w, "regexp");
            *r = write_string(w, text);
        }
        JS_FreeValue(ctx, text);
        return true;
    }
    return false;
}

static enum cm_json write_by_kind(writer *w, JSValueConst v)
{
    enum cm_json r;
    if (write_special(w, v, &r))
        return r;
    if (JS_IsDate(v))
        return write_date(w, v);
    int array = cm_engine_is_array(w->ctx, v);
    if (array < 0)
        return write_thrown(w);
    return array ? write_array(w, v) : write_object(w, v);
}

/* A value that toJSON is not asked for any more. */
static enum cm_json write_plain(writer *w, JSValueConst v)
{
    if (!JS_IsObject(v))
        return write_primitive(w, v);
    JSValue boxed = cm_engine_boxed_value(w->ctx, v);
    if (JS_VALUE_GET_TAG(boxed) == JS_TAG_UNINITIALIZED)
        return write_by_kind(w, v);
    enum cm_json r = write_primitive(w, boxed);
    JS_FreeValue(w->ctx, boxed);
    return r;
}

/* What toJSON gets as its argument, owned: the key or index under which the value was found. */
static JSValue key_for_to_json(writer *w)
{
    char index[12];
    if (!w->depth)
        return JS_NewString(w->ctx, "");
    const step *last = &w->path[w->depth - 1];
    if (last->key)
        return JS_AtomToString(w->ctx, last->key);
    snprintf(index, sizeof index, "%u", last->index);
    return JS_NewString(w->ctx, index);
}

static bool same_function(JSValueConst a, JSValueConst b)
{
    return JS_IsObject(a) && JS_IsObject(b) && JS_VALUE_GET_PTR(a) == JS_VALUE_GET_PTR(b);
}

/* A toJSON of the program's own is honoured; the one that Date has by itself is not asked. */
static bool write_by_to_json(writer *w, JSValueConst v, enum cm_json *r)
{
    JSContext *ctx = w->ctx;
    JSValue method = JS_GetProperty(ctx, v, atom_to_json);
    if (JS_IsException(method)) {
        *r = write_thrown(w);
        return true;
    }
    if (same_function(method, date_to_json) || !JS_IsFunction(ctx, method)) {
        JS_FreeValue(ctx, method);
        return false;
    }
    JSValue key = key_for_to_json(w);
    JSValueConst args[] = {key};
    JSValue plain = JS_Call(ctx, method, v, 1, args);
    JS_FreeValue(ctx, key);
    JS_FreeValue(ctx, method);
    *r = JS_IsException(plain) ? write_thrown(w) : write_plain(w, plain);
    JS_FreeValue(ctx, plain);
    return true;
}

static enum cm_json write_value(writer *w, JSValueConst v)
{
    if (!JS_IsObject(v))
        return write_primitive(w, v);
    void *self = JS_VALUE_GET_PTR(v);
    for (int i = 0; i < w->depth; i++)
        if (w->path[i].object == self)
            return write_note(w, "[Circular]", "circular");
    if (w->depth >= CM_MAX_DEPTH) {
        if (w->strict)
            return CM_JSON_TOO_DEEP;
        return write_note(w, "[Nested too deep]", "depth");
    }
    w->path[w->depth].object = self;

    enum cm_json r;
    return write_by_to_json(w, v, &r) ? r : write_plain(w, v);
}

enum cm_json cm_json_write(JSContext *ctx, cm_buf *out, JSValueConst v, cm_buf *lossy, bool strict)
{
    writer *w = malloc(sizeof *w); /* too large for the stack of a program that is deep already */
    memset(w, 0, sizeof *w);
    w->ctx = ctx;
    w->out = out;
    w->lossy = lossy;
    w->strict = strict;
    enum cm_json r = write_value(w, v);
    free(w);
    return r;
}

static JSValue intrinsic(JSContext *ctx, const char *class, const char *method)
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

void cm_json_take(JSContext *ctx, JSValueConst internal)
{
    describe_instance = JS_GetPropertyStr(ctx, internal, "describeInstance");
}

int cm_json_init(JSContext *ctx)
{
    date_to_json = intrinsic(ctx, "Date", "toJSON");
    regexp_to_string = intrinsic(ctx, "RegExp", "toString");
    atom_to_json = JS_NewAtom(ctx, "toJSON");
    return 0;
}
