"""Where the engine tells what a value looks like that a program used wrongly.

The engine says "not a function" and "cannot read property 'x' of undefined". A program that guessed the shape
of a result learns nothing from that, also where it catches the error. So the last property that was looked
for in vain is kept, with the object, until the guest goes idle, and those errors say what the object has
instead. shim/engine/misuse.c has the words.
"""

from __future__ import annotations

from change import Change

MISUSE = (
    Change(
        """                get_field_slow_path:
                    sf->cur_pc = pc;
                    val = JS_GetPropertyInternal(ctx, obj, atom, sp[-1], false);
                    if (unlikely(JS_IsException(val)))
                        goto exception;
                }
""",
        """                get_field_slow_path:
                    sf->cur_pc = pc;
                    val = JS_GetPropertyInternal(ctx, obj, atom, sp[-1], false);
                    if (unlikely(JS_IsException(val)))
                        goto exception;
                }
                if (unlikely(JS_IsUndefined(val)))
                    cm_engine_missed(ctx, sp[-1], atom, pc);
""",
    ),
    Change(
        """                get_field2_slow_path:
                    sf->cur_pc = pc;
                    val = JS_GetPropertyInternal(ctx, obj, atom, sp[-1], false);
                    if (unlikely(JS_IsException(val)))
                        goto exception;
                }
""",
        """                get_field2_slow_path:
                    sf->cur_pc = pc;
                    val = JS_GetPropertyInternal(ctx, obj, atom, sp[-1], false);
                    if (unlikely(JS_IsException(val)))
                        goto exception;
                }
                if (unlikely(JS_IsUndefined(val)))
                    cm_engine_missed(ctx, sp[-1], atom, pc);
""",
    ),
    Change(
        """                val = JS_GetPropertyValue(ctx, sp[-2], sp[-1]);
                JS_FreeValue(ctx, sp[-2]);
                sp[-2] = val;
""",
        """                val = JS_GetPropertyValue(ctx, sp[-2], sp[-1]);
                if (unlikely(JS_IsUndefined(val) && JS_VALUE_GET_TAG(sp[-1]) == JS_TAG_INT &&
                             JS_VALUE_GET_INT(sp[-1]) >= 0))
                    cm_engine_missed(ctx, sp[-2], __JS_AtomFromUInt32(JS_VALUE_GET_INT(sp[-1])), pc);
                JS_FreeValue(ctx, sp[-2]);
                sp[-2] = val;
""",
    ),
    Change(
        "            return JS_ThrowTypeErrorNotAFunction(caller_ctx);",
        "            return cm_engine_not_a_function(caller_ctx, func_obj, this_obj);",
    ),
    Change(
        """            return JS_ThrowTypeErrorAtom(ctx, "cannot read property '%s' of undefined", prop);""",
        "            return cm_engine_cannot_read(ctx, prop);",
    ),
    Change(
        """            JS_ThrowTypeErrorAtom(ctx, "cannot read property '%s' of undefined", atom);""",
        "            cm_engine_cannot_read(ctx, atom);",
    ),
    Change(
        """        return JS_ThrowTypeError(ctx, "value is not iterable");""",
        "        return cm_engine_not_iterable(ctx, obj);",
    ),
)
