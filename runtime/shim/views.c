/* What programs see of the run descriptor: tools, MCP, namespaces, ALL_TOOLS; files.c has API.

   The descriptor stays with the host and is asked piece by piece through cm_import_lookup, when a
   program first names a thing: a catalog of ten thousand tools costs a program that uses two of them
   two look-ups, and a snapshot carries only what was touched. */
#include <stdlib.h>
#include <string.h>
#include "shim.h"

static JSClassID view_class;
/* caches of what was looked up, each a null-prototype object of locked properties */
static JSValue tools_seen, servers_seen;
static JSValue all_tools, namespaces;
static JSValue tools_view, mcp_view; /* borrowed by identity only */

/* ---- leaves ------------------------------------------------------------------------------------ */

/* data: method, target */
static JSValue call_leaf(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic, JSValueConst *data)
{
    size_t len;
    const char *method = JS_ToCString(ctx, data[0]);
    const char *target = JS_ToCStringLen(ctx, &len, data[1]);
    if (argc > 1 && strcmp(method, "namespace") &&
        JS_IsFunction(ctx, argv[1])) { /* it would never be called, and nobody would know */
        JS_FreeCString(ctx, method);
        JS_FreeCString(ctx, target);
        return cm_rejected(ctx, JS_ThrowTypeError(ctx, "tools take no callback: write `const result = await …({…})`"));
    }
    JSValue r = cm_bridge_call(ctx, method, target, len, argc, argv);
    JS_FreeCString(ctx, method);
    JS_FreeCString(ctx, target);
    return r;
}

static JSValue new_leaf(JSContext *ctx, const char *method, JSValueConst target, JSAtom name)
{
    JSValue m = JS_NewString(ctx, method);
    JSValueConst data[] = {m, target};
    JSValue f = JS_NewCFunctionData(ctx, call_leaf, 1, 0, 2, data);
    JS_FreeValue(ctx, m);
    JS_DefinePropertyValueStr(ctx, f, "name", JS_AtomToString(ctx, name), 0);
    JS_FreezeObject(ctx, f);
    return f;
}

/* Takes over v and returns an owned promise: fulfilled with it, or rejected with the pending exception. */
static JSValue settled(JSContext *ctx, JSValue v)
{
    if (JS_IsException(v))
        return cm_rejected(ctx, v);
    JSValue promise = JS_NewSettledPromise(ctx, false, v);
    JS_FreeValue(ctx, v);
    return promise;
}

/* $api: data: the server's identifier, or null for all */
static JSValue api_leaf(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic, JSValueConst *data)
{
    cm_buf key = {0};
    cm_buf_putc(&key, '[');
    cm_json_write(ctx, &key, data[0], false);
    for (int i = 0; i < argc && i < 2; i++) {
        cm_buf_putc(&key, ',');
        if (cm_json_write(ctx, &key, argv[i], true) != CM_JSON_OK) {
            cm_buf_free(&key);
            return cm_rejected(ctx, JS_ThrowRangeError(ctx, "$api takes a tool name and { schema }"));
        }
    }
    cm_buf_putc(&key, ']');
    JSValue v = cm_bridge_lookup(ctx, CM_LOOKUP_API, key.data, key.len);
    cm_buf_free(&key);
    if (JS_IsUndefined(v))
        v = JS_ThrowTypeError(ctx, "$api knows no such tool; call it without arguments to see all");
    return settled(ctx, v);
}

static JSValue new_api_leaf(JSContext *ctx, JSValueConst server)
{
    JSValue f = JS_NewCFunctionData(ctx, api_leaf, 0, 0, 1, &server);
    JS_DefinePropertyValueStr(ctx, f, "name", JS_NewString(ctx, "$api"), 0);
    JS_FreezeObject(ctx, f);
    return f;
}

/* ---- trees --------------------------------------------------------------------------------------- */

static bool own(JSContext *ctx, JSValueConst obj, const char *name, JSValue *out)
{
    JSPropertyDescriptor d;
    JSAtom atom = JS_NewAtom(ctx, name);
    int found = JS_GetOwnProperty(ctx, &d, obj, atom);
    JS_FreeAtom(ctx, atom);
    if (found <= 0)
        return false;
    *out = d.value;
    JS_FreeValue(ctx, d.getter);
    JS_FreeValue(ctx, d.setter);
    return true;
}

static JSValue build_tree(JSContext *ctx, JSValueConst node, JSAtom name);

static JSValue build_children(JSContext *ctx, JSValueConst nodes, JSValue into)
{
    JSPropertyEnum *names;
    uint32_t count;
    JS_GetOwnPropertyNames(ctx, &names, &count, nodes, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY);
    for (uint32_t i = 0; i < count; i++) {
        JSValue node = JS_GetProperty(ctx, nodes, names[i].atom);
        JSValue child = build_tree(ctx, node, names[i].atom);
        JS_DefinePropertyValue(ctx, into, names[i].atom, child, JS_PROP_C_W_E);
        JS_FreeValue(ctx, node);
    }
    JS_FreePropertyEnum(ctx, names, count);
    JS_FreezeObject(ctx, into);
    return into;
}

/* A node of the descriptor becomes what programs see: {"o": {…}} an object, {"a": […]} an array,
   {"v": …} a value, {"c": target, "m": method} a call, {"api": server} a $api function. */
static JSValue build_tree(JSContext *ctx, JSValueConst node, JSAtom name)
{
    JSValue inner, method;
    if (own(ctx, node, "o", &inner)) {
        JSValue r = build_children(ctx, inner, JS_NewObjectProto(ctx, JS_NULL));
        JS_FreeValue(ctx, inner);
        return r;
    }
    if (own(ctx, node, "a", &inner)) {
        JSValue r = build_children(ctx, inner, JS_NewArray(ctx));
        JS_FreeValue(ctx, inner);
        return r;
    }
    if (own(ctx, node, "c", &inner)) {
        if (!own(ctx, node, "m", &method))
            method = JS_NewString(ctx, "call");
        const char *m = JS_ToCString(ctx, method);
        JSValue r = new_leaf(ctx, m, inner, name);
        JS_FreeCString(ctx, m);
        JS_FreeValue(ctx, method);
        JS_FreeValue(ctx, inner);
        return r;
    }
    if (own(ctx, node, "api", &inner)) {
        JSValue r = new_api_leaf(ctx, inner);
        JS_FreeValue(ctx, inner);
        return r;
    }
    if (own(ctx, node, "v", &inner)) {
        cm_freeze_deep(ctx, inner);
        return inner;
    }
    return JS_UNDEFINED;
}

/* ---- tools and MCP ---------------------------------------------------------------------------------- */

static bool is_tools(JSValueConst view) { return JS_VALUE_GET_PTR(view) == JS_VALUE_GET_PTR(tools_view); }

/* The property of a view (owned), or undefined. */
static JSValue view_member(JSContext *ctx, JSValueConst view, JSAtom prop)
{
    JSPropertyDescriptor d;
    JSValue key = JS_AtomToValue(ctx, prop), v = JS_UNDEFINED;
    bool is_name = JS_IsString(key);
    JS_FreeValue(ctx, key);
    if (!is_name)
        return JS_UNDEFINED;
    JSValue seen = is_tools(view) ? tools_seen : servers_seen;
    if (JS_GetOwnProperty(ctx, &d, seen, prop) > 0)
        return d.value;
    size_t len;
    const char *name = JS_AtomToCStringLen(ctx, &len, prop);
    JSValue found = cm_bridge_lookup(ctx, is_tools(view) ? CM_LOOKUP_TOOL : CM_LOOKUP_SERVER, name, len);
    JS_FreeCString(ctx, name);
    if (JS_IsException(found) || JS_IsUndefined(found))
        return found;
    v = is_tools(view) ? new_leaf(ctx, "call", found, prop) : build_tree(ctx, found, prop);
    JS_FreeValue(ctx, found);
    JS_DefinePropertyValue(ctx, seen, prop, JS_DupValue(ctx, v), JS_PROP_ENUMERABLE);
    return v;
}

static int view_get_own_property(JSContext *ctx, JSPropertyDescriptor *desc, JSValueConst view, JSAtom prop)
{
    JSValue v = view_member(ctx, view, prop);
    if (JS_IsException(v))
        return -1;
    if (JS_IsUndefined(v))
        return 0;
    if (desc) {
        desc->flags = JS_PROP_ENUMERABLE;
        desc->value = v;
        desc->getter = desc->setter = JS_UNDEFINED;
    } else {
        JS_FreeValue(ctx, v);
    }
    return 1;
}

/* The names of all tools. The engine asks for each of them next, whether it is enumerable: the answer
   has the ids too, so that this is one look-up and not ten thousand. */
static int tool_names(JSContext *ctx, JSPropertyEnum **tab, uint32_t *len)
{
    JSPropertyDescriptor d;
    JSValue ids = cm_bridge_lookup(ctx, CM_LOOKUP_TOOL_NAMES, "", 0);
    if (JS_IsUndefined(ids))
        ids = JS_NewObjectProto(ctx, JS_NULL);
    int r = JS_IsException(ids) ? -1 : JS_GetOwnPropertyNames(ctx, tab, len, ids, JS_GPN_STRING_MASK);
    for (uint32_t i = 0; !r && i < *len; i++) {
        JSAtom name = (*tab)[i].atom;
        if (JS_GetOwnProperty(ctx, &d, tools_seen, name) > 0) {
            JS_FreeValue(ctx, d.value);
            continue;
        }
        JSValue id = JS_GetProperty(ctx, ids, name);
        JS_DefinePropertyValue(ctx, tools_seen, name, new_leaf(ctx, "call", id, name), JS_PROP_ENUMERABLE);
        JS_FreeValue(ctx, id);
    }
    JS_FreeValue(ctx, ids);
    return r;
}

static int view_names(JSContext *ctx, JSPropertyEnum **tab, uint32_t *len, JSValueConst view)
{
    if (is_tools(view))
        return tool_names(ctx, tab, len);
    int64_t count = 0;
    JSValue names = cm_bridge_lookup(ctx, CM_LOOKUP_SERVERS, "", 0);
    if (JS_IsException(names))
        return -1;
    if (JS_IsArray(names))
        JS_GetLength(ctx, names, &count);
    JSPropertyEnum *out = js_malloc(ctx, sizeof *out * (size_t)(count + 1));
    for (int64_t i = 0; i < count; i++) {
        JSValue name = JS_GetPropertyInt64(ctx, names, i);
        out[i] = (JSPropertyEnum){.is_enumerable = true, .atom = JS_ValueToAtom(ctx, name)};
        JS_FreeValue(ctx, name);
    }
    JS_FreeValue(ctx, names);
    *tab = out;
    *len = (uint32_t)count;
    return 0;
}

static int view_delete(JSContext *ctx, JSValueConst view, JSAtom prop)
{
    return !view_get_own_property(ctx, NULL, view, prop);
}

static JSClassExoticMethods view_exotic = {
    .get_own_property = view_get_own_property,
    .get_own_property_names = view_names,
    .delete_property = view_delete,
};

/* ---- the lazily built globals ------------------------------------------------------------------------- */

static JSValue get_all_tools(JSContext *ctx, JSValueConst self)
{
    if (JS_IsUndefined(all_tools)) {
        JSValue v = cm_bridge_lookup(ctx, CM_LOOKUP_ALL_TOOLS, "", 0);
        if (JS_IsException(v))
            return v;
        if (JS_IsUndefined(v))
            v = JS_NewArray(ctx);
        cm_freeze_deep(ctx, v);
        all_tools = v;
    }
    return JS_DupValue(ctx, all_tools);
}

static JSValue get_namespaces(JSContext *ctx, JSValueConst self) { return JS_DupValue(ctx, namespaces); }

static void define_getter(JSContext *ctx, JSValueConst global, const char *name,
                          JSValue (*get)(JSContext *, JSValueConst))
{
    JSAtom atom = JS_NewAtom(ctx, name);
    JSCFunctionType ft = {.getter = get};
    JSValue f = JS_NewCFunction2(ctx, ft.generic, name, 0, JS_CFUNC_getter, 0);
    JS_FreezeObject(ctx, f);
    JS_DefinePropertyGetSet(ctx, global, atom, f, JS_UNDEFINED, JS_PROP_ENUMERABLE);
    JS_FreeAtom(ctx, atom);
}

static JSValue new_view(JSContext *ctx) { return JS_NewObjectProtoClass(ctx, JS_NULL, view_class); }

int cm_views_init(JSContext *ctx)
{
    JSRuntime *rt = JS_GetRuntime(ctx);
    JSValue global = JS_GetGlobalObject(ctx);
    JSClassDef def = {.class_name = "Object", .exotic = &view_exotic};
    JS_NewClassID(rt, &view_class);
    JS_NewClass(rt, view_class, &def);
    all_tools = JS_UNDEFINED;
    tools_seen = JS_NewObjectProto(ctx, JS_NULL);
    servers_seen = JS_NewObjectProto(ctx, JS_NULL);

    tools_view = new_view(ctx);
    cm_api_define_tools(ctx, tools_view);
    JS_PreventExtensions(ctx, tools_view);
    cm_define_locked(ctx, global, "tools", tools_view);

    mcp_view = new_view(ctx);
    cm_define_locked(ctx, mcp_view, "$api", new_api_leaf(ctx, JS_NULL));
    JS_PreventExtensions(ctx, mcp_view);
    cm_define_locked(ctx, global, "MCP", mcp_view);

    namespaces = JS_NewObjectProto(ctx, JS_NULL);
    JS_FreezeObject(ctx, namespaces);
    define_getter(ctx, global, "ALL_TOOLS", get_all_tools);
    define_getter(ctx, global, "namespaces", get_namespaces);
    JS_FreeValue(ctx, global);
    return 0;
}

/* Before the program starts: one global per visible namespace, and all of them in `namespaces`. */
int cm_views_start(JSContext *ctx)
{
    JSValue trees = cm_bridge_lookup(ctx, CM_LOOKUP_NAMESPACES, "", 0);
    if (JS_IsException(trees) || JS_IsUndefined(trees))
        return JS_IsException(trees) ? -1 : 0;
    JS_FreeValue(ctx, namespaces);
    namespaces = build_children(ctx, trees, JS_NewObjectProto(ctx, JS_NULL));
    JSPropertyEnum *names;
    uint32_t count;
    JS_GetOwnPropertyNames(ctx, &names, &count, namespaces, JS_GPN_STRING_MASK);
    for (uint32_t i = 0; i < count; i++)
        cm_engine_put_global(ctx, names[i].atom, JS_GetProperty(ctx, namespaces, names[i].atom));
    JS_FreePropertyEnum(ctx, names, count);
    JS_FreeValue(ctx, trees);
    return 0;
}

static void replace(JSContext *ctx, JSValue *seen, JSValue by)
{
    JSValue before = *seen;
    *seen = by;
    JS_FreeValue(ctx, before);
}

/* A program of a world may have another catalog than the one before it. */
void cm_views_forget(JSContext *ctx)
{
    JSPropertyEnum *names;
    uint32_t count;
    JSValue global = JS_GetGlobalObject(ctx);
    JS_GetOwnPropertyNames(ctx, &names, &count, namespaces, JS_GPN_STRING_MASK);
    for (uint32_t i = 0; i < count; i++)
        cm_engine_delete_locked(ctx, global, names[i].atom);
    if (count)
        replace(ctx, &namespaces, JS_NewObjectProto(ctx, JS_NULL));
    JS_FreezeObject(ctx, namespaces);
    JS_FreePropertyEnum(ctx, names, count);
    JS_FreeValue(ctx, global);
    replace(ctx, &tools_seen, JS_NewObjectProto(ctx, JS_NULL));
    replace(ctx, &servers_seen, JS_NewObjectProto(ctx, JS_NULL));
    replace(ctx, &all_tools, JS_UNDEFINED);
}
