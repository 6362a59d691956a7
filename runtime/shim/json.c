/* Values to JSON, by the conversion rules of the contract. Written in C so that nothing a program
   replaces takes part; the program's own getters, proxies and toJSON run, and may throw or loop, but
   cannot touch the bytes already written. Here is the way through arrays, collections and objects;
   json_forms.c writes what is found at its ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json_writer.h"

static JSValue date_to_json; /* owned; the intrinsic, kept at boot */
static JSAtom atom_to_json;

static enum cm_json write_value(cm_writer *w, JSValueConst v);

/* Goes one step down: to the borrowed key, or to the index where the key is JS_ATOM_NULL. */
static void step_down(cm_writer *w, JSAtom key, uint32_t index)
{
    w->path[w->depth].key = key;
    w->path[w->depth].index = index;
    w->depth++;
}

/* Writes what is at the end of the path, and how it looks; takes over the value, which may be an exception. */
static enum cm_json write_outlined(cm_writer *w, JSValue v)
{
    cm_buf before = *w->out;
    size_t outlined = w->outline ? w->outline->text->len : 0;
    enum cm_json r = JS_IsException(v) ? cm_json_thrown(w) : write_value(w, v);
    if (w->outline && !r && !JS_IsObject(v) && !JS_IsException(v))
        cm_outline_primitive(w, v);
    else
        cm_outline_object(w, &before, outlined);
    JS_FreeValue(w->ctx, v);
    return r;
}

/* Writes a child of the value at the end of the path, whose outline is `inside`. Takes over the child. */
static enum cm_json write_child(cm_writer *w, cm_outline *inside, JSAtom key, uint32_t index, JSValue v)
{
    cm_outline part, *outline = w->outline;
    cm_outline_child(w, inside, &part, key);
    step_down(w, key, index);
    enum cm_json r = write_outlined(w, v);
    w->depth--;
    w->outline = outline;
    return r;
}

static enum cm_json write_array(cm_writer *w, JSValueConst v)
{
    int64_t len;
    if (JS_GetLength(w->ctx, v, &len))
        return cm_json_thrown(w);
    cm_buf_putc(w->out, '[');
    cm_outline inside = cm_outline_open(w, true, len < UINT32_MAX ? (uint32_t)len : UINT32_MAX);
    for (int64_t i = 0; i < len; i++) {
        if (i)
            cm_buf_putc(w->out, ',');
        if (cm_shared.interrupt)
            return CM_JSON_INTERRUPTED;
        enum cm_json r = write_child(w, &inside, JS_ATOM_NULL, (uint32_t)i, JS_GetPropertyInt64(w->ctx, v, i));
        if (r)
            return r;
    }
    cm_outline_close(w, &inside);
    cm_buf_putc(w->out, ']');
    return CM_JSON_OK;
}

/* Writes an entry of a Map: an array of its own in the JSON, so a step of its own on the path. Takes over
   key and value. */
static enum cm_json write_pair(cm_writer *w, cm_outline *around, uint32_t index, JSValue key, JSValue value)
{
    cm_outline part, *outline = w->outline;
    cm_outline_child(w, around, &part, JS_ATOM_NULL);
    step_down(w, JS_ATOM_NULL, index);
    w->path[w->depth].object = NULL;
    cm_buf_putc(w->out, '[');
    cm_outline inside = cm_outline_open(w, true, 2);
    enum cm_json r = write_child(w, &inside, JS_ATOM_NULL, 0, key);
    cm_buf_putc(w->out, ',');
    if (r)
        JS_FreeValue(w->ctx, value);
    else
        r = write_child(w, &inside, JS_ATOM_NULL, 1, value);
    cm_buf_putc(w->out, ']');
    cm_outline_close(w, &inside);
    w->outline = outline;
    w->depth--;
    return r;
}

/* Writes the owned items of a Set (width 1) or a Map (width 2). */
static enum cm_json write_collection(cm_writer *w, int width, JSValue *items, uint32_t count)
{
    enum cm_json r = CM_JSON_OK;
    uint32_t i;
    cm_lossy_note(w, width == 2 ? "map" : "set");
    cm_buf_putc(w->out, '[');
    cm_outline inside = cm_outline_open(w, true, count / (uint32_t)width);
    for (i = 0; i < count && !r; i += (uint32_t)width) {
        if (i)
            cm_buf_putc(w->out, ',');
        if (cm_shared.interrupt) {
            r = CM_JSON_INTERRUPTED;
            break;
        }
        r = width == 2 ? write_pair(w, &inside, i / 2, items[i], items[i + 1])
                       : write_child(w, &inside, JS_ATOM_NULL, i, items[i]);
    }
    cm_buf_putc(w->out, ']');
    cm_outline_close(w, &inside);
    for (; i < count; i++) /* what was not written */
        JS_FreeValue(w->ctx, items[i]);
    js_free(w->ctx, items);
    return r;
}

/* Writes a key and the colon, and returns whether a lone surrogate in it was replaced. */
static bool write_key(cm_writer *w, JSAtom key)
{
    size_t len;
    bool replaced = false;
    const char *s = JS_AtomToCStringLen(w->ctx, &len, key);
    cm_buf_put_json_string(w->out, s, len, &replaced);
    JS_FreeCString(w->ctx, s);
    cm_buf_putc(w->out, ':');
    return replaced;
}

/* Writes the members of an object under these borrowed names. */
static enum cm_json write_members(cm_writer *w, JSValueConst v, const JSPropertyEnum *names, uint32_t count)
{
    bool first = true;
    cm_buf_putc(w->out, '{');
    cm_outline inside = cm_outline_open(w, false, count);
    for (uint32_t i = 0; i < count; i++) {
        JSAtom key = names[i].atom;
        if (cm_shared.interrupt)
            return CM_JSON_INTERRUPTED;
        JSValue item = JS_GetProperty(w->ctx, v, key);
        if (JS_IsUndefined(item))
            continue;
        if (!first)
            cm_buf_putc(w->out, ',');
        first = false;
        if (write_key(w, key)) {
            step_down(w, key, 0);
            cm_lossy_note(w, "surrogate");
            w->depth--;
        }
        enum cm_json r = write_child(w, &inside, key, 0, item);
        if (r)
            return r;
    }
    cm_buf_putc(w->out, '}');
    cm_outline_close(w, &inside);
    return CM_JSON_OK;
}

static enum cm_json write_object(cm_writer *w, JSValueConst v)
{
    JSPropertyEnum *names;
    uint32_t count;
    enum cm_json r;
    if (JS_GetOwnPropertyNames(w->ctx, &names, &count, v, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY))
        return cm_json_thrown(w);
    if (count || !cm_json_instance(w, v, &r))
        r = write_members(w, v, names, count);
    JS_FreePropertyEnum(w->ctx, names, count);
    return r;
}

static enum cm_json write_by_kind(cm_writer *w, JSValueConst v)
{
    enum cm_json r;
    JSValue *items;
    uint32_t count;
    int width = cm_engine_collection(w->ctx, v, &items, &count);
    if (width)
        return write_collection(w, width, items, count);
    if (cm_json_form(w, v, &r))
        return r;
    int array = cm_engine_is_array(w->ctx, v);
    if (array < 0)
        return cm_json_thrown(w);
    return array ? write_array(w, v) : write_object(w, v);
}

/* Writes a value that toJSON is not asked for any more. */
static enum cm_json write_plain(cm_writer *w, JSValueConst v)
{
    if (!JS_IsObject(v))
        return cm_json_primitive(w, v);
    JSValue boxed = cm_engine_boxed_value(v);
    if (JS_VALUE_GET_TAG(boxed) == JS_TAG_UNINITIALIZED)
        return write_by_kind(w, v);
    enum cm_json r = cm_json_primitive(w, boxed);
    JS_FreeValue(w->ctx, boxed);
    return r;
}

/* Returns what toJSON gets as its argument (owned): the key or index under which the value was found. */
static JSValue key_for_to_json(cm_writer *w)
{
    char index[12];
    if (!w->depth)
        return JS_NewString(w->ctx, "");
    const cm_step *last = &w->path[w->depth - 1];
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
static bool write_by_to_json(cm_writer *w, JSValueConst v, enum cm_json *r)
{
    JSContext *ctx = w->ctx;
    JSValue method = JS_GetProperty(ctx, v, atom_to_json);
    if (JS_IsException(method)) {
        *r = cm_json_thrown(w);
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
    *r = JS_IsException(plain) ? cm_json_thrown(w) : write_plain(w, plain);
    JS_FreeValue(ctx, plain);
    return true;
}

static enum cm_json write_value(cm_writer *w, JSValueConst v)
{
    if (!JS_IsObject(v))
        return cm_json_primitive(w, v);
    void *self = JS_VALUE_GET_PTR(v);
    for (int i = 0; i < w->depth; i++)
        if (w->path[i].object == self)
            return cm_json_note(w, "[Circular]", "circular");
    if (w->depth >= CM_MAX_DEPTH) {
        if (w->strict)
            return CM_JSON_TOO_DEEP;
        return cm_json_note(w, "[Nested too deep]", "depth");
    }
    w->path[w->depth].object = self;

    enum cm_json r;
    return write_by_to_json(w, v, &r) ? r : write_plain(w, v);
}

static cm_writer *new_writer(JSContext *ctx, cm_buf *out)
{
    cm_writer *w = malloc(sizeof *w); /* too large for the stack of a program that is deep already */
    memset(w, 0, sizeof *w);
    w->ctx = ctx;
    w->out = out;
    return w;
}

enum cm_json cm_json_write(JSContext *ctx, cm_buf *out, JSValueConst v, bool strict)
{
    cm_writer *w = new_writer(ctx, out);
    w->strict = strict;
    enum cm_json r = write_value(w, v);
    free(w);
    return r;
}

enum cm_json cm_json_write_result(JSContext *ctx, cm_buf *out, JSValueConst v, cm_buf *lossy, cm_buf *outline)
{
    cm_outline root = {.text = outline, .end = outline->most - outline->most / 8};
    cm_writer *w = new_writer(ctx, out);
    w->lossy = lossy;
    w->outline = &root;
    enum cm_json r = write_outlined(w, JS_DupValue(ctx, v));
    free(w);
    return r;
}

int cm_json_init(JSContext *ctx)
{
    date_to_json = cm_json_intrinsic(ctx, "Date", "toJSON");
    atom_to_json = JS_NewAtom(ctx, "toJSON");
    return cm_json_forms_init(ctx);
}
