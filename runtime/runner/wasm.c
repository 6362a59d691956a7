/* The guest's WebAssembly: the engine, one instance, its memory, calls in both directions. Beside it nothing knows
   wasmtime. The configuration is that of wasm.py: both read the same cache of machine code. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "runner.h"
#include "wasmtime_api.h"

/* As in wasm.py: deep recursion is a RangeError of the program and never a trap. */
#define WASM_STACK (48ull << 20)
#define NATIVE_STACK (96ull << 20)
#define STACK_RESERVE (4ull << 20)
#define WASM_PAGE 65536u
#define MAX_ARGUMENTS 4
#define LOOKUP_KINDS 9u

#define DECLARE(result, name, arguments) static result(*name) arguments;
WASMTIME_FUNCTIONS(DECLARE)

static wasm_engine_t *engine;
static wasmtime_module_t *module;
static wasmtime_instance_pre_t *prepared;

static wasmtime_store_t *store; /* of the one instance; NULL if there is none */
static wasmtime_context_t *context;
static wasmtime_memory_t memory;
static wasmtime_func_t exports[CR_EXPORTS];
static char *base;
static uint64_t known_size; /* memory only grows */

static const char *const export_names[CR_EXPORTS] = {"cm_start",   "cm_deliver", "cm_capture",
                                                     "cm_restore", "cm_inbox",   "cm_rest"};

/* in guest.c: what the guest's questions are answered from */
extern cr_offer cr_offered;

static void refuse(const char *what, wasmtime_error_t *error)
{
    if (!error)
        return;
    wasm_byte_vec_t said;
    wasmtime_error_message(error, &said);
    cr_die("%s: %.*s", what, (int)(said.size < 300 ? said.size : 300), said.data);
}

static uint64_t native_stack(void)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack))
        return 8ull << 20;
    uint64_t want = stack.rlim_max == RLIM_INFINITY || stack.rlim_max > NATIVE_STACK ? NATIVE_STACK : stack.rlim_max;
    if (stack.rlim_cur != RLIM_INFINITY && stack.rlim_cur < want) {
        stack.rlim_cur = want;
        if (setrlimit(RLIMIT_STACK, &stack))
            return 8ull << 20;
    }
    return want;
}

static wasm_engine_t *new_engine(bool alone)
{
    wasm_config_t *config = wasm_config_new();
    if (alone)
        wasmtime_config_parallel_compilation_set(config, false);
    wasmtime_config_cranelift_opt_level_set(config, OPT_SPEED);
    wasmtime_config_memory_init_cow_set(config, true);
    uint64_t stack = native_stack() - STACK_RESERVE;
    if (stack > WASM_STACK)
        stack = WASM_STACK;
    wasmtime_config_async_stack_size_set(config, stack + (1u << 20)); /* a larger wasm stack would abort the process */
    wasmtime_config_max_wasm_stack_set(config, stack);
    return wasm_engine_new_with_config(config);
}

void cr_wasm_open(const cr_image *image)
{
    void *library = dlopen(image->library, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        cr_die("the WebAssembly engine does not load: %s", dlerror());
#define FIND(result, name, arguments)                                                                                  \
    *(void **)&name = dlsym(library, #name);                                                                           \
    if (!name)                                                                                                         \
        cr_die("the WebAssembly engine has no %s", #name);
    WASMTIME_FUNCTIONS(FIND)
}

bool cr_wasm_load(const char *path)
{
    engine = new_engine(false);
    wasmtime_error_t *error = wasmtime_module_deserialize_file(engine, path, &module);
    if (error)
        wasmtime_error_delete(error);
    return !error;
}

bool cr_wasm_compile(cr_span wasm, bool alone, char **serialized, size_t *len)
{
    engine = new_engine(alone);
    refuse("the guest image does not load", wasmtime_module_new(engine, (const uint8_t *)wasm.data, wasm.len, &module));
    if (!serialized)
        return true;
    wasm_byte_vec_t made;
    wasmtime_error_t *error = wasmtime_module_serialize(module, &made);
    if (error)
        return false;
    *serialized = malloc(made.size);
    *len = made.size;
    if (*serialized)
        memcpy(*serialized, made.data, made.size);
    wasm_byte_vec_delete(&made);
    return *serialized != NULL;
}

/* ---- imports ---- */

static wasm_trap_t *now(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots, size_t count)
{
    (void)env, (void)caller, (void)count;
    slots[0].f64 = cr_tape_now(slots[0].i32);
    return NULL;
}

static wasm_trap_t *fill_random(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots, size_t count)
{
    (void)env, (void)caller, (void)count;
    uint32_t at = (uint32_t)slots[0].i32, len = (uint32_t)slots[1].i32;
    cr_tape_random(cr_guest_bytes(at, len), len);
    return NULL;
}

/* A program, which alone may look things up: in other calls the bytes of the host's request are still in use, and the
   answer to a lookup would take their place. */
static bool is_running;
static char *answer; /* owned; for the read that follows a lookup, whenever the guest makes it */
static size_t answer_len;

static wasm_trap_t *lookup(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots, size_t count)
{
    (void)env, (void)caller, (void)count;
    uint32_t kind = (uint32_t)slots[0].i32, at = (uint32_t)slots[1].i32, len = (uint32_t)slots[2].i32;
    if (kind >= LOOKUP_KINDS || !is_running)
        cr_die("a lookup of kind %u", kind);
    cr_span key = {cr_guest_bytes(at, len), len};
    cr_span found;
    slots[0].i32 = -1;
    if (!cr_look_up(&cr_offered, kind, key, &found))
        return NULL;
    free(answer);
    answer = malloc(found.len + 1);
    if (!answer || found.len > INT32_MAX)
        cr_die("no memory for an answer of %zu bytes", found.len);
    memcpy(answer, found.data, found.len);
    answer_len = found.len;
    slots[0].i32 = (int32_t)found.len;
    return NULL;
}

static wasm_trap_t *lookup_read(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots, size_t count)
{
    (void)env, (void)caller, (void)count;
    if (answer_len)
        memcpy(cr_guest_bytes((uint32_t)slots[0].i32, answer_len), answer, answer_len);
    return NULL;
}

static void define(wasmtime_linker_t *linker, const char *name, size_t parameters, int result,
                   wasmtime_callback function)
{
    wasm_valtype_t *types[3];
    wasm_valtype_vec_t in, out;
    for (size_t i = 0; i < parameters; i++)
        types[i] = wasm_valtype_new(WASM_I32);
    wasm_valtype_vec_new(&in, parameters, types);
    if (result >= 0)
        types[0] = wasm_valtype_new((uint8_t)result);
    wasm_valtype_vec_new(&out, result >= 0, types);
    wasm_functype_t *type = wasm_functype_new(&in, &out);
    refuse(name, wasmtime_linker_define_func_unchecked(linker, "codemode", 8, name, strlen(name), type, function, NULL,
                                                       NULL));
    wasm_functype_delete(type);
}

void cr_wasm_link(void)
{
    wasmtime_linker_t *linker = wasmtime_linker_new(engine);
    define(linker, "now", 1, WASM_F64, now);
    define(linker, "random", 2, -1, fill_random);
    define(linker, "lookup", 3, WASM_I32, lookup);
    define(linker, "lookup_read", 1, -1, lookup_read);
    refuse("the guest image does not link", wasmtime_linker_instantiate_pre(linker, module, &prepared));
}

/* ---- the instance ---- */

static wasmtime_extern_t find(const wasmtime_instance_t *instance, const char *name, uint8_t kind)
{
    wasmtime_extern_t found;
    if (!wasmtime_instance_export_get(context, instance, name, strlen(name), &found) || found.kind != kind)
        cr_die("the guest has no export %s", name);
    return found;
}

void cr_wasm_instantiate(uint64_t memory_limit)
{
    store = wasmtime_store_new(engine, NULL, NULL);
    wasmtime_store_limiter(store, (int64_t)memory_limit, -1, 1, 1, 1);
    context = wasmtime_store_context(store);
    wasmtime_instance_t instance;
    wasm_trap_t *trap = NULL;
    wasmtime_error_t *error = wasmtime_instance_pre_instantiate(prepared, context, &instance, &trap);
    if (error || trap)
        cr_die("the guest could not be instantiated");
    memory = find(&instance, "memory", EXTERN_MEMORY).of.memory;
    for (int i = 0; i < CR_EXPORTS; i++)
        exports[i] = find(&instance, export_names[i], EXTERN_FUNC).of.func;
    base = (char *)wasmtime_memory_data(context, &memory);
    known_size = wasmtime_memory_data_size(context, &memory);
}

void cr_wasm_drop(void)
{
    wasmtime_store_delete(store);
    store = NULL;
    known_size = 0;
    free(answer); /* it was for the program of this guest */
    answer = NULL;
    answer_len = 0;
}

enum cr_call cr_wasm_call(enum cr_export which, const uint64_t *arguments, size_t count, uint32_t *result)
{
    wasmtime_val_raw_t values[MAX_ARGUMENTS] = {0};
    for (size_t i = 0; i < count; i++)
        values[i].i64 = (int64_t)arguments[i];
    wasm_trap_t *trap = NULL;
    is_running = which == CR_START || which == CR_DELIVER;
    refuse("a call", wasmtime_func_call_unchecked(context, &exports[which], values, MAX_ARGUMENTS, &trap));
    is_running = false;
    if (trap) {
        uint8_t code = 0xFF;
        bool has_code = wasmtime_trap_code(trap, &code);
        wasm_trap_delete(trap);
        return has_code && code == TRAP_STACK_OVERFLOW ? CR_STACK_EXHAUSTED : CR_TRAPPED;
    }
    if (result)
        *result = (uint32_t)values[0].i32;
    return CR_RETURNED;
}

uint64_t cr_wasm_size(void) { return known_size = wasmtime_memory_data_size(context, &memory); }

bool cr_wasm_grow_to(uint64_t bytes)
{
    uint64_t size = cr_wasm_size(), previous;
    if (bytes <= size)
        return true;
    wasmtime_error_t *error =
        wasmtime_memory_grow(context, &memory, (bytes - size + WASM_PAGE - 1) / WASM_PAGE, &previous);
    if (error)
        wasmtime_error_delete(error);
    return !error;
}

char *cr_guest_bytes(uint64_t at, uint64_t len)
{
    if (at > known_size || len > known_size - at) {
        cr_wasm_size();
        if (at > known_size || len > known_size - at)
            cr_die("the guest has no %llu bytes at %#llx", (unsigned long long)len, (unsigned long long)at);
    }
    return base + at;
}

char *cr_guest_base(void) { return base; }
