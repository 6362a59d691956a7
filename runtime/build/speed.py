"""Changes of the engine's source that make Map, Set and JSON quicker, or right where they were wrong.

bench/bench_guest.py has the kernels that show what they are worth. Called by changes.py.
"""

from __future__ import annotations

from change import Change

# The bucket of a key in a Map or Set is the low bits of its hash. What tells small integers apart is in the
# high bits of a double, and addresses are multiples of eight: a thousand integers shared two buckets.
# Texts that are equal must have equal hashes, whether they are whole or still in the parts that they were
# put together from: the engine mixed the length of each part in.
HASHES = (
    Change(
        "    return h ^ ctx->hash_seed ^ hash32(tag);\n",
        """    h ^= ctx->hash_seed ^ hash32(tag);
    h = hash32(h ^ h >> 16);
    return h ^ h >> 15;
""",
    ),
    Change(
        """        return hash_string(JS_VALUE_GET_STRING(val), h);
    } else {
        JSStringRope *r = JS_VALUE_GET_STRING_ROPE(val);
        h = hash_string_rope(""",
        """        JSString *p = JS_VALUE_GET_STRING(val);
        return hash_string(p, h) ^ hash32(p->len); /* hash_string has mixed the length in */
    } else {
        JSStringRope *r = JS_VALUE_GET_STRING_ROPE(val);
        h = hash_string_rope(""",
    ),
    Change(
        "        h = hash_string_rope(key, 0);\n",
        "        h = hash_string_rope(key, 0) ^ hash32(JS_VALUE_GET_STRING_ROPE(key)->len);\n"
        "        tag = JS_TAG_STRING;\n",
    ),
)

# `set` and `add` hash their key once. A program can choose keys of one bucket, so that the way through looks
# for an interruption: what is not found then, nobody sees. (Records that kept their hash would be a tenth
# faster, and snapshots of a Map a sixth larger: hashes do not compress.)
RECORDS = (
    Change(
        """static JSMapRecord *map_find_record(JSContext *ctx, JSMapState *s,
                                    JSValueConst key)
{
    struct list_head *el;
    JSMapRecord *mr;
    uint32_t h;
    h = map_hash_key(ctx, key) & (s->hash_size - 1);
    list_for_each(el, &s->hash_table[h]) {
        mr = list_entry(el, JSMapRecord, hash_link);
        if (js_same_value_zero(ctx, mr->key, key))
            return mr;
    }
    return NULL;
}
""",
        """static JSMapRecord *map_find_hashed(JSContext *ctx, JSMapState *s,
                                    JSValueConst key, uint32_t hash)
{
    struct list_head *el;
    JSMapRecord *mr;
    list_for_each(el, &s->hash_table[hash & (s->hash_size - 1)]) {
        mr = list_entry(el, JSMapRecord, hash_link);
        if (js_same_value_zero(ctx, mr->key, key))
            return mr;
        if (unlikely(*(volatile uint32_t *)&cm_shared.interrupt))
            return NULL;
    }
    return NULL;
}

static JSMapRecord *map_find_record(JSContext *ctx, JSMapState *s,
                                    JSValueConst key)
{
    return map_find_hashed(ctx, s, key, map_hash_key(ctx, key));
}
""",
    ),
    Change(
        """static JSMapRecord *map_add_record(JSContext *ctx, JSMapState *s,
                                   JSValueConst key)
{
    uint32_t h;
    JSMapRecord *mr;
""",
        """static JSMapRecord *map_add_hashed(JSContext *ctx, JSMapState *s,
                                   JSValueConst key, uint32_t hash)
{
    JSMapRecord *mr;
""",
    ),
    Change(
        """    h = map_hash_key(ctx, key) & (s->hash_size - 1);
    list_add_tail(&mr->hash_link, &s->hash_table[h]);
    list_add_tail(&mr->link, &s->records);
    s->record_count++;
    if (s->record_count >= s->record_count_threshold) {
        map_hash_resize(ctx, s);
    }
    return mr;
}
""",
        """    list_add_tail(&mr->hash_link, &s->hash_table[hash & (s->hash_size - 1)]);
    list_add_tail(&mr->link, &s->records);
    s->record_count++;
    if (s->record_count >= s->record_count_threshold) {
        map_hash_resize(ctx, s);
    }
    return mr;
}

static JSMapRecord *map_add_record(JSContext *ctx, JSMapState *s,
                                   JSValueConst key)
{
    return map_add_hashed(ctx, s, key, map_hash_key(ctx, key));
}
""",
    ),
    Change(
        """        value = argv[1];
    mr = map_find_record(ctx, s, key);
    if (mr) {
        JS_FreeValue(ctx, mr->value);
    } else {
        mr = map_add_record(ctx, s, key);
        if (!mr)""",
        """        value = argv[1];
    uint32_t hash = map_hash_key(ctx, key);
    mr = map_find_hashed(ctx, s, key, hash);
    if (mr) {
        JS_FreeValue(ctx, mr->value);
    } else {
        mr = map_add_hashed(ctx, s, key, hash);
        if (!mr)""",
    ),
)

# JSON.stringify made a text of every name, text, number and index before it copied it to its output. It puts
# them there at once, plain stretches of a text as a whole, and makes the text of an index if it is seen.
STRINGIFY = (
    Change(
        """static JSValue JS_ToQuotedStringFree(JSContext *ctx, JSValue val) {
    JSValue r = JS_ToQuotedString(ctx, val);
    JS_FreeValue(ctx, val);
    return r;
}
""",
        """static uint32_t js_json_plain_until(JSString *p, uint32_t i)
{
    uint32_t len = p->len;
    if (p->is_wide_char) {
        for(; i < len; i++) {
            uint32_t c = str16(p)[i];
            if (c < 32 || c == '"' || c == '\\\\' || is_surrogate(c))
                break;
        }
    } else {
        for(; i < len; i++) {
            uint32_t c = str8(p)[i];
            if (c < 32 || c == '"' || c == '\\\\')
                break;
        }
    }
    return i;
}

static int js_json_put_escaped(StringBuffer *b, uint32_t c)
{
    static const char short_forms[] = "\\bb\\tt\\nn\\ff\\rr\\"\\"\\\\\\\\";
    static const char digits[] = "0123456789abcdef";
    uint8_t form[6] = { '\\\\', 'u' };
    for(int i = 5; i > 1; i--)
        form[i] = digits[c >> 4 * (5 - i) & 15];
    for(int i = 0; i < 14; i += 2) {
        if (c == (uint8_t)short_forms[i]) {
            form[1] = short_forms[i + 1];
            return string_buffer_write8(b, form, 2);
        }
    }
    return string_buffer_write8(b, form, 6);
}

static int js_json_put_quoted(JSContext *ctx, StringBuffer *b, JSValueConst text)
{
    JSValue val = JS_ToString(ctx, text);
    JSString *p;
    uint32_t i, from = 0;
    int res;

    if (JS_IsException(val))
        return -1;
    p = JS_VALUE_GET_STRING(val);
    res = string_buffer_putc8(b, '"');
    while (!res && (i = js_json_plain_until(p, from)) < p->len) {
        uint32_t c = string_get(p, i);
        if (is_hi_surrogate(c) && i + 1 < p->len && is_lo_surrogate(string_get(p, i + 1))) {
            i += 2;
            res = string_buffer_concat(b, p, from, i);
        } else {
            res = string_buffer_concat(b, p, from, i) || js_json_put_escaped(b, c);
            i++;
        }
        from = i;
    }
    if (!res)
        res = string_buffer_concat(b, p, from, p->len) || string_buffer_putc8(b, '"');
    JS_FreeValue(ctx, val);
    return res ? -1 : 0;
}
""",
    ),
    Change(
        """                    prop = JS_ToQuotedStringFree(ctx, prop);
                    if (JS_IsException(prop)) {
                        JS_FreeValue(ctx, v);
                        goto exception;
                    }
                    string_buffer_concat_value(jsc->b, sep);
                    string_buffer_concat_value(jsc->b, prop);
""",
        """                    string_buffer_concat_value(jsc->b, sep);
                    if (js_json_put_quoted(ctx, jsc->b, prop)) {
                        JS_FreeValue(ctx, v);
                        goto exception;
                    }
""",
    ),
    Change(
        """                prop = JS_ToStringFree(ctx, js_int64(i));
                if (JS_IsException(prop))
                    goto exception;
                v = js_json_check(""",
        """                if (JS_IsObject(v) || JS_IsBigInt(v) || !JS_IsUndefined(jsc->replacer_func))
                    prop = JS_ToStringFree(ctx, js_int64(i));
                if (JS_IsException(prop))
                    goto exception;
                v = js_json_check(""",
    ),
    Change(
        """        val = JS_ToQuotedStringFree(ctx, val);
        if (JS_IsException(val))
            goto exception;
        goto concat_value;
    case JS_TAG_FLOAT64:""",
        """        ret = js_json_put_quoted(ctx, jsc->b, val);
        JS_FreeValue(ctx, val);
        return ret;
    case JS_TAG_INT:
        {
            char digits[16];
            size_t count = i32toa(digits, JS_VALUE_GET_INT(val));
            return string_buffer_write8(jsc->b, (uint8_t *)digits, count);
        }
    case JS_TAG_FLOAT64:""",
    ),
    Change(
        """            val = JS_NULL;
        }
        goto concat_value;
    case JS_TAG_INT:
    case JS_TAG_BOOL:""",
        """            val = JS_NULL;
        }
        goto concat_value;
    case JS_TAG_BOOL:""",
    ),
)

# JSON.parse: a text without escapes is copied once, and what is parsed is put into objects and arrays that
# no program has seen yet without asking whether they are what they are.
PARSE = (
    Change(
        """    StringBuffer b_s, *b = &b_s;

    if (string_buffer_init(s->ctx, b, 48))
        goto fail;

    p = *pp;
""",
        """    StringBuffer b_s, *b = &b_s;

    p = *pp;
    while (p < s->buf_end && *p != '"' && *p != '\\\\' && *p >= 0x20 && *p < 0x80)
        p++;
    if (p < s->buf_end && *p == '"') {
        JSValue text = js_new_string8_len(s->ctx, (const char *)*pp, p - *pp);
        if (JS_IsException(text))
            return -1;
        s->token.val = TOK_STRING;
        s->token.u.str.sep = '"';
        s->token.u.str.str = text;
        *pp = p + 1;
        return 0;
    }

    if (string_buffer_init(s->ctx, b, 48))
        goto fail;

    p = *pp;
""",
    ),
    Change(
        """                    ret = JS_DefinePropertyValue(ctx, val, prop_name,
                                                 prop_val, JS_PROP_C_W_E);
                    JS_FreeAtom(ctx, prop_name);
                    if (ret < 0)
                        goto fail;

                    if (s->token.val == '}')""",
        """                    if (find_own_property1(JS_VALUE_GET_OBJ(val), prop_name)) {
                        ret = JS_DefinePropertyValue(ctx, val, prop_name,
                                                     prop_val, JS_PROP_C_W_E);
                    } else {
                        JSProperty *made = add_property(ctx, JS_VALUE_GET_OBJ(val), prop_name, JS_PROP_C_W_E);
                        if (made)
                            made->u.value = prop_val;
                        else
                            JS_FreeValue(ctx, prop_val);
                        ret = made ? 0 : -1;
                    }
                    JS_FreeAtom(ctx, prop_name);
                    if (ret < 0)
                        goto fail;

                    if (s->token.val == '}')""",
    ),
    Change(
        "                    ret = JS_DefinePropertyValueUint32(ctx, val, idx, el, JS_PROP_C_W_E);\n"
        "                    if (ret < 0)\n"
        "                        goto fail;\n"
        "                    if (s->token.val == ']')",
        "                    ret = add_fast_array_element(ctx, JS_VALUE_GET_OBJ(val), el, JS_PROP_C_W_E);\n"
        "                    if (ret < 0)\n"
        "                        goto fail;\n"
        "                    if (s->token.val == ']')",
    ),
)

SPEED = (*HASHES, *RECORDS, *STRINGIFY, *PARSE)
