"""Where the engine looks for an interruption, beside the loops and calls of a program.

These are natives that are long by themselves; runtime/README.md says how they are found.
"""

from __future__ import annotations

from change import Change

# Loops and calls of a program poll for an interruption. The engine counts ten thousand polls before it looks,
# and ten thousand searches in a long array are minutes: here it looks each time, which is no slower than
# counting. What else polls are native loops that are long by themselves. Every loop over the indexes of what
# is no dense array reads, writes or deletes through one of four functions; an array-like object says itself
# how long it is, up to 2^53. Proxies around proxies go through one function. The keys of a proxy are compared
# with each other. A search for a text tries every place: once the program is to stop, it is found at none,
# which the program does not live to see. So it is with a regular expression that takes long to compile.
LOOK = (
    Change(
        "    if (unlikely(--ctx->interrupt_counter <= 0)) {\n        return __js_poll_interrupts(ctx);",
        """    if (unlikely(*(volatile uint32_t *)&cm_shared.interrupt)) {
        return __js_poll_interrupts(ctx);""",
    ),
    Change(
        """    /* safer to test recursion in all proxy methods */
    if (js_check_stack_overflow(ctx->rt, 0)) {
        JS_ThrowStackOverflow(ctx);
        return NULL;
    }
""",
        """    /* safer to test recursion in all proxy methods */
    if (js_check_stack_overflow(ctx->rt, 0)) {
        JS_ThrowStackOverflow(ctx);
        return NULL;
    }
    if (js_poll_interrupts(ctx))
        return NULL;
""",
    ),
    Change(
        """    for(i = 1; i < len; i++) {
        if (find_prop_key(tab, i, tab[i].atom) >= 0) {""",
        """    for(i = 1; i < len; i++) {
        if (js_poll_interrupts(ctx))
            goto fail;
        if (find_prop_key(tab, i, tab[i].atom) >= 0) {""",
    ),
    Change(
        """        if (js_get_fast_array_element(ctx, p, idx, pval))
            return true;
    }
    val = JS_EXCEPTION;
    present = -1;
""",
        """        if (js_get_fast_array_element(ctx, p, idx, pval))
            return true;
    }
    val = JS_EXCEPTION;
    present = -1;
    if (js_poll_interrupts(ctx)) {
        *pval = val;
        return present;
    }
""",
    ),
    Change(
        """        if (js_get_fast_array_element(ctx, p, idx, &val))
            return val;
    }
    prop = JS_NewAtomInt64(ctx, idx);
""",
        """        if (js_get_fast_array_element(ctx, p, idx, &val))
            return val;
    }
    if (js_poll_interrupts(ctx))
        return JS_EXCEPTION;
    prop = JS_NewAtomInt64(ctx, idx);
""",
    ),
    Change(
        """                        int64_t idx, JSValue val)
{
    JSAtom prop;
    int res;

    if ((uint64_t)idx <= INT32_MAX) {
        /* fast path for fast arrays */
        return JS_SetPropertyValue(""",
        """                        int64_t idx, JSValue val)
{
    JSAtom prop;
    int res;

    if (js_poll_interrupts(ctx)) {
        JS_FreeValue(ctx, val);
        return -1;
    }
    if ((uint64_t)idx <= INT32_MAX) {
        /* fast path for fast arrays */
        return JS_SetPropertyValue(""",
    ),
    Change(
        """    JSAtom prop;
    int res;

    if ((uint64_t)idx <= JS_ATOM_MAX_INT) {
        /* fast path for fast arrays */
        return JS_DeleteProperty(""",
        """    JSAtom prop;
    int res;

    if (js_poll_interrupts(ctx))
        return -1;
    if ((uint64_t)idx <= JS_ATOM_MAX_INT) {
        /* fast path for fast arrays */
        return JS_DeleteProperty(""",
    ),
    Change(
        """    int i, c1, c2;
    for (i = 0; i < len; i++) {
        if ((c1 = string_get(p1, x1 + i)) != (c2 = string_get(p2, x2 + i)))""",
        """    int i, c1, c2;
    if (unlikely(*(volatile uint32_t *)&cm_shared.interrupt))
        return 1;
    for (i = 0; i < len; i++) {
        if ((c1 = string_get(p1, x1 + i)) != (c2 = string_get(p2, x2 + i)))""",
    ),
    Change(
        """    start = s->byte_code.size;
    for(;;) {
        p = s->buf_ptr;
        if (p >= s->buf_end)
            break;
        if (*p == '|' || *p == ')')""",
        """    start = s->byte_code.size;
    for(;;) {
        if (lre_check_timeout(s->opaque))
            return re_parse_error(s, "interrupted");
        p = s->buf_ptr;
        if (p >= s->buf_end)
            break;
        if (*p == '|' || *p == ')')""",
        file="libregexp.c",
    ),
    Change(
        """    is_first = true;
    for(;;) {
        if (*p == ']')
            break;
        if (*p == '[' && s->unicode_sets) {""",
        """    is_first = true;
    for(;;) {
        if (lre_check_timeout(s->opaque)) {
            re_parse_error(s, "interrupted");
            goto fail;
        }
        if (*p == ']')
            break;
        if (*p == '[' && s->unicode_sets) {""",
        file="libregexp.c",
    ),
)

# The text of a large BigInt, its product and its quotient take the square of its length; sorting numbers
# takes long where there are millions. Like a search they leave off where they are once the program is to
# stop: what they leave behind is wrong, and nobody sees it, since nothing is sent then (shim/outbox.c).
LEAVE_OFF = (
    Change(
        """    for(i=1;i<op2_size;i++) {
        r = js_mp_add_mul1(result + i, op1, op1_size, op2[i]);""",
        """    for(i=1;i<op2_size;i++) {
        if (unlikely(*(volatile uint32_t *)&cm_shared.interrupt)) {
            memset(result + i + op1_size, 0, (op2_size - i) * sizeof(*result));
            break;
        }
        r = js_mp_add_mul1(result + i, op1, op1_size, op2[i]);""",
    ),
    Change(
        """    for(i = n - 1; i >= 0; i--) {
        if (unlikely(taba[i + nb] >= b1)) {
            q = -1;""",
        """    for(i = n - 1; i >= 0; i--) {
        if (unlikely(*(volatile uint32_t *)&cm_shared.interrupt)) {
            memset(tabq, 0, (i + 1) * sizeof(*tabq));
            break;
        }
        if (unlikely(taba[i + nb] >= b1)) {
            q = -1;""",
    ),
    Change(
        """        for(;;) {
            /* XXX: slow */
            v = 0;
            for(i = 0; i < digits_per_limb; i++) {""",
        """        for(;;) {
            /* XXX: slow */
            if (unlikely(*(volatile uint32_t *)&cm_shared.interrupt))
                break;
            v = 0;
            for(i = 0; i < digits_per_limb; i++) {""",
    ),
    Change(
        """                if (len == 1 && r->tab[0] < radix_base) {
                    v = r->tab[0];""",
        """                if (unlikely(*(volatile uint32_t *)&cm_shared.interrupt))
                    break;
                if (len == 1 && r->tab[0] < radix_base) {
                    v = r->tab[0];""",
    ),
    Change(
        """static void heapsortx(void *base, size_t nmemb,""",
        """int cm_is_interrupted(void);
static void heapsortx(void *base, size_t nmemb,""",
        file="cutils.h",
    ),
    Change(
        """            i -= size;
            for (r = i; (c = r * 2 + size) < n; r = c) {""",
        """            i -= size;
            if (cm_is_interrupted())
                return;
            for (r = i; (c = r * 2 + size) < n; r = c) {""",
        file="cutils.h",
    ),
    Change(
        """            swap(basep, basep + i, size);

            for (r = 0;""",
        """            swap(basep, basep + i, size);
            if (cm_is_interrupted())
                return;
            for (r = 0;""",
        file="cutils.h",
    ),
    Change(
        """        while (nmemb > 6) {
            if (++depth > 50) {""",
        """        if (cm_is_interrupted())
            return;
        while (nmemb > 6) {
            if (++depth > 50) {""",
        file="cutils.h",
    ),
)

# find and findLast free the element and its index, look for an interruption, and then free both again.
FREED_TWICE = (
    Change(
        """        JS_FreeValue(ctx, val);
        JS_FreeValue(ctx, index_val);
    }
    JS_FreeValue(ctx, obj);
    if (mode == ArrayFindIndex""",
        """        JS_FreeValue(ctx, val);
        JS_FreeValue(ctx, index_val);
        val = index_val = JS_UNDEFINED;
    }
    JS_FreeValue(ctx, obj);
    if (mode == ArrayFindIndex""",
    ),
)

# These two look at each element on a way of their own.
JOINS = (
    Change(
        """        el = JS_GetPropertyUint32(ctx, obj, i);
        if (JS_IsException(el))
            goto fail;
        if (!JS_IsNull(el) && !JS_IsUndefined(el)) {
            if (toLocaleString) {""",
        """        el = js_poll_interrupts(ctx) ? JS_EXCEPTION : JS_GetPropertyUint32(ctx, obj, i);
        if (JS_IsException(el))
            goto fail;
        if (!JS_IsNull(el) && !JS_IsUndefined(el)) {
            if (toLocaleString) {""",
    ),
    Change(
        """        el = JS_GetPropertyUint32(ctx, this_val, i);
        /* Can return undefined""",
        """        el = js_poll_interrupts(ctx) ? JS_EXCEPTION : JS_GetPropertyUint32(ctx, this_val, i);
        /* Can return undefined""",
    ),
)

# Millions of values in a flat array or a flat text of JSON take a second: each looks.
JSON = (
    Change(
        """        JS_ThrowStackOverflow(ctx);
        goto exception;
    }

    if (JS_IsObject(val)) {
        p = JS_VALUE_GET_OBJ(val);
        cl = p->class_id;
        if (cl == JS_CLASS_STRING) {
            val = JS_ToStringFree(ctx, val);""",
        """        JS_ThrowStackOverflow(ctx);
        goto exception;
    }
    if (js_poll_interrupts(ctx))
        goto exception;

    if (JS_IsObject(val)) {
        p = JS_VALUE_GET_OBJ(val);
        cl = p->class_id;
        if (cl == JS_CLASS_STRING) {
            val = JS_ToStringFree(ctx, val);""",
    ),
    Change(
        """        return JS_ThrowStackOverflow(ctx);
    }

    if (pr) {
        pr->value = JS_UNDEFINED;""",
        """        return JS_ThrowStackOverflow(ctx);
    }
    if (js_poll_interrupts(ctx))
        return JS_EXCEPTION;

    if (pr) {
        pr->value = JS_UNDEFINED;""",
    ),
)

# What goes over an iterator of the engine's own calls no function, and sums tens of millions of numbers so.
ITERATION = (
    Change(
        """    JSValue obj;

    /* fast path for the built-in iterators (avoid creating the
       intermediate result object) */""",
        """    JSValue obj;

    if (js_poll_interrupts(ctx))
        goto fail;
    /* fast path for the built-in iterators (avoid creating the
       intermediate result object) */""",
    ),
)

# A function of fifty thousand parameters or variables: each parameter is compared with those before it, and
# each name in the body, or in a function inside, is looked for among all of them.
COMPILATION = (
    Change(
        """    line_num = 0; /* avoid warning */
    col_num = 0;
    for (pos = 0; pos < bc_len; pos = pos_next) {
        op = bc_buf[pos];
        len = opcode_info[op].size;
        pos_next = pos + len;
        switch(op) {""",
        """    line_num = 0; /* avoid warning */
    col_num = 0;
    for (pos = 0; pos < bc_len; pos = pos_next) {
        if (js_poll_interrupts(ctx))
            goto fail;
        op = bc_buf[pos];
        len = opcode_info[op].size;
        pos_next = pos + len;
        switch(op) {""",
    ),
    Change(
        """    free_token(s, &s->token);

    p = s->last_ptr = s->buf_ptr;
    s->got_lf = false;""",
        """    if (js_poll_interrupts(s->ctx))
        return -1;
    free_token(s, &s->token);

    p = s->last_ptr = s->buf_ptr;
    s->got_lf = false;""",
    ),
    Change(
        """            if (name != JS_ATOM_NULL) {
                for (i = 0; i < idx; i++) {
                    if (fd->args[i].var_name == name)
                        goto duplicate;""",
        """            if (js_poll_interrupts(s->ctx))
                return -1;
            if (name != JS_ATOM_NULL) {
                for (i = 0; i < idx; i++) {
                    if (fd->args[i].var_name == name)
                        goto duplicate;""",
    ),
    Change(
        """    int i;
    for(i = fd->arg_count; i-- > 0;) {
        if (fd->args[i].var_name == name)
            return i | ARGUMENT_VAR_OFFSET;""",
        """    int i;
    if (unlikely(*(volatile uint32_t *)&cm_shared.interrupt))
        return -1;
    for(i = fd->arg_count; i-- > 0;) {
        if (fd->args[i].var_name == name)
            return i | ARGUMENT_VAR_OFFSET;""",
    ),
)

POLLS = (*LOOK, *LEAVE_OFF, *FREED_TWICE, *JOINS, *JSON, *ITERATION, *COMPILATION)
