/* The engine's heap, made fit for snapshots. Included by engine.c. */

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

/* Takes source, file name and lines from all functions that exist now, those of the prelude: programs see
   them as they see the engine's own. */
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

/* Clears the freed blocks of living arenas but for their link, so that a capture does not carry what a
   program has dropped. Reads before it writes: clean pages stay shared with the image. */
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
