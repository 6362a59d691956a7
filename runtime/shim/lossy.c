/* What a value loses on its way to JSON, and where: the list that a result carries beside its value. */
#include "json_writer.h"

#define MAX_KEY 200 /* bytes of one key on a path */

/* Appends `.key`, or `["key"]` for one that is no identifier: "a.b" is another place than b inside a. */
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

static void put_step(JSContext *ctx, cm_buf *path, const cm_step *step)
{
    if (step->key) {
        size_t len;
        const char *key = JS_AtomToCStringLen(ctx, &len, step->key);
        put_key(path, key ? key : "", key ? cm_clip(key, len, MAX_KEY) : 0);
        JS_FreeCString(ctx, key);
    } else {
        cm_buf_putc(path, '[');
        cm_buf_put_uint(path, step->index);
        cm_buf_putc(path, ']');
    }
}

void cm_lossy_note(cm_writer *w, const char *kind)
{
    if (!w->lossy || ++w->lossy_count > CM_MAX_LOSSY)
        return;
    cm_buf path = {0};
    cm_buf_putc(&path, '$');
    for (int i = 0; i < w->depth; i++)
        put_step(w->ctx, &path, &w->path[i]);
    if (w->lossy->len)
        cm_buf_putc(w->lossy, ',');
    cm_object o = cm_object_open(w->lossy);
    cm_object_text(&o, "path", path.data, cm_clip(path.data, path.len, CM_MAX_PATH));
    cm_object_word(&o, "kind", kind);
    cm_object_close(&o);
    cm_buf_free(&path);
}
