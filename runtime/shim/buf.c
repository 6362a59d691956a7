/* Growing bytes, strings as JSON, and JSON objects. Nothing here fails: going over the heap stops the
   guest. Every byte goes through cm_buf_put, which checks the bounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shim.h"

#define MOST_COUNTED (SIZE_MAX / 4) /* a sum that wrapped around would pass for a small one */

/* Keeps the last bytes of what is dropped, in a ring that is written over again and again. */
static void keep_last(cm_buf *b, const char *data, size_t len)
{
    if (!b->last)
        b->last = malloc(b->keep_last);
    if (len > b->keep_last) {
        data += len - b->keep_last;
        len = b->keep_last;
    }
    size_t first = b->keep_last - b->last_at;
    if (first > len)
        first = len;
    memcpy(b->last + b->last_at, data, first);
    memcpy(b->last, data + first, len - first);
    b->last_at = (b->last_at + len) % b->keep_last;
}

void cm_buf_put(cm_buf *b, const void *data, size_t len)
{
    if (b->most && len > b->most - b->len) {
        size_t room = b->most - b->len, rest = len - room;
        if (b->keep_last)
            keep_last(b, (const char *)data + room, rest);
        b->dropped = rest < MOST_COUNTED - b->dropped ? b->dropped + rest : MOST_COUNTED;
        len = room;
    }
    if (!len)
        return;
    size_t need;
    if (__builtin_add_overflow(b->len, len, &need) || need > SIZE_MAX / 2)
        cm_stop(CM_STOP_MEMORY);
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : 256;
        while (cap < need)
            cap += cap / 2 + 256;
        b->data = realloc(b->data, cap); /* never NULL: going over the heap stops the guest */
        b->cap = cap;
    }
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

void cm_buf_puts(cm_buf *b, const char *s) { cm_buf_put(b, s, strlen(s)); }
void cm_buf_putc(cm_buf *b, char c) { cm_buf_put(b, &c, 1); }

void cm_buf_put_uint(cm_buf *b, uint32_t v)
{
    char text[12];
    cm_buf_put(b, text, (size_t)snprintf(text, sizeof text, "%u", v));
}

void cm_buf_free(cm_buf *b)
{
    free(b->data);
    free(b->last);
    *b = (cm_buf){0};
}

void cm_buf_put_end(cm_buf *b, const cm_buf *from, size_t len)
{
    size_t dropped = from->dropped < from->keep_last ? from->dropped : from->keep_last;
    if (len > dropped) {
        size_t kept = len - dropped < from->len ? len - dropped : from->len;
        cm_buf_put(b, from->data + from->len - kept, kept);
        len = dropped;
    }
    if (!len)
        return;
    size_t start = (from->last_at + from->keep_last - len) % from->keep_last;
    size_t first = from->keep_last - start < len ? from->keep_last - start : len;
    cm_buf_put(b, from->last + start, first);
    cm_buf_put(b, from->last, len - first);
}

size_t cm_clip(const char *utf8, size_t len, size_t max)
{
    if (len <= max)
        return len;
    while (max && ((unsigned char)utf8[max] & 0xC0) == 0x80)
        max--;
    return max;
}

/* ---- JSON ------------------------------------------------------------------------------------- */

/* Returns the escape for a byte, or NULL if it stands for itself. `control` has room for \u00xx. */
static const char *escape_for(unsigned char c, char control[7])
{
    static const char hex[] = "0123456789abcdef";
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case '\b': /* these two as the host writes them, which counts the same bytes */
        return "\\b";
    case '\f':
        return "\\f";
    }
    if (c >= 0x20)
        return NULL;
    memcpy(control, "\\u00", 4);
    control[4] = hex[c >> 4], control[5] = hex[c & 15], control[6] = 0;
    return control;
}

/* QuickJS hands out a lone surrogate as three bytes ED A0..BF xx: not UTF-8, becomes U+FFFD. */
void cm_buf_put_json_string(cm_buf *b, const char *utf8, size_t len, bool *replaced)
{
    char control[7];
    cm_buf_putc(b, '"');
    size_t start = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)utf8[i];
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0xED)
            continue; /* nearly every byte */
        const char *escape = escape_for(c, control);
        size_t skip = 1;
        if (c == 0xED && i + 2 < len && ((unsigned char)utf8[i + 1] & 0xE0) == 0xA0) {
            escape = "\xEF\xBF\xBD";
            skip = 3;
            if (replaced)
                *replaced = true;
        }
        if (escape) {
            cm_buf_put(b, utf8 + start, i - start);
            cm_buf_puts(b, escape);
            i += skip - 1;
            start = i + 1;
        }
    }
    cm_buf_put(b, utf8 + start, len - start);
    cm_buf_putc(b, '"');
}

size_t cm_json_cost(const char *utf8, size_t at)
{
    char control[7];
    const char *escape = escape_for((unsigned char)utf8[at], control);
    return escape ? strlen(escape) : 1;
}

cm_object cm_object_open(cm_buf *out)
{
    cm_buf_putc(out, '{');
    return (cm_object){.out = out};
}

void cm_object_close(cm_object *o) { cm_buf_putc(o->out, '}'); }

void cm_object_key(cm_object *o, const char *key)
{
    if (o->has_member)
        cm_buf_putc(o->out, ',');
    o->has_member = true;
    cm_buf_put_json_string(o->out, key, strlen(key), NULL);
    cm_buf_putc(o->out, ':');
}

void cm_object_json(cm_object *o, const char *key, const char *json, size_t len)
{
    cm_object_key(o, key);
    cm_buf_put(o->out, json, len);
}

void cm_object_text(cm_object *o, const char *key, const char *utf8, size_t len)
{
    cm_object_key(o, key);
    cm_buf_put_json_string(o->out, utf8, len, NULL);
}

void cm_object_word(cm_object *o, const char *key, const char *text) { cm_object_text(o, key, text, strlen(text)); }

void cm_object_uint(cm_object *o, const char *key, uint32_t v)
{
    cm_object_key(o, key);
    cm_buf_put_uint(o->out, v);
}

void cm_object_bool(cm_object *o, const char *key, bool v)
{
    cm_object_key(o, key);
    cm_buf_puts(o->out, v ? "true" : "false");
}
