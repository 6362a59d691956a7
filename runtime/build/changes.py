"""What is changed in the engine's source before it is compiled: as little as possible, each with its reason.

The source is pinned by hash, so a change that does not fit means that a new version of the engine has to be
read for it. Called by make_image.py and sanitize.py.
"""

from __future__ import annotations

from pathlib import Path

from change import Change, changed
from misuse import MISUSE
from polls import POLLS
from source import write_whole
from speed import SPEED
from weak import WEAK
from worlds import WORLDS

# An error is placed by the last location that was emitted before the instruction that threw it. The engine
# emits the location of a call before its arguments, and takes it from the first of them: `f(g(x))` with an
# `f` that is no function pointed into `g(x)`. Here it is taken at the parenthesis, where the column is still
# that of the name that is called, and is emitted again behind the arguments.
CALL_SITES = (
    Change(
        """        JSFunctionDef *fd = s->cur_func;
        bool has_optional_chain = false;

        if (s->token.val == TOK_QUESTION_MARK_DOT) {""",
        """        JSFunctionDef *fd = s->cur_func;
        bool has_optional_chain = false;
        int call_line = s->token.line_num, call_col = s->token.col_num;

        if (s->token.val == TOK_QUESTION_MARK_DOT) {""",
    ),
    Change(
        """            parse_func_call2:
                emit_source_loc(s);""",
        """            parse_func_call2:
                emit_source_loc_at(s, call_line, call_col);""",
    ),
    Change(
        """                /* apply function call */
                switch(opcode) {""",
        """                /* apply function call */
                emit_source_loc_at(s, call_line, call_col);
                switch(opcode) {""",
    ),
    Change(
        """            emit_func_call:
                switch(opcode) {""",
        """            emit_func_call:
                emit_source_loc_at(s, call_line, call_col);
                switch(opcode) {""",
    ),
)

# The C library's exp, log2, log10 and acosh are wrong or not good enough; see shim/math.c. Its acosh of a
# negative number is one of what rounding left over.
MATH = (
    Change(
        "static double js_math_exp(double d) { return exp(d); }",
        "double cm_math_exp(double d);\nstatic double js_math_exp(double d) { return cm_math_exp(d); }",
    ),
    Change(
        "static double js_math_log2(double d) { return log2(d); }",
        "double cm_math_log2(double d);\nstatic double js_math_log2(double d) { return cm_math_log2(d); }",
    ),
    Change(
        "static double js_math_log10(double d) { return log10(d); }",
        "double cm_math_log10(double d);\nstatic double js_math_log10(double d) { return cm_math_log10(d); }",
    ),
    Change(
        "static double js_math_acosh(double d) { return acosh(d); }",
        "static double js_math_acosh(double d) { return d < 1 ? NAN : acosh(d); }",
    ),
)

# JSON.stringify compares each object with all those around it: with as many levels as the stack has room
# for, that took half a minute. Ten thousand levels take milliseconds, and are more than others go down. It
# also compares each name of a list of names with all before it.
STRINGIFY = (
    Change(
        """        v = js_array_includes(ctx, jsc->stack, 1, vc(&val));
        if (JS_IsException(v))
            goto exception;
        if (JS_ToBoolFree(ctx, v)) {
            JS_ThrowTypeError(ctx, "circular reference");
            goto exception;
        }
""",
        """        JSValue *around;
        uint32_t depth;
        if (!js_get_fast_array(ctx, jsc->stack, &around, &depth) || depth >= 10000) {
            JS_ThrowStackOverflow(ctx);
            goto exception;
        }
        bool is_circular = false;
        while (depth > 0)
            is_circular |= JS_VALUE_GET_PTR(around[--depth]) == p;
        if (is_circular) {
            JS_ThrowTypeError(ctx, "circular reference");
            goto exception;
        }
""",
    ),
    Change(
        """                present = js_array_includes(ctx, jsc->property_list,
                                            1, vc(&v));
                if (JS_IsException(present)) {""",
        """                present = js_poll_interrupts(ctx) ? JS_EXCEPTION :
                    js_array_includes(ctx, jsc->property_list, 1, vc(&v));
                if (JS_IsException(present)) {""",
    ),
)

# The check of the stack sees what lies in linear memory. A constructor bound again and again keeps nothing
# there, so that the stack of compiled code ran out first, which no program can catch.
BOUND = (
    Change(
        """    if (js_check_stack_overflow(ctx->rt, sizeof(JSValue) * arg_count))
        return JS_ThrowStackOverflow(ctx);
    arg_buf = alloca(sizeof(JSValue) * arg_count);
    for(i = 0; i < bf->argc; i++) {""",
        """    if (js_check_stack_overflow(ctx->rt, sizeof(JSValue) * (arg_count + 8)))
        return JS_ThrowStackOverflow(ctx);
    arg_buf = alloca(sizeof(JSValue) * (arg_count + 8));
    for(i = 0; i < bf->argc; i++) {""",
    ),
)

# The marks on a letter are sorted by their class, by insertion: a hundred thousand marks took a minute. Long
# runs are sorted by counting, which keeps the order of equal ones too.
MARKS = (
    Change(
        "static void sort_cc(int *buf, int len)\n{\n",
        """static bool sort_long_cc(int *buf, int len)
{
    int i, at[257] = { 0 }, *sorted = len > 64 ? malloc(sizeof(*buf) * len) : NULL;
    if (!sorted)
        return false;
    for(i = 0; i < len; i++)
        at[unicode_get_cc(buf[i]) + 1]++;
    for(i = 1; i < 257; i++)
        at[i] += at[i - 1];
    for(i = 0; i < len; i++)
        sorted[at[unicode_get_cc(buf[i])]++] = buf[i];
    memcpy(buf, sorted, sizeof(*buf) * len);
    free(sorted);
    return true;
}

static void sort_cc(int *buf, int len)
{
""",
        file="libunicode.c",
    ),
    Change(
        """            start = i;
            j = i + 1;
            while (j < len) {""",
        """            start = i;
            for(j = i + 1; j < len && unicode_get_cc(buf[j]) != 0;)
                j++;
            if (sort_long_cc(buf + start, j - start)) {
                i = j;
                continue;
            }
            j = i + 1;
            while (j < len) {""",
        file="libunicode.c",
    ),
)

# The compiler of TypeScript adds text to lines of a program (an enum becomes a function call), and says in a
# comment behind it how many bytes it added: `/*`, U+0001, the number. Columns are counted as if neither were
# there, so that an error is placed where the program as it was sent has it. A program that writes such
# comments itself misplaces its own errors, on their line.
COLUMNS = (
    Change(
        """            /* comment */
            p += 2;
            for(;;) {
                if (*p == '\\0' && p >= s->buf_end) {
                    js_parse_error(s, "unexpected end of comment");""",
        """            /* comment */
            const uint8_t *opened = p;
            p += 2;
            for(;;) {
                if (*p == '\\0' && p >= s->buf_end) {
                    js_parse_error(s, "unexpected end of comment");""",
    ),
    Change(
        """                } else {
                    p++;
                }
            }
            s->mark = p;
            goto redo;
        } else if (p[1] == '/') {
            /* line comment */""",
        """                } else {
                    p++;
                }
            }
            s->mark = p;
            if (opened[2] == 1) {
                ptrdiff_t added = 0;
                for(const uint8_t *d = opened + 3; *d >= '0' && *d <= '9' && added < (1 << 24); d++)
                    added = added * 10 + (*d - '0');
                added += p - opened;
                if (added <= p - s->line_start) {
                    s->eol += added;
                    s->line_start += added;
                }
            }
            goto redo;
        } else if (p[1] == '/') {
            /* line comment */""",
    ),
)

CHANGES = (*CALL_SITES, *MATH, *STRINGIFY, *POLLS, *MISUSE, *SPEED, *WEAK, *BOUND, *MARKS, *COLUMNS, *WORLDS)


def write_changed(engine: Path, folder: Path) -> list[str]:
    """Writes the changed files to `folder`, for a compiler that looks there before it looks in `engine`, and
    returns their names. Raises BuildError, and has written nothing then."""
    names = list(dict.fromkeys(change.file for change in CHANGES))
    texts = {name: changed((engine / name).read_text("utf-8"), CHANGES, name) for name in names}
    for name, text in texts.items():
        write_whole(folder / name, text.encode())
    return names
