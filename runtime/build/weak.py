"""Weak references of the engine, made so that taking one back takes the same time however many there are.

An object knows its weak references by a list, which was walked for each of them that ended: a hundred
thousand WeakMaps with one key, freed together, held up the guest for half a minute, where nothing polls.
Here each knows its place in the list. Called by changes.py.
"""

from __future__ import annotations

from change import Change

LIST = (
    Change(
        """    struct JSWeakRefRecord *next_weak_ref;
    union {
        struct JSMapRecord *map_record;""",
        """    struct JSWeakRefRecord *next_weak_ref;
    struct JSWeakRefRecord **place; /* what points to this one */
    union {
        struct JSMapRecord *map_record;""",
    ),
    Change(
        """    /* Add the weak reference */
    wr->next_weak_ref = *pwr;
    *pwr = wr;
}
""",
        """    /* Add the weak reference */
    wr->next_weak_ref = *pwr;
    wr->place = pwr;
    if (*pwr)
        (*pwr)->place = &wr->next_weak_ref;
    *pwr = wr;
}
""",
    ),
    Change(
        "static JSWeakRefRecord **get_first_weak_ref(JSValueConst key)\n{\n",
        """static void take_out_weakref_record(JSWeakRefRecord *wr)
{
    *wr->place = wr->next_weak_ref;
    if (wr->next_weak_ref)
        wr->next_weak_ref->place = wr->place;
}

static JSWeakRefRecord **get_first_weak_ref(JSValueConst key)
{
""",
    ),
)

# The record of a WeakMap or WeakSet and its weak reference are one block, as large as the two were.
MAPS = (
    Change(
        """    mr = js_malloc(ctx, sizeof(*mr));
    if (!mr)
        return NULL;
    mr->ref_count = 1;""",
        """    mr = js_malloc(ctx, sizeof(*mr) + (s->is_weak ? sizeof(JSWeakRefRecord) : 0));
    if (!mr)
        return NULL;
    mr->ref_count = 1;""",
    ),
    Change(
        """        JSWeakRefRecord *wr = js_malloc(ctx, sizeof(*wr));
        if (!wr) {
            js_free(ctx, mr);
            return NULL;
        }
        wr->kind = JS_WEAK_REF_KIND_MAP;""",
        """        JSWeakRefRecord *wr = (JSWeakRefRecord *)(mr + 1);
        wr->kind = JS_WEAK_REF_KIND_MAP;""",
    ),
    Change(
        """    JSWeakRefRecord **pwr, *wr;

    pwr = get_first_weak_ref(mr->key);
    for(;;) {
        wr = *pwr;
        assert(wr != NULL);
        if (wr->kind == JS_WEAK_REF_KIND_MAP && wr->u.map_record == mr)
            break;
        pwr = &wr->next_weak_ref;
    }
    *pwr = wr->next_weak_ref;
    js_free_rt(rt, wr);
}
""",
        """    take_out_weakref_record((JSWeakRefRecord *)(mr + 1));
}
""",
    ),
    Change(
        """            mr = wr->u.map_record;
            JS_FreeValueRT(rt, mr->value);
            js_free_rt(rt, mr);
            break;""",
        """            mr = wr->u.map_record;
            JS_FreeValueRT(rt, mr->value);
            js_free_rt(rt, mr);
            continue;""",
    ),
)

OTHERS = (
    Change(
        """    JSValueConst target;
    JSValue obj;
} JSWeakRefData;""",
        """    JSValueConst target;
    JSValue obj;
    JSWeakRefRecord *record;
} JSWeakRefData;""",
    ),
    Change(
        """    JSWeakRefRecord **pwr, *wr;

    pwr = get_first_weak_ref(wrd->target);
    for(;;) {
        wr = *pwr;
        assert(wr != NULL);
        if (wr->kind == JS_WEAK_REF_KIND_WEAK_REF && wr->u.weak_ref_data == wrd)
            break;
        pwr = &wr->next_weak_ref;
    }
    *pwr = wr->next_weak_ref;
    js_free_rt(rt, wrd);
    js_free_rt(rt, wr);
""",
        """    take_out_weakref_record(wrd->record);
    js_free_rt(rt, wrd->record);
    js_free_rt(rt, wrd);
""",
    ),
    Change(
        "    wr->u.weak_ref_data = wrd;\n",
        "    wr->u.weak_ref_data = wrd;\n    wrd->record = wr;\n",
    ),
    Change(
        """    JSValue cb;
    JSContext *ctx;
} JSFinRecEntry;""",
        """    JSValue cb;
    JSContext *ctx;
    JSWeakRefRecord *record;
} JSFinRecEntry;""",
    ),
    Change(
        """    JSWeakRefRecord **pwr, *wr;

    pwr = get_first_weak_ref(fre->target);
    for(;;) {
        wr = *pwr;
        assert(wr != NULL);
        if (wr->kind == JS_WEAK_REF_KIND_FINALIZATION_REGISTRY_ENTRY && wr->u.fin_rec_entry == fre)
            break;
        pwr = &wr->next_weak_ref;
    }
    *pwr = wr->next_weak_ref;
    js_free_rt(rt, wr);
""",
        """    take_out_weakref_record(fre->record);
    js_free_rt(rt, fre->record);
""",
    ),
    Change(
        "    wr->u.fin_rec_entry = fre;\n",
        "    wr->u.fin_rec_entry = fre;\n    fre->record = wr;\n",
    ),
)

WEAK = (*LIST, *MAPS, *OTHERS)
