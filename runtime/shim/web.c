/* The parts of the web platform that need the host: crypto and performance. TextEncoder and TextDecoder are in
   text_codec.c; URL, URLSearchParams and structuredClone in prelude/. */
#include <math.h>
#include <stdio.h>
#include "shim.h"

static double time_origin; /* monotonic milliseconds when this leg's clock reads zero */
static double time_before; /* what performance.now() had reached in earlier legs */

/* ---- bytes --------------------------------------------------------------------------------------- */

bool cm_web_view_bytes(JSContext *ctx, JSValueConst v, uint8_t **data, size_t *len)
{
    if (cm_engine_view(v, data, len) || cm_engine_view_is_detached(v))
        return true;
    JS_ThrowTypeError(ctx, "the typed array lies outside its buffer");
    return false;
}

bool cm_web_writable_bytes(JSContext *ctx, JSValueConst v, uint8_t **data, size_t *len)
{
    if (!cm_web_view_bytes(ctx, v, data, len))
        return false;
    if (!cm_engine_view_is_immutable(v))
        return true;
    JS_ThrowTypeError(ctx, "the buffer of the typed array is immutable");
    return false;
}

/* For the prelude: undefined for a view that lies outside its buffer, else whether it follows its buffer's length. */
JSValue cm_web_view_state(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    uint8_t *data;
    size_t len;
    return cm_engine_view(argv[0], &data, &len) ? JS_NewBool(ctx, cm_engine_view_follows(argv[0])) : JS_UNDEFINED;
}

/* For the prelude: tells the host of a locale, a time zone or an option that was ignored. The prelude counts. */
JSValue cm_web_ignored(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    size_t len;
    const char *s = JS_ToCStringLen(ctx, &len, argv[0]);
    if (!s)
        return JS_EXCEPTION;
    cm_buf message = {0};
    cm_object o = cm_object_open(&message);
    cm_object_word(&o, "type", "ignored");
    cm_object_text(&o, "what", s, cm_clip(s, len, CM_MAX_IGNORED));
    cm_object_close(&o);
    JS_FreeCString(ctx, s);
    cm_outbox_post(&message);
    return JS_UNDEFINED;
}

/* ---- crypto, performance ----------------------------------------------------------------------------- */

static JSValue random_uuid(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    uint8_t b[16];
    char text[37];
    cm_import_random(b, sizeof b);
    b[6] = (b[6] & 0x0F) | 0x40;
    b[8] = (b[8] & 0x3F) | 0x80;
    snprintf(text, sizeof text, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return JS_NewString(ctx, text);
}

static JSValue random_values(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    uint8_t *data;
    size_t len;
    int type = JS_GetTypedArrayType(argv[0]);
    bool is_view = type >= 0 || JS_IsDataView(argv[0]);
    if (!is_view || cm_engine_view_is_shared(argv[0]))
        return JS_ThrowTypeError(ctx, "crypto.getRandomValues needs an integer typed array, not of shared memory");
    if (type < 0 || type == JS_TYPED_ARRAY_FLOAT16 || type == JS_TYPED_ARRAY_FLOAT32 || type == JS_TYPED_ARRAY_FLOAT64)
        return JS_ThrowDOMException(ctx, "TypeMismatchError", "crypto.getRandomValues needs an integer typed array");
    if (!cm_web_writable_bytes(ctx, argv[0], &data, &len))
        return JS_EXCEPTION;
    if (len > 65536)
        return JS_ThrowDOMException(ctx, "QuotaExceededError",
                                    "crypto.getRandomValues gives at most 65536 bytes at once, not %zu", len);
    if (len)
        cm_import_random(data, (uint32_t)len);
    return JS_DupValue(ctx, argv[0]);
}

/* Runs on over the legs of a run; the time a program was suspended does not count. In steps of
   0.1 ms: finer steps would only serve timing attacks. */
static double elapsed(void) { return time_before + floor((cm_import_now(1) - time_origin) * 10) / 10; }

static JSValue performance_now(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    return JS_NewFloat64(ctx, elapsed());
}

void cm_web_clock_zero(void) { time_before = 0; }
void cm_web_clock_start(void) { time_origin = cm_import_now(1); }
void cm_web_clock_pause(void) { time_before = elapsed(), time_origin = cm_import_now(1); }

static const JSCFunctionListEntry crypto_methods[] = {
    JS_CFUNC_DEF("randomUUID", 0, random_uuid),
    JS_CFUNC_DEF("getRandomValues", 1, random_values),
};
static const JSCFunctionListEntry performance_methods[] = {JS_CFUNC_DEF("now", 0, performance_now)};

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define WEB_PROP (JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE)

static void define_object(JSContext *ctx, JSValueConst global, const char *name, const JSCFunctionListEntry *entries,
                          int count)
{
    JSValue obj = JS_NewObject(ctx);
    JS_SetPropertyFunctionList(ctx, obj, entries, count);
    JS_DefinePropertyValueStr(ctx, global, name, obj, WEB_PROP);
}

int cm_web_init(JSContext *ctx)
{
    JSValue global = JS_GetGlobalObject(ctx);
    cm_text_codec_init(ctx, global);
    define_object(ctx, global, "crypto", crypto_methods, COUNT(crypto_methods));
    define_object(ctx, global, "performance", performance_methods, COUNT(performance_methods));
    JS_FreeValue(ctx, global);
    return 0;
}
