/* Everything that needs QuickJS's internals, in the one translation unit that has them: the engine
   is included as source. Nothing here is called by programs directly.

   Pinned to the engine version in build/source.py: a new engine means reading this file again. */

/* The engine calls the next() of its own iterators directly, past the check of the stack that every other
   call makes: iterator helpers around iterator helpers would overflow it. So the check is made where the
   engine writes `func.iterator_next(…)`; the macro is none where the name stands without arguments. */
#define iterator_next(ctx, ...)                                                                        \
    iterator_next && js_check_stack_overflow((ctx)->rt, 0) ? JS_ThrowStackOverflow(ctx)                \
                                                           : func.iterator_next(ctx, __VA_ARGS__)
#include "quickjs.c"
#undef iterator_next
#include "shim.h"

JSRuntime *cm_engine_runtime(void) { return JS_NewRuntime(); }

static int parse_body(JSParseState *s, JSFunctionDef *fd)
{
    BlockEnv using_be;
    bool has_using = false;

    if (next_token(s) || js_parse_directives(s))
        return -1;
    /* to the end of the text, not to a brace: there is no wrapper that a program could close */
    while (s->token.val != TOK_EOF) {
        if (js_parse_source_element(s))
            return -1;
        if (!has_using && fd->scopes[fd->body_scope].has_using) {
            has_using = true;
            push_break_entry(fd, &using_be, JS_ATOM_NULL, -1, -1, 1);
            using_be.has_using = true;
            using_be.using_scope_level = fd->body_scope;
        }
    }
    if (has_using) {
        /* the epilogue of a function body with `using` declarations */
        int label_catch = fd->scopes[fd->body_scope].using_label_catch;
        int label_end = fd->scopes[fd->body_scope].using_label_end;
        pop_break_entry(fd);
        if (js_is_live_code(s)) {
            emit_op(s, OP_drop);
            emit_op(s, OP_using_dispose_init);
            emit_op(s, OP_dispose_scope);
            emit_u16(s, fd->body_scope);
            emit_op(s, OP_using_dispose_end);
            emit_return(s, false);
        }
        emit_label(s, label_catch);
        emit_op(s, OP_dispose_scope);
        emit_u16(s, fd->body_scope);
        emit_op(s, OP_throw);
        emit_label(s, label_end);
    } else if (js_is_live_code(s)) {
        emit_return(s, false);
    }
    return 0;
}

static void begin_function(JSParseState *s, JSFunctionDef *fd, JSFunctionKindEnum kind)
{
    s->cur_func = fd;
    fd->has_this_binding = true;
    fd->new_target_allowed = false;
    fd->arguments_allowed = true;
    fd->is_strict_mode = true;
    fd->func_kind = kind;
    fd->in_function_body = true;
    fd->has_simple_parameter_list = true;
    push_scope(s);
    fd->body_scope = fd->scope_level;
}

/* The pending error of the parser, placed where it was reading, if it has no place: the engine gives none to
   a regular expression that does not compile, nor to nesting that exhausts the stack. */
static void place_error(JSParseState *s)
{
    JSContext *ctx = s->ctx;
    JSValue error = JS_GetException(ctx), stack = cm_engine_error_stack(ctx, error);
    const char *text = JS_IsString(stack) ? JS_ToCString(ctx, stack) : NULL;
    if (text && !*text) {
        char at[64];
        int column = s->token.ptr >= s->token.line_start ? (int)(s->token.ptr - s->token.line_start) + 1 : 1;
        snprintf(at, sizeof at, "    at program:%d:%d\n", s->token.line_num, column);
        cm_engine_set_error_stack(ctx, error, at);
    }
    JS_FreeCString(ctx, text);
    JS_FreeValue(ctx, stack);
    JS_Throw(ctx, error);
}

/* Compiles borrowed text (zero-terminated) as the body of a strict async function, positions from
   1:1, and returns that function (owned), or JS_EXCEPTION. */
static JSValue compile(JSContext *ctx, const char *text, size_t len, const char *filename)
{
    JSParseState s1, *s = &s1;
    js_parse_init(ctx, s, text, len, filename, 1);
    /* columns count from the end of the line before; the engine leaves the first line one short */
    s->eol = s->buf_ptr - 1;
    s->mark = s->buf_ptr;
    skip_shebang(&s->buf_ptr, s->buf_end);

    /* the outer function only makes the closure and returns it */
    JSFunctionDef *outer = js_new_function_def(ctx, NULL, true, false, filename, 1, 1);
    if (!outer)
        return JS_EXCEPTION;
    outer->eval_type = JS_EVAL_TYPE_GLOBAL;
    outer->func_name = JS_DupAtom(ctx, JS_ATOM__eval_);
    outer->is_global_var = true;
    begin_function(s, outer, JS_FUNC_NORMAL);

    /* no function expression: that would bind its name, and the program could see it */
    JSFunctionDef *fd = js_new_function_def(ctx, outer, false, false, filename, 1, 1);
    if (!fd)
        goto fail;
    fd->func_name = JS_NewAtom(ctx, "program");
    fd->func_type = JS_PARSE_FUNC_EXPR;
    fd->has_arguments_binding = true;
    begin_function(s, fd, JS_FUNC_ASYNC);

    if (parse_body(s, fd))
        goto fail;
    fd->source_len = len;
    fd->source = js_strndup(ctx, text, len);
    if (!fd->source)
        goto fail;

    s->cur_func = outer;
    int idx = cpool_add(s, JS_NULL);
    if (idx < 0)
        goto fail;
    fd->parent_cpool_idx = idx;
    emit_op(s, OP_fclosure);
    emit_u32(s, idx);
    emit_op(s, OP_return);
    free_token(s, &s->token);

    JSValue maker = js_create_function(ctx, outer);
    if (JS_IsException(maker))
        return JS_EXCEPTION;
    return JS_EvalFunctionInternal(ctx, maker, JS_UNDEFINED, NULL, NULL);
fail:
    place_error(s);
    free_token(s, &s->token);
    js_free_function_def(ctx, outer); /* frees the inner one as its child */
    return JS_EXCEPTION;
}

/* A function body never ends with the text, so the engine takes `return` at the very end for the
   start of an expression. A line feed helps; only after a failure, for the position of errors there. */
JSValue cm_engine_compile(JSContext *ctx, const char *text, size_t len, const char *filename)
{
    JSValue function = compile(ctx, text, len, filename);
    if (!JS_IsException(function))
        return function;
    JSValue error = JS_GetException(ctx);
    char *longer = js_malloc(ctx, len + 2);
    memcpy(longer, text, len);
    memcpy(longer + len, "\n", 2);
    function = compile(ctx, longer, len + 1, filename);
    js_free(ctx, longer);
    if (!JS_IsException(function)) {
        JS_FreeValue(ctx, error);
        return function;
    }
    JS_FreeValue(ctx, JS_GetException(ctx));
    return JS_Throw(ctx, error);
}

/* Takes every object that exists now off the collector's list. They act as roots from then on and
   are neither visited nor moved by a collection, so that a collection costs what the program holds,
   and does not dirty the pages of the booted image. Reference counts still free them. */
void cm_engine_make_immortal(JSRuntime *rt)
{
    static struct list_head immortal;
    JS_RunGC(rt);
    immortal = rt->gc_obj_list;
    immortal.next->prev = &immortal;
    immortal.prev->next = &immortal;
    init_list_head(&rt->gc_obj_list);
    rt->malloc_gc_threshold = rt->malloc_state.malloc_size + 256 * 1024;
}

/* What exists now are the functions of the prelude: programs see them as they see the engine's own,
   without source, file name or line. */
void cm_engine_hide_source(JSContext *ctx)
{
    JSRuntime *rt = ctx->rt;
    struct list_head *el;
    JSAtom native = JS_NewAtom(ctx, "native");
    list_for_each(el, &rt->gc_obj_list) {
        JSGCObjectHeader *header = list_entry(el, JSGCObjectHeader, link);
        if (JS_GC_TYPE(header) != JS_GC_OBJ_TYPE_FUNCTION_BYTECODE)
            continue;
        JSFunctionBytecode *b = (JSFunctionBytecode *)header;
        JS_FreeAtom(ctx, b->filename);
        b->filename = JS_DupAtom(ctx, native);
        b->line_num = b->col_num = -1; /* with no table of lines, the stack has no line */
        js_free(ctx, b->pc2line_buf);
        js_free(ctx, b->source);
        b->pc2line_buf = NULL, b->source = NULL;
        b->pc2line_len = b->source_len = 0;
    }
    JS_FreeAtom(ctx, native);
}

/* Freed blocks of living arenas become zero but for their link, so that a capture does not carry
   what a program has dropped. Reads before it writes: clean pages stay shared with the image. */
void cm_engine_scrub(JSRuntime *rt)
{
    for (int i = 0; i < JS_ARENA_BLOCK_SIZE_COUNT; i++) {
        struct list_head *el;
        unsigned size = arena_block_sizes[i];
        list_for_each(el, &rt->arena_state.free_arena_list[i]) {
            JSArena *ar = list_entry(el, JSArena, free_link);
            for (unsigned b = ar->first_free_block; b != JS_ARENA_FREE_NIL;) {
                JSMallocBlockHeader *h = arena_get_block(ar, b, size);
                uint64_t *word = (uint64_t *)h;
                b = h->u.free_next;
                if (word[0] >> 24) /* mark and reference count of the last tenant */
                    word[0] &= 0xffffff;
                for (unsigned k = 1; k < size / 8; k++)
                    if (word[k])
                        word[k] = 0;
            }
        }
    }
}

void cm_engine_seed(JSContext *ctx, uint64_t seed) { ctx->random_state = seed ? seed : 1; }

/* Reads a data property, own or inherited, without running any code of the program: getters,
   proxies and exotic objects answer nothing. *out is owned. */
bool cm_engine_data_property(JSContext *ctx, JSValueConst obj, const char *name, JSValue *out)
{
    bool found = false;
    JSAtom atom = JS_NewAtom(ctx, name);
    if (JS_VALUE_GET_TAG(obj) == JS_TAG_OBJECT) {
        JSObject *p = JS_VALUE_GET_OBJ(obj);
        JSDOMExceptionData *dom = p->class_id == JS_CLASS_DOM_EXCEPTION ? p->u.opaque : NULL;
        if (dom && (atom == JS_ATOM_name || atom == JS_ATOM_message)) { /* getters, but the engine's own */
            *out = js_dup(atom == JS_ATOM_name ? dom->name : dom->message);
            return true; /* atoms of the engine need no freeing */
        }
        for (int depth = 0; p && depth < 64; depth++, p = p->shape->proto) {
            JSProperty *pr;
            JSShapeProperty *prs = find_own_property(&pr, p, atom);
            /* made by the engine when first asked for, as the name of Error.prototype is */
            if (prs && (prs->flags & JS_PROP_TMASK) == JS_PROP_AUTOINIT && !JS_AutoInitProperty(ctx, p, atom, pr, prs))
                prs = find_own_property(&pr, p, atom);
            if (prs) {
                if ((prs->flags & JS_PROP_TMASK) == JS_PROP_NORMAL) {
                    *out = js_dup(pr->u.value);
                    found = true;
                }
                break;
            }
            if (p->class_id == JS_CLASS_PROXY)
                break;
        }
    }
    JS_FreeAtom(ctx, atom);
    return found;
}

/* Element i of a dense array (owned), without running code of the program. */
bool cm_engine_element(JSContext *ctx, JSValueConst array, uint32_t i, JSValue *out)
{
    (void)ctx;
    JSObject *p = JS_VALUE_GET_OBJ(array);
    if (p->class_id != JS_CLASS_ARRAY || !p->fast_array || i >= p->u.array.count)
        return false;
    *out = js_dup(p->u.array.u.values[i]);
    return true;
}

/* The stack text of an Error as the engine wrote it (owned), or undefined. */
JSValue cm_engine_error_stack(JSContext *ctx, JSValueConst error)
{
    if (JS_VALUE_GET_TAG(error) != JS_TAG_OBJECT)
        return JS_UNDEFINED;
    JSObject *p = JS_VALUE_GET_OBJ(error);
    if (p->class_id != JS_CLASS_ERROR || !JS_IsString(p->u.object_data)) {
        JSValue v;
        if (p->class_id == JS_CLASS_DOM_EXCEPTION && cm_engine_data_property(ctx, error, "stack", &v))
            return v;
        return JS_UNDEFINED;
    }
    return js_dup(p->u.object_data);
}

void cm_engine_set_error_stack(JSContext *ctx, JSValueConst error, const char *stack)
{
    JSObject *p = JS_VALUE_GET_OBJ(error);
    JS_FreeValue(ctx, p->u.object_data);
    p->u.object_data = JS_NewString(ctx, stack);
}

/* Where in the program the running native function was called from. */
bool cm_engine_call_site(JSContext *ctx, int *line, int *column)
{
    for (JSStackFrame *sf = ctx->rt->current_stack_frame; sf; sf = sf->prev_frame) {
        JSFunctionBytecode *b = JS_GetFunctionBytecode(sf->cur_func);
        if (b && sf->cur_pc) {
            *line = find_line_num(ctx, b, (uint32_t)(sf->cur_pc - b->byte_code_buf - 1), column);
            return *line != -1;
        }
    }
    return false;
}

/* The live entries of a Map (key, value, key, value …) or Set, taken before any code of the program
   can change it. Returns 2 for a map, 1 for a set, 0 for anything else; *items and its values are owned. */
int cm_engine_collection(JSContext *ctx, JSValueConst v, JSValue **items, uint32_t *count)
{
    if (JS_VALUE_GET_TAG(v) != JS_TAG_OBJECT)
        return 0;
    JSObject *p = JS_VALUE_GET_OBJ(v);
    if (p->class_id != JS_CLASS_MAP && p->class_id != JS_CLASS_SET)
        return 0;
    int width = p->class_id == JS_CLASS_MAP ? 2 : 1;
    JSMapState *m = p->u.map_state;
    uint32_t n = 0;
    JSValue *out = js_malloc(ctx, sizeof(JSValue) * ((size_t)m->record_count * width + 1));
    struct list_head *el;
    list_for_each(el, &m->records) {
        JSMapRecord *r = list_entry(el, JSMapRecord, link);
        if (r->empty)
            continue;
        out[n++] = js_dup(r->key);
        if (width == 2)
            out[n++] = js_dup(r->value);
    }
    *items = out;
    *count = n;
    return width;
}

/* A label for objects that have no JSON form of their own, or NULL. *bytes is set for binary data. */
const char *cm_engine_class_label(JSContext *ctx, JSValueConst v, uint32_t *bytes)
{
    (void)ctx;
    *bytes = UINT32_MAX;
    if (JS_VALUE_GET_TAG(v) != JS_TAG_OBJECT)
        return NULL;
    JSObject *p = JS_VALUE_GET_OBJ(v);
    switch (p->class_id) {
    case JS_CLASS_ARRAY_BUFFER: *bytes = p->u.array_buffer->byte_length; return "ArrayBuffer";
    case JS_CLASS_SHARED_ARRAY_BUFFER: *bytes = p->u.array_buffer->byte_length; return "SharedArrayBuffer";
    case JS_CLASS_UINT8C_ARRAY: *bytes = p->u.array.count; return "Uint8ClampedArray";
    case JS_CLASS_INT8_ARRAY: *bytes = p->u.array.count; return "Int8Array";
    case JS_CLASS_UINT8_ARRAY: *bytes = p->u.array.count; return "Uint8Array";
    case JS_CLASS_INT16_ARRAY: *bytes = p->u.array.count * 2; return "Int16Array";
    case JS_CLASS_UINT16_ARRAY: *bytes = p->u.array.count * 2; return "Uint16Array";
    case JS_CLASS_INT32_ARRAY: *bytes = p->u.array.count * 4; return "Int32Array";
    case JS_CLASS_UINT32_ARRAY: *bytes = p->u.array.count * 4; return "Uint32Array";
    case JS_CLASS_BIG_INT64_ARRAY: *bytes = p->u.array.count * 8; return "BigInt64Array";
    case JS_CLASS_BIG_UINT64_ARRAY: *bytes = p->u.array.count * 8; return "BigUint64Array";
    case JS_CLASS_FLOAT16_ARRAY: *bytes = p->u.array.count * 2; return "Float16Array";
    case JS_CLASS_FLOAT32_ARRAY: *bytes = p->u.array.count * 4; return "Float32Array";
    case JS_CLASS_FLOAT64_ARRAY: *bytes = p->u.array.count * 8; return "Float64Array";
    case JS_CLASS_DATAVIEW: {
        uint8_t *data;
        size_t len;
        cm_engine_view(v, &data, &len);
        *bytes = (uint32_t)len;
        return "DataView";
    }
    case JS_CLASS_PROMISE: return "Promise, not awaited";
    case JS_CLASS_WEAKMAP: return "WeakMap";
    case JS_CLASS_WEAKSET: return "WeakSet";
    case JS_CLASS_WEAK_REF: return "WeakRef";
    case JS_CLASS_GENERATOR: return "Generator";
    case JS_CLASS_ASYNC_GENERATOR: return "AsyncGenerator";
    case JS_CLASS_ARRAY_ITERATOR: return "Array Iterator";
    case JS_CLASS_MAP_ITERATOR: return "Map Iterator";
    case JS_CLASS_SET_ITERATOR: return "Set Iterator";
    case JS_CLASS_STRING_ITERATOR: return "String Iterator";
    case JS_CLASS_REGEXP_STRING_ITERATOR: return "RegExp String Iterator";
    case JS_CLASS_ITERATOR_HELPER: return "Iterator Helper";
    case JS_CLASS_ITERATOR_WRAP: case JS_CLASS_ITERATOR_CONCAT: return "Iterator";
    case JS_CLASS_FINALIZATION_REGISTRY: return "FinalizationRegistry";
    case JS_CLASS_DISPOSABLE_STACK: return "DisposableStack";
    case JS_CLASS_ASYNC_DISPOSABLE_STACK: return "AsyncDisposableStack";
    default: return NULL;
    }
}

/* Whether an object may be more than its properties: it has a prototype that is not Object.prototype. */
bool cm_engine_is_instance(JSContext *ctx, JSValueConst v)
{
    JSObject *p = JS_VALUE_GET_OBJ(v);
    JSObject *proto = p->shape->proto;
    return p->class_id == JS_CLASS_OBJECT && proto && proto != JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]);
}

/* The primitive inside a Number, String, Boolean, BigInt or Symbol object (owned), else uninitialized. */
JSValue cm_engine_boxed_value(JSContext *ctx, JSValueConst v)
{
    (void)ctx;
    if (JS_VALUE_GET_TAG(v) == JS_TAG_OBJECT) {
        JSObject *p = JS_VALUE_GET_OBJ(v);
        switch (p->class_id) {
        case JS_CLASS_NUMBER: case JS_CLASS_STRING: case JS_CLASS_BOOLEAN:
        case JS_CLASS_BIG_INT: case JS_CLASS_SYMBOL:
            return js_dup(p->u.object_data);
        default:
            break;
        }
    }
    return JS_UNINITIALIZED;
}

/* A Date as toISOString writes it (owned), or null for an invalid one. The engine's function is called past
   its check of the stack: with hardly any left a date is still that date. */
JSValue cm_engine_date_text(JSContext *ctx, JSValueConst date)
{
    double ms;
    if (JS_ThisTimeValue(ctx, &ms, date))
        return JS_EXCEPTION;
    return isnan(ms) ? JS_NULL : get_date_string(ctx, date, 0, NULL, 0x23);
}

/* Errors of the language and DOMException, which the web functions throw. */
bool cm_engine_is_error(JSValueConst v)
{
    JSClassID class = JS_GetClassID(v);
    return class == JS_CLASS_ERROR || class == JS_CLASS_DOM_EXCEPTION;
}

/* As Array.isArray: also a proxy of an array. -1 with an exception pending for a revoked one. */
int cm_engine_is_array(JSContext *ctx, JSValueConst v) { return js_is_array(ctx, v); }

/* The bytes a typed array or DataView shows now (borrowed). The length the engine keeps for a view is
   that of its making, which no longer holds where it follows a buffer that is resized. False, and no
   bytes, where its buffer is detached or has shrunk from under it. */
bool cm_engine_view(JSValueConst v, uint8_t **data, size_t *len)
{
    JSObject *p = JS_VALUE_GET_OBJ(v);
    JSTypedArray *view = p->u.typed_array;
    JSArrayBuffer *buffer = view->buffer->u.array_buffer;
    size_t size = (size_t)buffer->byte_length;
    int unit = p->class_id == JS_CLASS_DATAVIEW ? 0 : typed_array_size_log2(p->class_id);
    *data = NULL, *len = 0;
    if (buffer->detached || view->offset > size || (!view->track_rab && view->length > size - view->offset))
        return false;
    *len = view->track_rab ? (size - view->offset) >> unit << unit : view->length;
    *data = buffer->data + view->offset;
    return true;
}

bool cm_engine_view_is_immutable(JSValueConst v)
{
    return JS_VALUE_GET_OBJ(v)->u.typed_array->buffer->u.array_buffer->immutable;
}
