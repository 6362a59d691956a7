/* The exported functions, the shared block, and the five WASI functions libc would import.
   runtime/README.md documents each export and who owns each pointer. */
#include <stdlib.h>
#include <string.h>
#include "shim.h"

cm_block_t cm_shared;
JSContext *cm_ctx;
static JSRuntime *rt;
static JSValue internal; /* what the prelude files share; dropped before programs run */

#define JS_STACK_BYTES (2 * 1024 * 1024)
#define MAX_TOLD_BYTES (48 * 1024) /* names and types of a world */

_Noreturn void cm_stop(enum cm_stop why)
{
    cm_shared.stop = why;
    __builtin_trap();
}

/* The address of the block; constant. */
CM_EXPORT(cm_block) cm_block_t *cm_block(void) { return &cm_shared; }

/* ---- boot: at build time only ------------------------------------------------------------------------ */

static JSValue expose(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    JSValue global = JS_GetGlobalObject(ctx);
    JSAtom name = JS_ValueToAtom(ctx, argv[0]);
    JS_DefinePropertyValue(ctx, global, name, JS_DupValue(ctx, argv[1]), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    JS_FreeAtom(ctx, name);
    JS_FreeValue(ctx, global);
    return JS_UNDEFINED;
}

CM_EXPORT(cm_boot) int32_t cm_boot(void)
{
    rt = cm_engine_runtime();
    JS_SetMaxStackSize(rt, JS_STACK_BYTES);
    JSContext *ctx = cm_ctx = JS_NewContextRaw(rt);
    if (!ctx || JS_AddIntrinsicBaseObjects(ctx) || JS_AddIntrinsicDate(ctx) || JS_AddIntrinsicEval(ctx) ||
        JS_AddIntrinsicRegExp(ctx) || JS_AddIntrinsicJSON(ctx) || JS_AddIntrinsicProxy(ctx) ||
        JS_AddIntrinsicMapSet(ctx) || JS_AddIntrinsicTypedArrays(ctx) || JS_AddIntrinsicPromise(ctx) ||
        JS_AddIntrinsicWeakRef(ctx))
        return -1;
    cm_bare_mark(ctx);
    if (JS_AddIntrinsicAToB(ctx) || JS_AddIntrinsicDOMException(ctx))
        return -1;
    internal = JS_NewObject(ctx);
    JS_SetPropertyStr(ctx, internal, "expose", JS_NewCFunction(ctx, expose, "expose", 2));
    JS_SetPropertyStr(ctx, internal, "viewState", JS_NewCFunction(ctx, cm_web_view_state, "viewState", 1));
    JS_SetPropertyStr(ctx, internal, "ignored", JS_NewCFunction(ctx, cm_web_ignored, "ignored", 1));
    return cm_json_init(ctx) || cm_tool_error_init(ctx) || cm_program_init(ctx) || cm_api_init(ctx) ||
           cm_views_init(ctx) || cm_files_init(ctx) || cm_web_init(ctx);
}

/* Evaluates one prelude file: borrowed, zero-terminated text of a function expression that takes
   `internal`. On failure returns -1 and leaves the error in the block's result. */
CM_EXPORT(cm_prelude) int32_t cm_prelude(const char *text, uint32_t len, const char *name)
{
    JSValue f = JS_Eval(cm_ctx, text, len, name, JS_EVAL_FLAG_STRICT);
    JSValueConst args[] = {internal};
    JSValue r = JS_IsException(f) ? f : JS_Call(cm_ctx, f, JS_UNDEFINED, 1, args);
    if (JS_IsException(r)) {
        JSValue error = JS_GetException(cm_ctx);
        const char *s = JS_ToCString(cm_ctx, error);
        cm_shared.result_ptr = (cm_address)s;
        cm_shared.result_len = (uint32_t)strlen(s);
        return -1;
    }
    JS_FreeValue(cm_ctx, r);
    JS_FreeValue(cm_ctx, f);
    return 0;
}

/* Ends boot: what exists now is the pristine image. */
CM_EXPORT(cm_seal) void cm_seal(void)
{
    cm_json_take(cm_ctx, internal);
    JS_FreeValue(cm_ctx, internal);
    internal = JS_UNDEFINED;
    cm_engine_forget(cm_ctx);
    cm_engine_save_promises(cm_ctx);
    cm_engine_hide_source(cm_ctx);
    cm_engine_make_immortal(rt);
    cm_engine_scrub(rt);
    cm_alloc_zero_free();
    cm_capture_seal();
}

/* ---- a run -------------------------------------------------------------------------------------------- */

/* Input goes into the scratch memory; what is too large for that gets room here: len bytes and a
   terminating zero, owned by the guest until the end of the next cm_start or cm_deliver. */
static char *inbox;

CM_EXPORT(cm_inbox) char *cm_inbox(uint32_t len)
{
    cm_outbox_clear(); /* they were read; this may be the end of the guest */
    free(inbox);
    inbox = malloc((size_t)len + 1);
    inbox[len] = 0;
    return inbox;
}

static int32_t leave(enum cm_status status)
{
    free(inbox);
    inbox = NULL;
    cm_engine_forget(cm_ctx);
    cm_shared.heap_used = cm_alloc_used();
    return (int32_t)status;
}

/* Starts the program of this borrowed, zero-terminated text. flags 1: the descriptor has namespaces; flags 2: the
   program sees them, the language and console, and nothing else; flags 4: what it declares is its world's. */
CM_EXPORT(cm_start) int32_t cm_start(const char *text, uint32_t len, uint32_t flags, uint64_t seed)
{
    JS_UpdateStackTop(rt);
    cm_engine_seed(cm_ctx, seed);
    cm_web_clock_start();
    if (flags & 2)
        cm_bare_start(cm_ctx);
    if ((flags & 1) && cm_views_start(cm_ctx))
        cm_stop(CM_STOP_ABORT);
    if (flags & 4)
        cm_engine_wake(cm_ctx);
    return leave(cm_program_start(cm_ctx, text, len, flags & 4));
}

/* After a program that is done and whose result was read: leaves its world, ready to be captured, and in the scratch
   memory what there is in it: pairs of name and type, the elements of a JSON array, patch_len bytes. */
CM_EXPORT(cm_rest) void cm_rest(void)
{
    cm_outbox_clear();
    cm_program_forget(cm_ctx);
    cm_bridge_reopen(cm_ctx);
    cm_views_forget(cm_ctx);
    cm_web_clock_zero();
    cm_engine_rest(cm_ctx);
    cm_shared.heap_used = cm_alloc_used();
    cm_shared.patch_len = (uint32_t)cm_engine_tell_world(cm_ctx, (char *)cm_shared.scratch_ptr, MAX_TOLD_BYTES);
}

/* Forgets the messages sent so far, which the host has read, delivers these borrowed settlements in
   order, and runs. Each is three 32-bit words (id, how, length) and that many bytes of JSON, followed
   by a zero and padding to a multiple of four. */
CM_EXPORT(cm_deliver) int32_t cm_deliver(const char *settlements, uint32_t len)
{
    uint32_t at = 0, word[3];
    cm_outbox_clear();
    while (at + sizeof word <= len) {
        memcpy(word, settlements + at, sizeof word);
        at += sizeof word;
        if (word[2] >= len - at)
            cm_stop(CM_STOP_ABORT);
        if (cm_bridge_settle(cm_ctx, word[0], word[1] ? CM_REJECT : CM_FULFILL, settlements + at, word[2]) < 0)
            cm_program_uncaught(cm_ctx);
        at += (word[2] + 4) & ~3u;
        /* each settlement's consequences happen before the next one, as they would have if the
           program had been awake when it came */
        if (at < len) {
            JSContext *ctx;
            int r;
            while (!cm_shared.interrupt && (r = JS_ExecutePendingJob(rt, &ctx)) != 0)
                if (r < 0)
                    cm_program_uncaught(cm_ctx);
        }
    }
    return leave(cm_program_run(cm_ctx));
}

/* ---- capture -------------------------------------------------------------------------------------------- */

/* A collection pays when a program holds more than this; below, its garbage is small. */
#define COLLECT_ABOVE (128 * 1024)

/* Drops garbage and messages that were read, clears freed blocks, and leaves in the block what to store: a patch against the
   image, and extents of heap beyond it. The guest may go on afterwards. */
CM_EXPORT(cm_capture) void cm_capture(void)
{
    cm_outbox_clear();
    cm_web_clock_pause();
    if (cm_alloc_used() > COLLECT_ABOVE)
        JS_RunGC(rt);
    cm_engine_scrub(rt);
    cm_capture_diff();
}

/* In a fresh guest whose extents the host has written: applies the patch in the scratch memory.
   Returns 0, or -1 if it is not a patch. New randomness; the clock goes on. */
CM_EXPORT(cm_restore) int32_t cm_restore(uint32_t patch_len, uint64_t seed)
{
    if (!cm_capture_apply(patch_len))
        return -1;
    cm_engine_seed(cm_ctx, seed);
    cm_web_clock_start();
    cm_shared.heap_used = cm_alloc_used(); /* the host compares it with today's limit */
    return 0;
}

/* ---- WASI: what libc would import, answered inside ------------------------------------------------------ */

#ifdef __wasm__
#include <wasi/api.h>
/* defining the wrappers keeps libc's own, which import from the host, out of the link */
int close(int fd) { return -1; } /* stdio's only way to fd_close */
__wasi_errno_t __wasi_fd_fdstat_get(__wasi_fd_t fd, __wasi_fdstat_t *out) { return __WASI_ERRNO_NOSYS; }
__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t by, __wasi_whence_t from, __wasi_filesize_t *out)
{
    return __WASI_ERRNO_NOSYS;
}
__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *parts, size_t count, __wasi_size_t *out)
{
    return __WASI_ERRNO_NOSYS;
}
__wasi_errno_t __wasi_clock_time_get(__wasi_clockid_t id, __wasi_timestamp_t precision, __wasi_timestamp_t *out)
{
    *out = (__wasi_timestamp_t)(cm_import_now(id == __WASI_CLOCKID_REALTIME ? 0 : 1) * 1e6);
    return __WASI_ERRNO_SUCCESS;
}
_Noreturn void __wasi_proc_exit(__wasi_exitcode_t code) { cm_stop(CM_STOP_ABORT); }
#endif
