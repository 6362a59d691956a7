/* What a TypeError says of the value that a program used wrongly: its kind, and the keys that it has. No code
   of the program runs for it, and nothing is told but what the program itself can read. Included by engine.c;
   build/misuse.py has the places that call it. */

#define MOST 300     /* bytes of a message */
#define MOST_KEYS 12 /* of an object that are named */
#define MOST_KEY 40  /* bytes of one */
#define MOST_VARS 300
#define NEAR 12 /* bytes of code between a property that is missing and the use of what it gave */

/* The last property that was looked for in vain. Kept alive until the guest goes idle. */
static struct {
    JSValue of;        /* owned */
    JSAtom name;       /* owned; 0: there is none */
    const uint8_t *pc; /* behind the instruction that looked */
} miss;

void cm_engine_forget(JSContext *ctx)
{
    JSValue of = miss.of;
    JS_FreeAtom(ctx, miss.name);
    miss.of = JS_UNDEFINED, miss.name = 0, miss.pc = NULL;
    JS_FreeValue(ctx, of);
}

static bool is_same(JSValueConst a, JSValueConst b)
{
    return JS_VALUE_GET_TAG(a) == JS_VALUE_GET_TAG(b) && JS_VALUE_HAS_REF_COUNT(a) &&
           JS_VALUE_GET_PTR(a) == JS_VALUE_GET_PTR(b);
}

void cm_engine_missed(JSContext *ctx, JSValueConst of, JSAtom name, const uint8_t *pc)
{
    miss.pc = pc;
    if (miss.name == name && is_same(miss.of, of))
        return;
    JSValue before = miss.of;
    JS_FreeAtom(ctx, miss.name);
    miss.of = js_dup(of), miss.name = JS_DupAtom(ctx, name);
    JS_FreeValue(ctx, before);
}

/* ---- words --------------------------------------------------------------------------------------------- */

static void put_atom(JSContext *ctx, cm_buf *out, JSAtom atom)
{
    char text[ATOM_GET_STR_BUF_SIZE];
    JS_AtomGetStr(ctx, text, sizeof text, atom);
    size_t len = strlen(text), kept = cm_clip(text, len, MOST_KEY);
    for (size_t i = 0; i < kept; i++)
        cm_buf_putc(out, (unsigned char)text[i] < 0x20 ? ' ' : text[i]);
    if (kept < len)
        cm_buf_puts(out, "…");
}

static void put_quoted(JSContext *ctx, cm_buf *out, JSAtom atom)
{
    cm_buf_putc(out, '`');
    put_atom(ctx, out, atom);
    cm_buf_putc(out, '`');
}

static void put_counted(cm_buf *out, uint32_t count, const char *what)
{
    cm_buf_put_uint(out, count);
    cm_buf_putc(out, ' ');
    cm_buf_puts(out, what);
    if (count != 1)
        cm_buf_putc(out, 's');
}

/* Names the own keys of a plain object, as many as there is room for. */
static void put_keys(JSContext *ctx, cm_buf *out, JSObject *p, size_t most)
{
    uint32_t shown = 0, all = 0;
    JSShapeProperty *prs = get_shape_prop(p->shape);
    for (int i = 0; i < p->shape->prop_count; i++, prs++) {
        if (prs->atom == JS_ATOM_NULL || !(prs->flags & JS_PROP_ENUMERABLE) ||
            JS_AtomGetKind(ctx, prs->atom) != JS_ATOM_KIND_STRING)
            continue;
        if (!all)
            cm_buf_puts(out, p->shape->prop_count == 1 ? " with key " : " with keys ");
        if (shown == all && shown < MOST_KEYS && out->len < most) {
            if (shown++)
                cm_buf_puts(out, ", ");
            put_atom(ctx, out, prs->atom);
        }
        all++;
    }
    if (!all)
        cm_buf_puts(out, " without keys");
    else if (shown < all) {
        cm_buf_puts(out, " and ");
        cm_buf_put_uint(out, all - shown);
        cm_buf_puts(out, " more");
    }
}

static JSObject *plain(JSValueConst v)
{
    JSObject *p = JS_VALUE_GET_TAG(v) == JS_TAG_OBJECT ? JS_VALUE_GET_OBJ(v) : NULL;
    return p && p->class_id == JS_CLASS_OBJECT ? p : NULL;
}

static void put_array(JSContext *ctx, cm_buf *out, JSObject *p, size_t most)
{
    if (!p->fast_array || !p->u.array.count) {
        cm_buf_puts(out, p->fast_array ? "an empty array" : "an array");
        return;
    }
    JSObject *first = plain(p->u.array.u.values[0]);
    cm_buf_puts(out, "an array of ");
    put_counted(out, p->u.array.count, first ? "object" : "item");
    if (first)
        put_keys(ctx, out, first, most);
}

/* Appends what kind of thing a borrowed value is. False, and nothing written, where that says nothing. */
static bool put_kind(JSContext *ctx, cm_buf *out, JSValueConst v, size_t most)
{
    JSObject *p = plain(v);
    uint32_t tag = JS_VALUE_GET_NORM_TAG(v);
    if (p) {
        cm_buf_puts(out, "an object");
        put_keys(ctx, out, p, most);
    } else if (tag == JS_TAG_STRING || tag == JS_TAG_STRING_ROPE) {
        uint32_t len = tag == JS_TAG_STRING ? JS_VALUE_GET_STRING(v)->len : JS_VALUE_GET_STRING_ROPE(v)->len;
        cm_buf_puts(out, "a string of ");
        put_counted(out, len, "character");
    } else if (JS_IsNumber(v)) {
        cm_buf_puts(out, "a number");
    } else if (JS_IsBool(v)) {
        cm_buf_puts(out, "a boolean");
    } else if (JS_IsNull(v)) {
        cm_buf_puts(out, "null");
    } else if (tag == JS_TAG_OBJECT && JS_VALUE_GET_OBJ(v)->class_id == JS_CLASS_ARRAY) {
        put_array(ctx, out, JS_VALUE_GET_OBJ(v), most);
    } else if (tag == JS_TAG_OBJECT && JS_VALUE_GET_OBJ(v)->class_id == JS_CLASS_PROMISE) {
        cm_buf_puts(out, "a promise: put `await` before the call that gives it");
    } else {
        return false;
    }
    return true;
}

static bool is_promise(JSValueConst v)
{
    return JS_VALUE_GET_TAG(v) == JS_TAG_OBJECT && JS_VALUE_GET_OBJ(v)->class_id == JS_CLASS_PROMISE;
}

/* ---- names --------------------------------------------------------------------------------------------- */

typedef bool fits(JSAtom name, JSValueConst found, JSAtom wanted, JSValueConst value);

static bool holds(JSAtom name, JSValueConst found, JSAtom wanted, JSValueConst value)
{
    (void)name, (void)wanted;
    return is_same(found, value);
}

static bool is_unset(JSAtom name, JSValueConst found, JSAtom wanted, JSValueConst value)
{
    (void)value;
    return name == wanted && JS_IsUndefined(found);
}

static JSStackFrame *running(JSContext *ctx, JSFunctionBytecode **b)
{
    JSStackFrame *sf = ctx->rt->current_stack_frame;
    *b = sf ? JS_GetFunctionBytecode(sf->cur_func) : NULL;
    return *b ? sf : NULL;
}

/* Whether it is the name of a variable that a program wrote: the engine keeps its own beside them. */
static bool is_written(JSContext *ctx, JSAtom name)
{
    char text[ATOM_GET_STR_BUF_SIZE];
    JS_AtomGetStr(ctx, text, sizeof text, name);
    for (const char *s = text; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && *s != '$' && !(*s & 0x80))
            return false;
    return *text && *text != '_' && name != JS_ATOM_home_object;
}

/* Returns the name (borrowed) of a variable of the running function that fits, or 0. */
static JSAtom variable(JSContext *ctx, fits *fit, JSAtom wanted, JSValueConst value)
{
    JSFunctionBytecode *b;
    JSStackFrame *sf = running(ctx, &b);
    if (!sf)
        return 0;
    int count = sf->arg_buf && b->vardefs ? b->arg_count + b->var_count : 0;
    for (int i = 0; i < count && i < MOST_VARS; i++) {
        JSAtom name = b->vardefs[i].var_name;
        JSValueConst found = i < b->arg_count ? sf->arg_buf[i] : sf->var_buf[i - b->arg_count];
        if (fit(name, found, wanted, value) && is_written(ctx, name))
            return name;
    }
    JSVarRef **refs = JS_VALUE_GET_OBJ(sf->cur_func)->u.func.var_refs;
    for (int i = 0; refs && i < b->closure_var_count && i < MOST_VARS; i++) {
        JSAtom name = b->closure_var[i].var_name;
        if (refs[i] && fit(name, *refs[i]->pvalue, wanted, value) && is_written(ctx, name))
            return name;
    }
    return 0;
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static JSValue throw_text(JSContext *ctx, cm_buf *text)
{
    JSRuntime *rt = ctx->rt;
    JSFunctionBytecode *b;
    bool is_native = !rt->in_out_of_memory && !running(ctx, &b); /* elsewhere the engine adds the place later */
    text->most = 0;
    if (text->dropped)
        text->len = cm_clip(text->data, text->len, MOST - 3);
    cm_buf_puts(text, text->dropped ? "…" : "");
    cm_buf_putc(text, 0);
    JSValue error = JS_MakeError2(ctx, JS_TYPE_ERROR, is_native, text->data);
    cm_buf_free(text);
    return JS_Throw(ctx, JS_IsException(error) ? JS_NULL : error);
}

/* Appends what a borrowed value is in which a property was looked for; name 0: it is not known which. */
static void put_misuse(JSContext *ctx, cm_buf *out, JSValueConst v, JSAtom name)
{
    cm_buf kind = {0};
    JSAtom variable_name = variable(ctx, holds, 0, v);
    bool is_index = name && __JS_AtomIsTaggedInt(name);
    if (!put_kind(ctx, &kind, v, MOST - 140)) {
        cm_buf_free(&kind);
        return;
    }
    cm_buf_puts(out, ": ");
    if (!variable_name && name && !is_promise(v)) {
        cm_buf_puts(out, is_index ? "element " : "");
        is_index ? put_atom(ctx, out, name) : put_quoted(ctx, out, name);
        cm_buf_puts(out, " was looked for in ");
    } else if (variable_name) {
        put_quoted(ctx, out, variable_name);
        cm_buf_puts(out, " is ");
    } else {
        cm_buf_puts(out, is_promise(v) ? "it is " : "it was called on ");
    }
    cm_buf_put(out, kind.data, kind.len);
    cm_buf_free(&kind);
    if (!variable_name || !name || is_promise(v))
        return;
    if (plain(v)) {
        cm_buf_puts(out, "; ");
        put_quoted(ctx, out, name);
        cm_buf_puts(out, " is not one of them");
        return;
    }
    cm_buf_puts(out, is_index ? "; it has no element " : "; it has no ");
    is_index ? put_atom(ctx, out, name) : put_quoted(ctx, out, name);
}

JSValue cm_engine_not_a_function(JSContext *ctx, JSValueConst function, JSValueConst self)
{
    cm_buf text = {.most = MOST};
    cm_buf_puts(&text, "not a function");
    bool is_method = !JS_IsUndefined(self) && !JS_IsNull(self);
    if (JS_IsUndefined(function) && is_method) {
        put_misuse(ctx, &text, self, miss.name && is_same(miss.of, self) ? miss.name : 0);
    } else if (!JS_IsUndefined(function)) {
        cm_buf kind = {0};
        if (put_kind(ctx, &kind, function, MOST - 60)) {
            cm_buf_puts(&text, ": it is ");
            cm_buf_put(&text, kind.data, kind.len);
        }
        cm_buf_free(&kind);
    }
    return throw_text(ctx, &text);
}

/* Whether what is undefined now is what the last property that was missing gave. */
static bool is_missed(JSContext *ctx)
{
    JSFunctionBytecode *b;
    JSStackFrame *sf = running(ctx, &b);
    if (!sf || !miss.name)
        return false;
    if (sf->cur_pc >= miss.pc && sf->cur_pc - miss.pc <= NEAR)
        return true;
    return variable(ctx, is_unset, miss.name, JS_UNDEFINED) != 0;
}

JSValue cm_engine_cannot_read(JSContext *ctx, JSAtom name)
{
    cm_buf text = {.most = MOST};
    char buffer[ATOM_GET_STR_BUF_SIZE];
    cm_buf_puts(&text, "cannot read property '");
    cm_buf_puts(&text, JS_AtomGetStr(ctx, buffer, sizeof buffer, name));
    cm_buf_puts(&text, "' of undefined");
    if (is_missed(ctx))
        put_misuse(ctx, &text, miss.of, miss.name);
    return throw_text(ctx, &text);
}

JSValue cm_engine_not_iterable(JSContext *ctx, JSValueConst v)
{
    cm_buf text = {.most = MOST};
    cm_buf_puts(&text, "value is not iterable");
    JSAtom name = variable(ctx, holds, 0, v);
    cm_buf kind = {0};
    if (put_kind(ctx, &kind, v, MOST - 100)) {
        cm_buf_puts(&text, ": ");
        if (name)
            put_quoted(ctx, &text, name);
        else
            cm_buf_puts(&text, "it");
        cm_buf_puts(&text, " is ");
        cm_buf_put(&text, kind.data, kind.len);
    }
    cm_buf_free(&kind);
    return throw_text(ctx, &text);
}
