/* What the results of calls pass through, put back before each program of a world. Included by engine.c. */

/* The promises of calls are what `await` and the methods of promises make of them: these are put back before each
   program, so that what an earlier one left there cannot stand between a call and its result. */
static struct built_in {
    JSValue of; /* borrowed for good, as all here: they are of the image */
    JSAtom name;
    JSValue value, getter;
} *built_in;
static uint32_t built_in_len;

static void save_own(JSContext *ctx, JSValueConst of, struct built_in *to, uint32_t *count)
{
    JSPropertyEnum *names;
    uint32_t found;
    JSPropertyDescriptor d;
    JSObject *p = JS_VALUE_GET_OBJ(of);
    if (JS_GetOwnPropertyNamesInternal(ctx, &names, &found, p, JS_GPN_STRING_MASK | JS_GPN_SYMBOL_MASK))
        cm_stop(CM_STOP_ABORT);
    for (uint32_t i = 0; i < found; i++) {
        if (to && JS_GetOwnProperty(ctx, &d, of, names[i].atom) > 0)
            to[*count] = (struct built_in){of, JS_DupAtom(ctx, names[i].atom), d.value, d.getter};
        ++*count;
    }
    JS_FreePropertyEnum(ctx, names, found);
}

/* At the end of boot. */
void cm_engine_save_promises(JSContext *ctx)
{
    JSValue of[] = {ctx->promise_ctor, ctx->class_proto[JS_CLASS_PROMISE]};
    uint32_t count = 0;
    for (int i = 0; i < 2; i++)
        save_own(ctx, of[i], NULL, &count);
    built_in = js_malloc(ctx, count * sizeof *built_in);
    for (int i = 0; i < 2; i++)
        save_own(ctx, of[i], built_in, &built_in_len);
}

static void put_back(JSContext *ctx, const struct built_in *b)
{
    JSObject *p = JS_VALUE_GET_OBJ(b->of);
    JSProperty *pr;
    JSShapeProperty *prs = find_own_property(&pr, p, b->name);
    bool is_getter = JS_IsFunction(ctx, b->getter);
    if (prs && is_getter && (prs->flags & JS_PROP_TMASK) == JS_PROP_GETSET &&
        pr->u.getset.getter == JS_VALUE_GET_OBJ(b->getter))
        return;
    if (prs && !is_getter && !(prs->flags & JS_PROP_TMASK) && JS_IsObject(pr->u.value) && JS_IsObject(b->value) &&
        JS_VALUE_GET_PTR(pr->u.value) == JS_VALUE_GET_PTR(b->value))
        return;
    if (prs && !JS_IsObject(b->value) && !is_getter)
        return; /* its name, its length, a tag */
    if (prs)
        cm_engine_delete_locked(ctx, b->of, b->name);
    p->extensible = true;
    if (is_getter)
        JS_DefinePropertyGetSet(ctx, b->of, b->name, js_dup(b->getter), JS_UNDEFINED, JS_PROP_CONFIGURABLE);
    else
        JS_DefinePropertyValue(ctx, b->of, b->name, js_dup(b->value), JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
}

static void put_promises_back(JSContext *ctx)
{
    for (uint32_t i = 0; i < built_in_len; i++)
        put_back(ctx, &built_in[i]);
    /* a result with a `then`, its own or inherited, would be asked for another value */
    JSClassID plain[] = {JS_CLASS_OBJECT, JS_CLASS_ARRAY};
    for (int i = 0; i < 2; i++)
        if (find_own_property1(JS_VALUE_GET_OBJ(ctx->class_proto[plain[i]]), JS_ATOM_then))
            cm_engine_delete_locked(ctx, ctx->class_proto[plain[i]], JS_ATOM_then);
    JS_SetPrototypeInternal(ctx, ctx->class_proto[JS_CLASS_ARRAY], ctx->class_proto[JS_CLASS_OBJECT], false);
}
