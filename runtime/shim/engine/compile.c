/* A program's text becomes a function. Included by engine.c. */

static int last_statement[2]; /* of the program: line and column; 0: it has none */

void cm_engine_last_statement(int *line, int *column) { *line = last_statement[0], *column = last_statement[1]; }

/* Parses to the end of the text, and emits the end of a function body. Returns -1 with an error pending. */
static int parse_body(JSParseState *s, JSFunctionDef *fd)
{
    BlockEnv using_be;
    bool has_using = false;

    if (next_token(s) || js_parse_directives(s))
        return -1;
    /* to the end of the text, not to a brace: there is no wrapper that a program could close */
    while (s->token.val != TOK_EOF) {
        if (s->token.val != ';') {
            last_statement[0] = s->token.line_num;
            last_statement[1] = s->token.ptr >= s->token.line_start ? (int)(s->token.ptr - s->token.line_start) + 1 : 1;
        }
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

/* Makes fd the function that is parsed: a strict one with `this` and `arguments`. */
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

/* Places the pending error of the parser where it was reading, if the error has no place: the engine gives
   none to a regular expression that does not compile, nor to nesting that exhausts the stack. */
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
   1:1, and returns that function (owned), or JS_EXCEPTION. With `keeps` its declarations are the world's. */
static JSValue compile(JSContext *ctx, const char *text, size_t len, const char *filename, bool keeps)
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

    if (parse_body(s, fd) || (keeps && keep_declarations(ctx, fd)))
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

/* Takes over a function that was compiled, and returns it once what it declares is there. */
static JSValue define_kept_for(JSContext *ctx, JSValue function, bool keeps)
{
    if (!keeps || !define_kept(ctx))
        return function;
    JS_FreeValue(ctx, function);
    return JS_EXCEPTION;
}

/* The text is borrowed, the function owned. A function body never ends with the text for the engine, so it
   takes `return` at the very end for the start of an expression. A line feed helps; it is added only after a
   failure, for the position of errors there. */
JSValue cm_engine_compile(JSContext *ctx, const char *text, size_t len, const char *filename, bool keeps)
{
    JSValue function = compile(ctx, text, len, filename, keeps);
    if (!JS_IsException(function))
        return define_kept_for(ctx, function, keeps);
    JSValue error = JS_GetException(ctx);
    char *longer = js_malloc(ctx, len + 2);
    memcpy(longer, text, len);
    memcpy(longer + len, "\n", 2);
    function = compile(ctx, longer, len + 1, filename, keeps);
    js_free(ctx, longer);
    if (!JS_IsException(function)) {
        JS_FreeValue(ctx, error);
        return define_kept_for(ctx, function, keeps);
    }
    JS_FreeValue(ctx, JS_GetException(ctx));
    return JS_Throw(ctx, error);
}
