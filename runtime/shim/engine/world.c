/* A session's world: what programs declare at their top level stays for the next one. Included by engine.c.

   A program is parsed as always. Its top-level variables are then taken out of its function and become bindings of
   the engine's global lexical environment, which no program can name as an object: code finds them there by name.
   Redeclared, a name is the same binding with a new value, for the closures of earlier programs too. */

/* what the program that is compiled declares; each name is owned */
static struct kept {
    JSAtom name;
    bool is_lexical, is_const, is_function;
} *kept;
static uint32_t kept_len, kept_cap;

static JSValue set_aside; /* owned; values of names that are declared again, for those that are never reached */
static bool has_aside;

#define KEPT_SCOPE (-2) /* marks a function that was taken out of its program; see build/worlds.py */

static void forget_kept(JSContext *ctx)
{
    while (kept_len)
        JS_FreeAtom(ctx, kept[--kept_len].name);
    js_free(ctx, kept);
    kept = NULL, kept_cap = 0;
}

/* Whether the name is one of the API, which is the new run's own: nothing can shadow it beyond a program. */
static bool is_locked_global(JSContext *ctx, JSAtom name)
{
    JSShapeProperty *prs = find_own_property1(JS_VALUE_GET_OBJ(ctx->global_obj), name);
    return prs && !(prs->flags & JS_PROP_CONFIGURABLE);
}

static bool is_own_name(JSAtom name)
{
    switch (name) {
    case JS_ATOM_NULL:
    case JS_ATOM_this:
    case JS_ATOM_arguments:
    case JS_ATOM__ret_:
    case JS_ATOM_new_target:
    case JS_ATOM_home_object:
    case JS_ATOM_this_active_func:
    case JS_ATOM__var_:
    case JS_ATOM__arg_var_:
    case JS_ATOM__with_:
        return false;
    default:
        return true;
    }
}

/* Takes the top-level variables out of a parsed function. Returns -1 if there is no memory. */
static int keep_declarations(JSContext *ctx, JSFunctionDef *fd)
{
    forget_kept(ctx);
    for (int i = 0; i < fd->var_count; i++) {
        JSVarDef *vd = &fd->vars[i];
        bool is_var = vd->scope_level == 0 && !vd->is_lexical;
        bool is_let = vd->scope_level == fd->body_scope && vd->is_lexical;
        if (vd->var_kind != JS_VAR_NORMAL || !(is_var || is_let) || !is_own_name(vd->var_name) ||
            is_locked_global(ctx, vd->var_name))
            continue;
        if (kept_len == kept_cap) {
            uint32_t cap = kept_cap ? kept_cap * 2 : 16;
            struct kept *more = js_realloc(ctx, kept, cap * sizeof *kept);
            if (!more)
                return -1;
            kept = more, kept_cap = cap;
        }
        if (vd->func_pool_idx >= 0 && is_var) {
            JSGlobalVar *hf = add_global_var(ctx, fd, vd->var_name);
            if (!hf)
                return -1;
            hf->is_lexical = true;
            hf->cpool_idx = vd->func_pool_idx;
            hf->scope_level = KEPT_SCOPE;
        }
        kept[kept_len++] = (struct kept){vd->var_name, is_let, vd->is_const, is_var && vd->func_pool_idx >= 0};
        vd->var_name = __JS_AtomFromUInt32((uint32_t)i); /* no identifier: nothing finds the place it had */
        vd->func_pool_idx = -1;
    }
    return 0;
}

/* Defines what the program declares, before it runs: lexical names are not to be used yet, `var` keeps a value. */
static int define_kept(JSContext *ctx)
{
    JSObject *world = JS_VALUE_GET_OBJ(ctx->global_var_obj);
    if (has_aside)
        JS_FreeValue(ctx, set_aside);
    set_aside = JS_NewObjectProto(ctx, JS_NULL);
    has_aside = true;
    for (uint32_t i = 0; i < kept_len; i++) {
        struct kept *k = &kept[i];
        JSProperty *pr;
        JSShapeProperty *prs = find_own_property(&pr, world, k->name);
        JSValue value = k->is_lexical ? JS_UNINITIALIZED : JS_UNDEFINED;
        if (prs && !JS_IsUninitialized(pr->u.value)) {
            if (k->is_lexical)
                JS_DefinePropertyValue(ctx, set_aside, k->name, js_dup(pr->u.value), JS_PROP_C_W_E);
            else if (!k->is_function)
                value = js_dup(pr->u.value);
        }
        if (prs)
            delete_property(ctx, world, k->name);
        pr = add_property(ctx, world, k->name,
                          JS_PROP_ENUMERABLE | JS_PROP_CONFIGURABLE | (k->is_const ? 0 : JS_PROP_WRITABLE));
        if (!pr) {
            JS_FreeValue(ctx, value);
            return -1;
        }
        pr->u.value = value;
    }
    forget_kept(ctx);
    return 0;
}

/* ---- between two programs ---- */

/* Drops jobs that nobody will run: the calls of finalizers, in a guest that is at rest. */
static void drop_jobs(JSRuntime *rt)
{
    while (!list_empty(&rt->job_list)) {
        JSJobEntry *e = list_entry(rt->job_list.next, JSJobEntry, link);
        list_del(&e->link);
        for (int i = 0; i < e->argc; i++)
            JS_FreeValueRT(rt, e->argv[i]);
        js_free_rt(rt, e);
    }
}

/* Forgets what was registered with one FinalizationRegistry, as its own finalizer does. */
static void drop_registrations(JSRuntime *rt, JSValueConst registry)
{
    JSFinalizationRegistryData *frd = JS_GetOpaque(registry, JS_CLASS_FINALIZATION_REGISTRY);
    struct list_head *el, *next, dropped;
    if (!frd || list_empty(&frd->entries))
        return;
    list_for_each(el, &frd->entries)
        delete_finrec_weakref(rt, list_entry(el, JSFinRecEntry, link));
    dropped = frd->entries; /* what is freed below may look at the registry */
    dropped.next->prev = &dropped;
    dropped.prev->next = &dropped;
    init_list_head(&frd->entries);
    list_for_each_safe(el, next, &dropped)
        js_finrec_free(rt, list_entry(el, JSFinRecEntry, link));
}

static void drop_finalizers(JSContext *ctx)
{
    JSRuntime *rt = ctx->rt;
    struct list_head *el;
    JSValue *found = NULL;
    uint32_t count = 0;
    list_for_each(el, &rt->gc_obj_list) {
        JSGCObjectHeader *header = list_entry(el, JSGCObjectHeader, link);
        count += JS_GC_TYPE(header) == JS_GC_OBJ_TYPE_JS_OBJECT &&
                 ((JSObject *)header)->class_id == JS_CLASS_FINALIZATION_REGISTRY;
    }
    if (!count)
        return;
    found = js_malloc(ctx, count * sizeof *found);
    count = 0;
    list_for_each(el, &rt->gc_obj_list) {
        JSGCObjectHeader *header = list_entry(el, JSGCObjectHeader, link);
        if (JS_GC_TYPE(header) == JS_GC_OBJ_TYPE_JS_OBJECT &&
            ((JSObject *)header)->class_id == JS_CLASS_FINALIZATION_REGISTRY)
            found[count++] = js_dup(JS_MKPTR(JS_TAG_OBJECT, header));
    }
    for (uint32_t i = 0; i < count; i++)
        drop_registrations(rt, found[i]);
    for (uint32_t i = 0; i < count; i++)
        JS_FreeValue(ctx, found[i]);
    js_free(ctx, found);
}

/* Names that were declared and never reached go, or get back the value they had before this program. */
static void drop_unreached(JSContext *ctx)
{
    JSPropertyEnum *names;
    uint32_t count;
    JSObject *world = JS_VALUE_GET_OBJ(ctx->global_var_obj);
    if (JS_GetOwnPropertyNamesInternal(ctx, &names, &count, world, JS_GPN_STRING_MASK))
        cm_stop(CM_STOP_ABORT);
    for (uint32_t i = 0; i < count; i++) {
        JSProperty *pr, *before;
        JSShapeProperty *prs = find_own_property(&pr, world, names[i].atom);
        if (!prs || !JS_IsUninitialized(pr->u.value))
            continue;
        if (has_aside && find_own_property(&before, JS_VALUE_GET_OBJ(set_aside), names[i].atom))
            pr->u.value = js_dup(before->u.value);
        else
            delete_property(ctx, world, names[i].atom);
    }
    JS_FreePropertyEnum(ctx, names, count);
    if (has_aside)
        JS_FreeValue(ctx, set_aside);
    set_aside = JS_UNDEFINED, has_aside = false;
}

/* Leaves of a program that has returned what it declared, and what that holds. */
void cm_engine_rest(JSContext *ctx)
{
    drop_unreached(ctx);
    drop_finalizers(ctx);
    JS_RunGC(ctx->rt);
    drop_jobs(ctx->rt);
    drop_finalizers(ctx); /* none can be new; a job that was dropped held the last of them */
    forget_kept(ctx);
}

/* Before another program of the world: its API stands before all that is declared, and the functions of earlier
   programs say in stacks that they are not this one's. */
void cm_engine_wake(JSContext *ctx)
{
    JSRuntime *rt = ctx->rt;
    struct list_head *el;
    JSPropertyEnum *names;
    uint32_t count;
    JSObject *world = JS_VALUE_GET_OBJ(ctx->global_var_obj);
    put_promises_back(ctx);
    if (JS_GetOwnPropertyNamesInternal(ctx, &names, &count, world, JS_GPN_STRING_MASK))
        cm_stop(CM_STOP_ABORT);
    for (uint32_t i = 0; i < count; i++)
        if (is_locked_global(ctx, names[i].atom))
            delete_property(ctx, world, names[i].atom);
    JS_FreePropertyEnum(ctx, names, count);
    JSAtom program = JS_NewAtom(ctx, "program"), earlier = JS_NewAtom(ctx, "earlier");
    list_for_each(el, &rt->gc_obj_list) {
        JSGCObjectHeader *header = list_entry(el, JSGCObjectHeader, link);
        JSFunctionBytecode *b = (JSFunctionBytecode *)header;
        if (JS_GC_TYPE(header) != JS_GC_OBJ_TYPE_FUNCTION_BYTECODE || b->filename != program)
            continue;
        JS_FreeAtom(ctx, b->filename);
        b->filename = JS_DupAtom(ctx, earlier);
    }
    JS_FreeAtom(ctx, program);
    JS_FreeAtom(ctx, earlier);
}

/* Puts a global of the API there, whatever an earlier program has left under its name. Takes over v. */
void cm_engine_put_global(JSContext *ctx, JSAtom name, JSValue v)
{
    JSObject *global = JS_VALUE_GET_OBJ(ctx->global_obj);
    bool was_extensible = global->extensible;
    if (find_own_property1(global, name))
        cm_engine_delete_locked(ctx, ctx->global_obj, name);
    global->extensible = true;
    JS_DefinePropertyValue(ctx, ctx->global_obj, name, v, JS_PROP_ENUMERABLE);
    global->extensible = was_extensible;
}

/* ---- what there is ---- */

static const char *type_of(JSContext *ctx, JSValueConst v, bool *is_class_name)
{
    *is_class_name = false;
    switch (JS_VALUE_GET_NORM_TAG(v)) {
    case JS_TAG_UNDEFINED:
        return "undefined";
    case JS_TAG_NULL:
        return "null";
    case JS_TAG_BOOL:
        return "boolean";
    case JS_TAG_INT:
    case JS_TAG_FLOAT64:
        return "number";
    case JS_TAG_STRING:
    case JS_TAG_STRING_ROPE:
        return "string";
    case JS_TAG_SYMBOL:
        return "symbol";
    case JS_TAG_BIG_INT:
    case JS_TAG_SHORT_BIG_INT:
        return "bigint";
    default:
        break;
    }
    if (JS_VALUE_GET_TAG(v) != JS_TAG_OBJECT)
        return "unknown";
    if (JS_IsFunction(ctx, v))
        return "function";
    *is_class_name = true;
    return NULL;
}

#define MAX_TOLD 1000 /* names of a world */

/* Writes [name, type] of each binding, as elements of a JSON array, into memory that holds no state. */
size_t cm_engine_tell_world(JSContext *ctx, char *to, size_t room)
{
    JSPropertyEnum *names;
    uint32_t count;
    size_t len = 0;
    JSObject *world = JS_VALUE_GET_OBJ(ctx->global_var_obj);
    if (JS_GetOwnPropertyNamesInternal(ctx, &names, &count, world, JS_GPN_STRING_MASK))
        cm_stop(CM_STOP_ABORT);
    for (uint32_t i = 0; i < count && i < MAX_TOLD; i++) {
        bool is_class_name;
        JSProperty *pr;
        cm_buf row = {0};
        if (!find_own_property(&pr, world, names[i].atom))
            continue;
        const char *type = type_of(ctx, pr->u.value, &is_class_name);
        const char *name = JS_AtomToCString(ctx, names[i].atom), *class = NULL;
        if (is_class_name) {
            JSClassID id = JS_VALUE_GET_OBJ(pr->u.value)->class_id;
            type = class = JS_AtomToCString(ctx, ctx->rt->class_array[id].class_name);
        }
        if (len)
            cm_buf_putc(&row, ',');
        cm_buf_putc(&row, '[');
        cm_buf_put_json_string(&row, name, cm_clip(name, strlen(name), 200), NULL);
        cm_buf_putc(&row, ',');
        cm_buf_put_json_string(&row, type, strlen(type), NULL);
        cm_buf_putc(&row, ']');
        JS_FreeCString(ctx, name);
        if (class)
            JS_FreeCString(ctx, class);
        bool fits = row.len <= room - len;
        if (fits) {
            memcpy(to + len, row.data, row.len);
            len += row.len;
        }
        cm_buf_free(&row);
        if (!fits)
            break;
    }
    JS_FreePropertyEnum(ctx, names, count);
    return len;
}
