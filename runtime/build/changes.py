"""What is changed in the engine's source before it is compiled: as little as possible, each with its reason.

A change replaces text that occurs exactly once. The source is pinned by hash, so one that does not fit means
that a new version of the engine has to be read for it. Called by make_image.py and sanitize.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from source import BuildError, write_whole


@dataclass(frozen=True, slots=True)
class Change:
    before: str
    after: str


CHANGED_FILE = "quickjs.c"

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

CHANGES = (*CALL_SITES, *MATH)


def write_changed(engine: Path, folder: Path) -> None:
    """The changed file in `folder`, for a compiler that looks there before it looks in `engine`."""
    text = (engine / CHANGED_FILE).read_text("utf-8")
    for change in CHANGES:
        if text.count(change.before) != 1:
            line = change.before.strip().splitlines()[0]
            raise BuildError(f"{CHANGED_FILE} is not the one that changes.py was written for: see {line!r}")
        text = text.replace(change.before, change.after)
    write_whole(folder / CHANGED_FILE, text.encode())
