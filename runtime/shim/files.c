/* API.list and API.read: the virtual files of a run, which the run descriptor has. No call is made.

   Models write `API.read(path)` with and without `await`, and take a list for an array and a file for its text.
   So both functions answer at once with an object that can be used as it is and has `then`; awaiting it gives the
   same without `then`. A list inherits from the array in its `files`, a file converts to its content. */
#include "shim.h"

static JSClassID file_class;
static JSValue file_proto;         /* owned */
static JSValue promise_methods[3]; /* owned; the intrinsics, kept at boot */
static const char *const promise_names[] = {"then", "catch", "finally"};

/* A segment of a path that is `.` or `..`, whichever slash is meant. */
static bool has_dot_segment(const char *path, size_t len)
{
    for (size_t start = 0, i = 0; i <= len; i++) {
        if (i < len && path[i] != '/' && path[i] != '\\')
            continue;
        size_t n = i - start;
        if ((n == 1 || n == 2) && path[start] == '.' && path[i - 1] == '.')
            return true;
        start = i + 1;
    }
    return false;
}

/* ---- what is given --------------------------------------------------------------------------------------- */

JSValue cm_file_content(JSContext *ctx, JSValueConst v)
{
    JSValue content = JS_UNDEFINED;
    if (JS_GetClassID(v) == file_class)
        cm_engine_data_property(ctx, v, "content", &content);
    if (JS_IsString(content))
        return content;
    JS_FreeValue(ctx, content);
    return JS_UNDEFINED;
}

static JSValue file_to_string(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    JSValue content = cm_file_content(ctx, self);
    return JS_IsUndefined(content) ? JS_NewString(ctx, "[object Object]") : content;
}

/* Defines members of a borrowed object: all those of another, under the same names. */
static void copy_members(JSContext *ctx, JSValueConst to, JSValueConst from)
{
    JSPropertyEnum *names;
    uint32_t count;
    JS_GetOwnPropertyNames(ctx, &names, &count, from, JS_GPN_STRING_MASK);
    for (uint32_t i = 0; i < count; i++)
        JS_DefinePropertyValue(ctx, to, names[i].atom, JS_GetProperty(ctx, from, names[i].atom), JS_PROP_C_W_E);
    JS_FreePropertyEnum(ctx, names, count);
}

/* Makes an owned object from the borrowed answer of the descriptor, in which nothing is the program's yet. */
static JSValue new_answer(JSContext *ctx, int kind, JSValueConst found)
{
    JSValue made;
    if (kind == CM_LOOKUP_API_READ) {
        made = JS_NewObjectProtoClass(ctx, file_proto, file_class);
    } else {
        JSValue files = JS_GetPropertyStr(ctx, found, "files");
        made = JS_NewObjectProto(ctx, files);
        JS_FreeValue(ctx, files);
    }
    copy_members(ctx, made, found);
    return made;
}

/* then, catch and finally of an answer, as of a promise that is fulfilled. data: the answer without them */
static JSValue chain(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int which, JSValueConst *data)
{
    JSValue promise = JS_NewSettledPromise(ctx, false, data[0]);
    /* of its own, so that nothing is asked of what a program made of Promise */
    JS_DefinePropertyValueStr(ctx, promise, "constructor", JS_UNDEFINED, 0);
    JS_DefinePropertyValueStr(ctx, promise, "then", JS_DupValue(ctx, promise_methods[0]), 0);
    JSValue r = JS_Call(ctx, promise_methods[which], promise, argc, argv);
    JS_FreeValue(ctx, promise);
    return r;
}

static JSValue answer(JSContext *ctx, int kind, JSValueConst found)
{
    JSValue now = new_answer(ctx, kind, found), awaited = new_answer(ctx, kind, found);
    JSValueConst data[] = {awaited};
    for (int i = 0; i < 3; i++) {
        JSValue f = JS_NewCFunctionData(ctx, chain, i ? 1 : 2, i, 1, data);
        JS_DefinePropertyValueStr(ctx, f, "name", JS_NewString(ctx, promise_names[i]), 0);
        JS_FreezeObject(ctx, f);
        JS_DefinePropertyValueStr(ctx, now, promise_names[i], f, 0);
    }
    JS_FreeValue(ctx, awaited);
    return now;
}

/* ---- the functions --------------------------------------------------------------------------------------- */

static JSValue api_file(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int kind)
{
    const char *name = kind == CM_LOOKUP_API_READ ? "read" : "list";
    if ((argc && !JS_IsUndefined(argv[0]) && !JS_IsString(argv[0])) || (kind == CM_LOOKUP_API_READ && !argc))
        return cm_rejected(ctx, JS_ThrowTypeError(ctx, "API.%s takes a path, a string", name));
    size_t len = 0;
    const char *path = argc && JS_IsString(argv[0]) ? JS_ToCStringLen(ctx, &len, argv[0]) : NULL;
    JSValue v;
    if (path && has_dot_segment(path, len))
        v = JS_ThrowTypeError(ctx, "API paths have no . and .. segments; API.list() names the files");
    else
        v = cm_bridge_lookup(ctx, kind, path ? path : "", len);
    if (JS_IsUndefined(v) && kind == CM_LOOKUP_API_LIST) {
        v = JS_NewObject(ctx); /* nothing under that prefix */
        JS_DefinePropertyValueStr(ctx, v, "files", JS_NewArray(ctx), JS_PROP_C_W_E);
    }
    if (JS_IsUndefined(v))
        v = JS_ThrowTypeError(ctx, "there is no API file \"%.200s\"; API.list() names them", path ? path : "");
    JS_FreeCString(ctx, path);
    if (JS_IsException(v))
        return cm_rejected(ctx, v);
    JSValue r = answer(ctx, kind, v);
    JS_FreeValue(ctx, v);
    return r;
}

/* The prototype of files: owned and frozen. */
static JSValue new_file_proto(JSContext *ctx, JSValueConst global)
{
    JSValue proto = JS_NewObject(ctx), convert = JS_NewCFunction(ctx, file_to_string, "toString", 0);
    JSValue symbol = JS_GetPropertyStr(ctx, global, "Symbol"), key = JS_GetPropertyStr(ctx, symbol, "toPrimitive");
    JSAtom to_primitive = JS_ValueToAtom(ctx, key);
    JS_FreezeObject(ctx, convert);
    JS_DefinePropertyValueStr(ctx, proto, "toString", JS_DupValue(ctx, convert), 0);
    JS_DefinePropertyValue(ctx, proto, to_primitive, convert, 0);
    JS_FreezeObject(ctx, proto);
    JS_FreeAtom(ctx, to_primitive);
    JS_FreeValue(ctx, key);
    JS_FreeValue(ctx, symbol);
    return proto;
}

int cm_files_init(JSContext *ctx)
{
    JSValue global = JS_GetGlobalObject(ctx), api = JS_NewObjectProto(ctx, JS_NULL);
    JSClassDef def = {.class_name = "Object"};
    JS_NewClassID(JS_GetRuntime(ctx), &file_class);
    JS_NewClass(JS_GetRuntime(ctx), file_class, &def);
    file_proto = new_file_proto(ctx, global);
    for (int i = 0; i < 3; i++)
        promise_methods[i] = cm_json_intrinsic(ctx, "Promise", promise_names[i]);
    JSCFunctionEnum kind = JS_CFUNC_generic_magic;
    cm_define_locked(ctx, api, "list", JS_NewCFunctionMagic(ctx, api_file, "list", 0, kind, CM_LOOKUP_API_LIST));
    cm_define_locked(ctx, api, "read", JS_NewCFunctionMagic(ctx, api_file, "read", 1, kind, CM_LOOKUP_API_READ));
    cm_freeze_deep(ctx, api);
    cm_define_locked(ctx, global, "API", api);
    JS_FreeValue(ctx, global);
    return 0;
}
