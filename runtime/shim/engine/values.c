/* Values read without running any code of the program. Included by engine.c. */

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

/* Reads element i of a dense array, as an owned value in *out. */
bool cm_engine_element(JSContext *ctx, JSValueConst array, uint32_t i, JSValue *out)
{
    (void)ctx;
    JSObject *p = JS_VALUE_GET_OBJ(array);
    if (p->class_id != JS_CLASS_ARRAY || !p->fast_array || i >= p->u.array.count)
        return false;
    *out = js_dup(p->u.array.u.values[i]);
    return true;
}

/* Returns the stack text of an Error as the engine wrote it (owned), or undefined. */
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

/* Copies a zero-terminated text to be the stack of a borrowed Error. */
void cm_engine_set_error_stack(JSContext *ctx, JSValueConst error, const char *stack)
{
    JSObject *p = JS_VALUE_GET_OBJ(error);
    JS_FreeValue(ctx, p->u.object_data);
    p->u.object_data = JS_NewString(ctx, stack);
}

/* Finds where in the program the running native function was called from; false if it was from nowhere. */
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

/* Copies the live entries of a Map (key, value, key, value …) or Set, before any code of the program
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

/* Labels of objects that have no JSON form of their own. `unit`: bytes of an element of binary data. */
static const struct {
    uint32_t unit;
    const char *label;
} labels[JS_CLASS_INIT_COUNT] = {
    [JS_CLASS_UINT8C_ARRAY] = {1, "Uint8ClampedArray"},
    [JS_CLASS_INT8_ARRAY] = {1, "Int8Array"},
    [JS_CLASS_UINT8_ARRAY] = {1, "Uint8Array"},
    [JS_CLASS_INT16_ARRAY] = {2, "Int16Array"},
    [JS_CLASS_UINT16_ARRAY] = {2, "Uint16Array"},
    [JS_CLASS_INT32_ARRAY] = {4, "Int32Array"},
    [JS_CLASS_UINT32_ARRAY] = {4, "Uint32Array"},
    [JS_CLASS_BIG_INT64_ARRAY] = {8, "BigInt64Array"},
    [JS_CLASS_BIG_UINT64_ARRAY] = {8, "BigUint64Array"},
    [JS_CLASS_FLOAT16_ARRAY] = {2, "Float16Array"},
    [JS_CLASS_FLOAT32_ARRAY] = {4, "Float32Array"},
    [JS_CLASS_FLOAT64_ARRAY] = {8, "Float64Array"},
    [JS_CLASS_ARRAY_BUFFER] = {0, "ArrayBuffer"},
    [JS_CLASS_SHARED_ARRAY_BUFFER] = {0, "SharedArrayBuffer"},
    [JS_CLASS_DATAVIEW] = {0, "DataView"},
    [JS_CLASS_PROMISE] = {0, "Promise, not awaited"},
    [JS_CLASS_WEAKMAP] = {0, "WeakMap"},
    [JS_CLASS_WEAKSET] = {0, "WeakSet"},
    [JS_CLASS_WEAK_REF] = {0, "WeakRef"},
    [JS_CLASS_GENERATOR] = {0, "Generator"},
    [JS_CLASS_ASYNC_GENERATOR] = {0, "AsyncGenerator"},
    [JS_CLASS_ARRAY_ITERATOR] = {0, "Array Iterator"},
    [JS_CLASS_MAP_ITERATOR] = {0, "Map Iterator"},
    [JS_CLASS_SET_ITERATOR] = {0, "Set Iterator"},
    [JS_CLASS_STRING_ITERATOR] = {0, "String Iterator"},
    [JS_CLASS_REGEXP_STRING_ITERATOR] = {0, "RegExp String Iterator"},
    [JS_CLASS_ITERATOR_HELPER] = {0, "Iterator Helper"},
    [JS_CLASS_ITERATOR_WRAP] = {0, "Iterator"},
    [JS_CLASS_ITERATOR_CONCAT] = {0, "Iterator"},
    [JS_CLASS_FINALIZATION_REGISTRY] = {0, "FinalizationRegistry"},
    [JS_CLASS_DISPOSABLE_STACK] = {0, "DisposableStack"},
    [JS_CLASS_ASYNC_DISPOSABLE_STACK] = {0, "AsyncDisposableStack"},
};

/* Returns the bytes of an object with binary data, UINT32_MAX for another. */
static uint32_t binary_bytes(JSValueConst v, uint32_t unit)
{
    JSObject *p = JS_VALUE_GET_OBJ(v);
    uint8_t *data;
    size_t len;
    if (unit)
        return p->u.array.count * unit;
    if (p->class_id == JS_CLASS_ARRAY_BUFFER || p->class_id == JS_CLASS_SHARED_ARRAY_BUFFER)
        return (uint32_t)p->u.array_buffer->byte_length;
    if (p->class_id != JS_CLASS_DATAVIEW)
        return UINT32_MAX;
    cm_engine_view(v, &data, &len);
    return (uint32_t)len;
}

/* Returns a label for an object that has no JSON form of its own (borrowed for good), or NULL. *bytes is
   UINT32_MAX except for binary data. */
const char *cm_engine_class_label(JSValueConst v, uint32_t *bytes)
{
    JSClassID class = JS_GetClassID(v);
    *bytes = UINT32_MAX;
    if (class >= countof(labels) || !labels[class].label)
        return NULL;
    *bytes = binary_bytes(v, labels[class].unit);
    return labels[class].label;
}

/* Whether an object may be more than its properties: it has a prototype that is not Object.prototype. */
bool cm_engine_is_instance(JSContext *ctx, JSValueConst v)
{
    JSObject *p = JS_VALUE_GET_OBJ(v);
    JSObject *proto = p->shape->proto;
    return p->class_id == JS_CLASS_OBJECT && proto && proto != JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]);
}

/* Returns the primitive inside a Number, String, Boolean, BigInt or Symbol object (owned), else
   JS_UNINITIALIZED. */
JSValue cm_engine_boxed_value(JSValueConst v)
{
    if (JS_VALUE_GET_TAG(v) == JS_TAG_OBJECT) {
        JSObject *p = JS_VALUE_GET_OBJ(v);
        switch (p->class_id) {
        case JS_CLASS_NUMBER:
        case JS_CLASS_STRING:
        case JS_CLASS_BOOLEAN:
        case JS_CLASS_BIG_INT:
        case JS_CLASS_SYMBOL:
            return js_dup(p->u.object_data);
        default:
            break;
        }
    }
    return JS_UNINITIALIZED;
}

/* Returns a Date as toISOString writes it (owned), or null for an invalid one. Calls the engine's function
   past its check of the stack: with hardly any left a date is still that date. */
JSValue cm_engine_date_text(JSContext *ctx, JSValueConst date)
{
    double ms;
    if (JS_ThisTimeValue(ctx, &ms, date))
        return JS_EXCEPTION;
    return isnan(ms) ? JS_NULL : get_date_string(ctx, date, 0, NULL, 0x23);
}

/* Whether a value is an Error of the language, or a DOMException as the web functions throw them. */
bool cm_engine_is_error(JSValueConst v)
{
    JSClassID class = JS_GetClassID(v);
    return class == JS_CLASS_ERROR || class == JS_CLASS_DOM_EXCEPTION;
}

/* Answers as Array.isArray: also a proxy of an array. -1 with an exception pending for a revoked one. */
int cm_engine_is_array(JSContext *ctx, JSValueConst v) { return js_is_array(ctx, v); }

/* Finds the bytes that a typed array or DataView shows now (borrowed). The length the engine keeps for a view is
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

/* Deletes an own property of a borrowed object, also a locked one. What it held stays alive, out of reach:
   others may know it by its address. */
void cm_engine_delete_locked(JSContext *ctx, JSValueConst obj, JSAtom name)
{
    JSObject *p = JS_VALUE_GET_OBJ(obj);
    JSProperty *pr;
    JSShapeProperty *prs = find_own_property(&pr, p, name);
    if (!prs || js_shape_prepare_update(ctx, p, &prs))
        cm_stop(CM_STOP_ABORT);
    prs->flags = JS_PROP_CONFIGURABLE; /* a plain one, whatever it was */
    pr->u.value = JS_UNDEFINED;
    delete_property(ctx, p, name);
}

bool cm_engine_view_is_detached(JSValueConst v)
{
    return JS_VALUE_GET_OBJ(v)->u.typed_array->buffer->u.array_buffer->detached;
}

bool cm_engine_view_is_shared(JSValueConst v)
{
    return JS_VALUE_GET_OBJ(v)->u.typed_array->buffer->u.array_buffer->shared;
}

/* Whether the view has no length of its own, but that of its buffer. */
bool cm_engine_view_follows(JSValueConst v) { return JS_VALUE_GET_OBJ(v)->u.typed_array->track_rab; }

bool cm_engine_is_buffer(JSValueConst v)
{
    JSClassID class = JS_GetClassID(v);
    return class == JS_CLASS_ARRAY_BUFFER || class == JS_CLASS_SHARED_ARRAY_BUFFER;
}
