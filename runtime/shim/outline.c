/* What a value looks like that is too large to cross: its type, keys, lengths and first elements. It is written
   beside the JSON, on the same way through the value, so that no code of the program runs for it. */
#include "json_writer.h"

#define MAX_LEVELS 4   /* containers inside of each other that are opened */
#define MAX_ITEMS 3    /* elements of a list */
#define MAX_MEMBERS 20 /* of an object */
#define MAX_TEXT 60    /* bytes of JSON of a text, or of a key */
#define CLOSING 32     /* bytes kept free for what stands at the end of a container */

static size_t room(const cm_outline *o) { return o->end > o->text->len ? o->end - o->text->len : 0; }

/* Appends the JSON of a leaf, of which so many bytes are there, perhaps up to the middle of a character. */
static void put_leaf(cm_outline *o, const char *json, size_t kept, size_t whole)
{
    if (kept == whole && whole <= MAX_TEXT) {
        cm_buf_put(o->text, json, kept);
        return;
    }
    size_t safe = kept == whole ? kept : kept > 3 ? kept - 3 : 0;
    cm_buf_put(o->text, safe ? json : "\"", safe ? cm_clip(json, kept, safe < MAX_TEXT ? safe : MAX_TEXT) : 1);
    cm_buf_puts(o->text, "…\" (");
    cm_buf_put_uint(o->text, (uint32_t)whole);
    cm_buf_puts(o->text, " bytes)");
}

cm_outline cm_outline_open(cm_writer *w, bool is_list, uint32_t count)
{
    cm_outline *o = w->outline;
    if (!o)
        return (cm_outline){0};
    if (is_list) {
        cm_buf_puts(o->text, "array of ");
        cm_buf_put_uint(o->text, count);
    } else if (!o->level) {
        cm_buf_puts(o->text, "object of ");
        cm_buf_put_uint(o->text, count);
        cm_buf_puts(o->text, count == 1 ? " key" : " keys");
    }
    cm_outline inside = {.text = o->text, .end = o->end, .level = o->level + 1, .is_list = is_list, .count = count};
    if (room(o) < CLOSING * 2 || o->level >= MAX_LEVELS)
        inside.is_shut = true;
    if (!inside.is_shut || !is_list)
        cm_buf_puts(o->text, is_list ? " [" : o->level ? "{" : " {");
    return inside;
}

void cm_outline_close(cm_writer *w, cm_outline *inside)
{
    cm_buf *text = inside->text;
    if (!text || !w->outline || (inside->is_shut && inside->is_list))
        return;
    if (inside->seen > inside->shown) {
        uint32_t others = inside->seen - inside->shown;
        cm_buf_puts(text, inside->shown ? ", …" : "…");
        if (!inside->is_list) {
            cm_buf_putc(text, ' ');
            cm_buf_put_uint(text, others);
            cm_buf_puts(text, inside->shown ? " more key" : " key");
            cm_buf_puts(text, others == 1 ? "" : "s");
        }
    }
    cm_buf_putc(text, inside->is_list ? ']' : '}');
}

/* Begins a child of a container; `part` is its own part of the outline, or nothing is written of it. */
void cm_outline_child(cm_writer *w, cm_outline *inside, cm_outline *part, JSAtom key)
{
    w->outline = NULL;
    if (!inside->text)
        return;
    uint32_t most = inside->is_list ? MAX_ITEMS : MAX_MEMBERS, all = inside->count < most ? inside->count : most;
    inside->seen++;
    if (inside->is_shut || inside->shown >= all || room(inside) < CLOSING * 2 + MAX_TEXT) {
        inside->is_full = true;
        return;
    }
    if (inside->is_full)
        return;
    if (inside->shown)
        cm_buf_puts(inside->text, ", ");
    if (key) {
        size_t len;
        const char *s = JS_AtomToCStringLen(w->ctx, &len, key);
        cm_buf json = {0};
        cm_buf_put_json_string(&json, s ? s : "", s ? len : 0, NULL);
        cm_buf_put(inside->text, json.data, cm_clip(json.data, json.len, MAX_TEXT));
        if (json.len > MAX_TEXT)
            cm_buf_puts(inside->text, "…\"");
        cm_buf_puts(inside->text, ": ");
        cm_buf_free(&json);
        JS_FreeCString(w->ctx, s);
    }
    /* each child may take its share of what is left, so that the last ones have a place too */
    size_t left = room(inside) > CLOSING ? room(inside) - CLOSING : 0, share = left / (all - inside->shown);
    *part = (cm_outline){.text = inside->text, .end = inside->text->len + share, .level = inside->level};
    inside->shown++;
    w->outline = part;
}

void cm_outline_primitive(cm_writer *w, JSValueConst v)
{
    cm_buf json = {.most = MAX_TEXT + 4}, *out = w->out, *lossy = w->lossy;
    w->out = &json, w->lossy = NULL;
    cm_json_primitive(w, v);
    w->out = out, w->lossy = lossy;
    put_leaf(w->outline, json.data, json.len, json.len + json.dropped);
    cm_buf_free(&json);
}

/* An object that opened no container is shown as the JSON written for it since `before`: it is gone by now, and
   to write it again might run code of the program. */
void cm_outline_object(cm_writer *w, const cm_buf *before, size_t outlined)
{
    cm_outline *o = w->outline;
    size_t kept = w->out->len - before->len, whole = kept + (w->out->dropped - before->dropped);
    if (o && o->text->len == outlined)
        put_leaf(o, kept ? w->out->data + before->len : "", kept, whole);
}
