"""What is changed in the engine's source for worlds: functions that a program declares may be declared again.

shim/engine/world.c takes the top-level declarations out of a program and defines them itself; the engine
would check such a function first, as a script's, and refuse a name that is there already.
"""

from __future__ import annotations

from change import Change

WORLDS = (
    Change(
        """        JSGlobalVar *hf = &s->global_vars[i];
        int flags;

        /* check if global variable (XXX: simplify) */""",
        """        JSGlobalVar *hf = &s->global_vars[i];
        int flags;

        if (hf->scope_level == -2) /* KEPT_SCOPE in shim/engine/world.c */
            continue;
        /* check if global variable (XXX: simplify) */""",
    ),
)
