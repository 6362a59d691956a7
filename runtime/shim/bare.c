/* A program that sees less: the language, `console` and the globals of its namespaces, nothing else.

   What goes is everything that the global object got after the language's own, so that a global which is added
   one day is not there by default. Nothing else leads to what is taken away: tests/runtime/test_guest_bare.py
   walks over all that such a program can reach. */
#include <string.h>
#include "shim.h"

static uint32_t language_len; /* the names of the language come first: properties keep their order */

static int global_names(JSContext *ctx, JSValueConst global, JSPropertyEnum **names, uint32_t *count)
{
    return JS_GetOwnPropertyNames(ctx, names, count, global, JS_GPN_STRING_MASK);
}

void cm_bare_mark(JSContext *ctx)
{
    JSPropertyEnum *names;
    JSValue global = JS_GetGlobalObject(ctx);
    global_names(ctx, global, &names, &language_len);
    JS_FreePropertyEnum(ctx, names, language_len);
    JS_FreeValue(ctx, global);
}

/* The engine counts queueMicrotask among the language's; the standard does not. */
static bool stays(JSContext *ctx, JSAtom name, bool is_language)
{
    const char *s = JS_AtomToCString(ctx, name);
    bool kept = is_language ? strcmp(s, "queueMicrotask") != 0 : strcmp(s, "console") == 0;
    JS_FreeCString(ctx, s);
    return kept;
}

void cm_bare_start(JSContext *ctx)
{
    JSPropertyEnum *names;
    uint32_t count;
    JSValue global = JS_GetGlobalObject(ctx);
    if (global_names(ctx, global, &names, &count))
        cm_stop(CM_STOP_ABORT);
    for (uint32_t i = 0; i < count; i++)
        if (!stays(ctx, names[i].atom, i < language_len))
            cm_engine_delete_locked(ctx, global, names[i].atom);
    JS_FreePropertyEnum(ctx, names, count);
    JS_FreeValue(ctx, global);
}
