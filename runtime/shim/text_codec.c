/* TextEncoder and TextDecoder, of UTF-8, as the Encoding Standard has them. A buffer that may be resized is taken
   too, which that standard refuses. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "shim.h"

static JSClassID encoder_class, decoder_class;

/* ---- TextEncoder ---------------------------------------------------------------------------------- */

/* Well-formed UTF-8 of a value's string form: lone surrogates become U+FFFD. Owned by out. */
static bool put_utf8(JSContext *ctx, cm_buf *out, JSValueConst v)
{
    size_t len;
    const char *s = JS_ToCStringLen(ctx, &len, v);
    if (!s)
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)s[i] == 0xED && i + 2 < len && ((unsigned char)s[i + 1] & 0xE0) == 0xA0) {
            cm_buf_put(out, "\xEF\xBF\xBD", 3);
            i += 2;
        } else {
            cm_buf_putc(out, s[i]);
        }
    }
    JS_FreeCString(ctx, s);
    return true;
}

static JSValue construct(JSContext *ctx, JSValueConst new_target, JSClassID class)
{
    JSValue proto = JS_GetPropertyStr(ctx, new_target, "prototype");
    if (JS_IsException(proto))
        return proto;
    JSValue obj = JS_IsObject(proto) ? JS_NewObjectProtoClass(ctx, proto, class) : JS_NewObjectClass(ctx, class);
    JS_FreeValue(ctx, proto);
    return obj;
}

static JSValue encoder_new(JSContext *ctx, JSValueConst new_target, int argc, JSValueConst *argv)
{
    return construct(ctx, new_target, encoder_class);
}

static JSValue encoder_encode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    cm_buf bytes = {0};
    if (JS_GetClassID(self) != encoder_class)
        return JS_ThrowTypeError(ctx, "not a TextEncoder");
    if (argc && !JS_IsUndefined(argv[0]) && !put_utf8(ctx, &bytes, argv[0]))
        return JS_EXCEPTION;
    JSValue r = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)(bytes.data ? bytes.data : ""), bytes.len);
    cm_buf_free(&bytes);
    return r;
}

static JSValue encoder_encode_into(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    size_t room, written = 0, units = 0;
    uint8_t *into;
    cm_buf bytes = {0};
    if (JS_GetClassID(self) != encoder_class)
        return JS_ThrowTypeError(ctx, "not a TextEncoder");
    if (!put_utf8(ctx, &bytes, argv[0]))
        return JS_EXCEPTION;
    if (JS_GetTypedArrayType(argv[1]) != JS_TYPED_ARRAY_UINT8) {
        cm_buf_free(&bytes);
        return JS_ThrowTypeError(ctx, "TextEncoder.encodeInto needs a Uint8Array");
    }
    if (!cm_web_writable_bytes(ctx, argv[1], &into, &room)) { /* after put_utf8: that may run code */
        cm_buf_free(&bytes);
        return JS_EXCEPTION;
    }
    while (written < bytes.len) {
        unsigned char c = (unsigned char)bytes.data[written];
        size_t n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        if (written + n > room)
            break;
        memcpy(into + written, bytes.data + written, n);
        written += n;
        units += n == 4 ? 2 : 1;
    }
    cm_buf_free(&bytes);
    JSValue r = JS_NewObject(ctx);
    JS_DefinePropertyValueStr(ctx, r, "read", JS_NewInt64(ctx, (int64_t)units), JS_PROP_C_W_E);
    JS_DefinePropertyValueStr(ctx, r, "written", JS_NewInt64(ctx, (int64_t)written), JS_PROP_C_W_E);
    return r;
}

static JSValue get_encoding(JSContext *ctx, JSValueConst self) { return JS_NewString(ctx, "utf-8"); }

/* ---- TextDecoder ---------------------------------------------------------------------------------- */

typedef struct {
    bool fatal, keep_bom, started;
    uint8_t tail[4]; /* an incomplete character at the end of a streamed chunk */
    unsigned tail_len;
} decoder;

static void decoder_free(JSRuntime *rt, JSValueConst v) { free(JS_GetOpaque(v, decoder_class)); }

/* Reads an option as Web IDL reads a dictionary; false with an exception pending. */
static bool read_option(JSContext *ctx, JSValueConst options, const char *name, bool *on)
{
    if (JS_IsUndefined(options) || JS_IsNull(options))
        return true;
    if (!JS_IsObject(options)) {
        JS_ThrowTypeError(ctx, "the options of TextDecoder are an object");
        return false;
    }
    JSValue v = JS_GetPropertyStr(ctx, options, name);
    if (JS_IsException(v))
        return false;
    *on = JS_ToBool(ctx, v) == 1;
    JS_FreeValue(ctx, v);
    return true;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }

/* Whether a borrowed label means UTF-8: as the Encoding Standard looks it up, spaces around it and case aside. */
static bool is_utf8_label(const char *label, size_t len)
{
    static const char *const labels[] = {"utf-8",         "utf8",          "unicode-1-1-utf-8",
                                         "unicode11utf8", "unicode20utf8", "x-unicode20utf8"};
    while (len && is_space(label[0]))
        label++, len--;
    while (len && is_space(label[len - 1]))
        len--;
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
        if (len == strlen(labels[i]) && !strncasecmp(label, labels[i], len))
            return true;
    return false;
}

/* Checks the label in a borrowed string; false with an exception pending if it is another encoding's. */
static bool check_label(JSContext *ctx, JSValueConst given)
{
    size_t len;
    const char *label = JS_ToCStringLen(ctx, &len, given);
    if (!label)
        return false;
    bool known = is_utf8_label(label, len);
    if (!known)
        JS_ThrowRangeError(ctx, "TextDecoder knows only utf-8, not \"%.40s\"", label);
    JS_FreeCString(ctx, label);
    return known;
}

static JSValue decoder_new(JSContext *ctx, JSValueConst new_target, int argc, JSValueConst *argv)
{
    bool named = argc && !JS_IsUndefined(argv[0]);
    JSValue label = named ? JS_ToString(ctx, argv[0]) : JS_UNDEFINED;
    if (JS_IsException(label))
        return label;
    decoder made = {0};
    JSValueConst options = argc > 1 ? argv[1] : JS_UNDEFINED;
    bool known = read_option(ctx, options, "fatal", &made.fatal) &&
                 read_option(ctx, options, "ignoreBOM", &made.keep_bom) && (!named || check_label(ctx, label));
    JS_FreeValue(ctx, label);
    if (!known)
        return JS_EXCEPTION;
    JSValue obj = construct(ctx, new_target, decoder_class);
    if (JS_IsException(obj))
        return obj;
    decoder *d = malloc(sizeof *d);
    *d = made;
    JS_SetOpaque(obj, d);
    return obj;
}

/* Length of the well-formed character at p, 0 if there is none, or -1 if it is cut off at the end.
   *bad gets how many bytes an ill-formed start covers (the maximal subpart of the standard). */
static int character(const uint8_t *p, size_t left, size_t *bad)
{
    uint8_t c = p[0], low = 0x80, high = 0xBF;
    int need = c < 0x80 ? 1 : c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
    *bad = 1;
    if (need == 0)
        return 0;
    if (c == 0xE0)
        low = 0xA0;
    if (c == 0xED)
        high = 0x9F;
    if (c == 0xF0)
        low = 0x90;
    if (c == 0xF4)
        high = 0x8F;
    for (int i = 1; i < need; i++) {
        if ((size_t)i >= left)
            return -1;
        if (p[i] < low || p[i] > high)
            return 0;
        low = 0x80, high = 0xBF;
        *bad = (size_t)i + 1;
    }
    return need;
}

/* Whether a value has bytes to decode; false with an exception pending. */
static bool check_source(JSContext *ctx, JSValueConst v)
{
    if (cm_engine_is_buffer(v) || JS_IsDataView(v) || JS_GetTypedArrayType(v) >= 0)
        return true;
    JS_ThrowTypeError(ctx, "TextDecoder.decode needs an ArrayBuffer, a typed array or a DataView");
    return false;
}

/* The bytes of such a value, none where it is detached by now; false with an exception pending. */
static bool source_bytes(JSContext *ctx, JSValueConst v, uint8_t **data, size_t *len)
{
    if (cm_engine_is_buffer(v)) {
        *data = JS_GetArrayBuffer(ctx, len, v);
        if (!*data) /* detached, which the web takes for empty */
            JS_FreeValue(ctx, JS_GetException(ctx));
        return true;
    }
    if (JS_IsDataView(v)) {
        cm_engine_view(v, data, len);
        return true;
    }
    return cm_web_view_bytes(ctx, v, data, len);
}

static JSValue decoder_decode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    decoder *d = JS_GetOpaque2(ctx, self, decoder_class);
    uint8_t *data = NULL;
    size_t len = 0, bad;
    if (!d)
        return JS_EXCEPTION;
    bool stream = false, given = argc && !JS_IsUndefined(argv[0]);
    if (given && !check_source(ctx, argv[0]))
        return JS_EXCEPTION;
    if (argc > 1 && !read_option(ctx, argv[1], "stream", &stream)) /* may run code, which may detach the buffer */
        return JS_EXCEPTION;
    if (given && !source_bytes(ctx, argv[0], &data, &len))
        return JS_EXCEPTION;
    cm_buf in = {0}, out = {0};
    cm_buf_put(&in, d->tail, d->tail_len);
    cm_buf_put(&in, data ? (const char *)data : "", len);
    d->tail_len = 0;
    const uint8_t *p = (const uint8_t *)in.data;
    for (size_t i = 0; i < in.len;) {
        int n = character(p + i, in.len - i, &bad);
        if (n > 0) {
            bool bom = !d->started && !d->keep_bom && n == 3 && !memcmp(p + i, "\xEF\xBB\xBF", 3);
            if (!bom)
                cm_buf_put(&out, p + i, (size_t)n);
            d->started = true;
            i += (size_t)n;
            continue;
        }
        if (n < 0 && stream) {
            d->tail_len = (unsigned)(in.len - i);
            memcpy(d->tail, p + i, d->tail_len);
            break;
        }
        if (d->fatal) {
            cm_buf_free(&in);
            cm_buf_free(&out);
            d->started = false;
            return JS_ThrowTypeError(ctx, "the bytes are not well-formed UTF-8");
        }
        d->started = true;
        cm_buf_put(&out, "\xEF\xBF\xBD", 3);
        i += n < 0 ? in.len - i : bad;
    }
    if (!stream)
        d->started = false;
    JSValue r = JS_NewStringLen(ctx, out.data ? out.data : "", out.len);
    cm_buf_free(&in);
    cm_buf_free(&out);
    return r;
}

static JSValue decoder_flag(JSContext *ctx, JSValueConst self, int which)
{
    decoder *d = JS_GetOpaque2(ctx, self, decoder_class);
    return d ? JS_NewBool(ctx, which ? d->keep_bom : d->fatal) : JS_EXCEPTION;
}

/* ---- boot -------------------------------------------------------------------------------------- */

static const JSCFunctionListEntry encoder_proto[] = {
    JS_CFUNC_DEF("encode", 0, encoder_encode),
    JS_CFUNC_DEF("encodeInto", 2, encoder_encode_into),
    JS_CGETSET_DEF("encoding", get_encoding, NULL),
    JS_PROP_STRING_DEF("[Symbol.toStringTag]", "TextEncoder", JS_PROP_CONFIGURABLE),
};
static const JSCFunctionListEntry decoder_proto[] = {
    JS_CFUNC_DEF("decode", 0, decoder_decode),
    JS_CGETSET_DEF("encoding", get_encoding, NULL),
    JS_CGETSET_MAGIC_DEF("fatal", decoder_flag, NULL, 0),
    JS_CGETSET_MAGIC_DEF("ignoreBOM", decoder_flag, NULL, 1),
    JS_PROP_STRING_DEF("[Symbol.toStringTag]", "TextDecoder", JS_PROP_CONFIGURABLE),
};
#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define WEB_PROP (JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE)

static void define_class(JSContext *ctx, JSValueConst global, const char *name, JSClassID *id, JSClassDef *def,
                         JSCFunction *ctor, const JSCFunctionListEntry *entries, int count)
{
    JSRuntime *rt = JS_GetRuntime(ctx);
    JS_NewClassID(rt, id);
    JS_NewClass(rt, *id, def);
    JSValue proto = JS_NewObject(ctx);
    JS_SetPropertyFunctionList(ctx, proto, entries, count);
    JSValue f = JS_NewCFunction2(ctx, ctor, name, 0, JS_CFUNC_constructor, 0);
    JS_SetConstructor(ctx, f, proto);
    JS_SetClassProto(ctx, *id, proto);
    JS_DefinePropertyValueStr(ctx, global, name, f, WEB_PROP);
}

const char *cm_web_label(JSValueConst v)
{
    JSClassID class = JS_GetClassID(v);
    return class == encoder_class ? "TextEncoder" : class == decoder_class ? "TextDecoder" : NULL;
}

void cm_text_codec_init(JSContext *ctx, JSValueConst global)
{
    static JSClassDef encoder_def = {.class_name = "TextEncoder"};
    static JSClassDef decoder_def = {.class_name = "TextDecoder", .finalizer = decoder_free};
    define_class(ctx, global, "TextEncoder", &encoder_class, &encoder_def, encoder_new, encoder_proto,
                 COUNT(encoder_proto));
    define_class(ctx, global, "TextDecoder", &decoder_class, &decoder_def, decoder_new, decoder_proto,
                 COUNT(decoder_proto));
}
