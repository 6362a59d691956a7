/* Everything that needs QuickJS's internals, in the one translation unit that has them: the engine
   is included as source, and so are our parts in engine/. Programs call nothing of it directly.

   Pinned to the engine version in build/source.py: a new engine means reading these files again. */

/* The engine calls the next() of its own iterators directly, past the check of the stack that every other
   call makes: iterator helpers around iterator helpers would overflow it. So the check is made where the
   engine writes `func.iterator_next(…)`; without arguments behind it, the name is no call of the macro.
   The formatter would read the && as a reference. */
/* clang-format off */
#define iterator_next(ctx, ...)                                                                        \
    iterator_next && js_check_stack_overflow((ctx)->rt, 0) ? JS_ThrowStackOverflow(ctx)                \
                                                           : func.iterator_next(ctx, __VA_ARGS__)
/* clang-format on */
#include <ctype.h>
#include "shim.h" /* before the engine: it polls the word in the block */
#include "quickjs.c"
#undef iterator_next

#include "engine/promises.c"
#include "engine/world.c"
#include "engine/compile.c"
#include "engine/memory.c"
#include "engine/misuse.c"
#include "engine/values.c"

JSRuntime *cm_engine_runtime(void) { return JS_NewRuntime(); }

void cm_engine_seed(JSContext *ctx, uint64_t seed) { ctx->random_state = seed ? seed : 1; }
