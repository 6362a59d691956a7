/* The part of wasmtime's C interface that the runner uses, declared by hand: the wheel brings the shared library and
   no headers. Layouts are those of wasmtime 50 (tests/runtime/test_runner_build.py compares them with the bindings of the
   wheel). The functions are found by name when the library is opened, by a path that only the host knows. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wasm_config wasm_config_t;
typedef struct wasm_engine wasm_engine_t;
typedef struct wasm_functype wasm_functype_t;
typedef struct wasm_valtype wasm_valtype_t;
typedef struct wasm_trap wasm_trap_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_instance_pre wasmtime_instance_pre_t;
typedef struct wasmtime_store wasmtime_store_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_caller wasmtime_caller_t;

typedef struct {
    size_t size;
    char *data;
} wasm_byte_vec_t;

typedef struct {
    size_t size;
    wasm_valtype_t **data;
} wasm_valtype_vec_t;

typedef struct {
    uint64_t store_id;
    void *private_;
} wasmtime_func_t;

typedef struct {
    struct {
        uint64_t store_id;
        uint32_t private1;
    };
    uint32_t private2;
} wasmtime_memory_t;

typedef struct {
    uint64_t store_id;
    size_t private_;
} wasmtime_instance_t;

typedef struct {
    uint8_t kind;
    union {
        wasmtime_func_t func;
        wasmtime_memory_t memory;
        uint8_t room[24]; /* of the largest kind */
    } of;
} wasmtime_extern_t;

typedef union {
    int32_t i32;
    int64_t i64;
    double f64;
    uint8_t v128[16];
} wasmtime_val_raw_t;

enum { WASM_I32 = 0, WASM_F64 = 3, EXTERN_FUNC = 0, EXTERN_MEMORY = 3, TRAP_STACK_OVERFLOW = 0, OPT_SPEED = 1 };

typedef wasm_trap_t *(*wasmtime_callback)(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots,
                                          size_t count);

#define WASMTIME_FUNCTIONS(X)                                                                                          \
    X(wasm_config_t *, wasm_config_new, (void))                                                                        \
    X(void, wasmtime_config_cranelift_opt_level_set, (wasm_config_t *, uint8_t))                                       \
    X(void, wasmtime_config_memory_init_cow_set, (wasm_config_t *, bool))                                              \
    X(void, wasmtime_config_parallel_compilation_set, (wasm_config_t *, bool))                                         \
    X(void, wasmtime_config_async_stack_size_set, (wasm_config_t *, uint64_t))                                         \
    X(void, wasmtime_config_max_wasm_stack_set, (wasm_config_t *, size_t))                                             \
    X(wasm_engine_t *, wasm_engine_new_with_config, (wasm_config_t *))                                                 \
    X(wasmtime_error_t *, wasmtime_module_new, (wasm_engine_t *, const uint8_t *, size_t, wasmtime_module_t **))       \
    X(wasmtime_error_t *, wasmtime_module_serialize, (wasmtime_module_t *, wasm_byte_vec_t *))                         \
    X(wasmtime_error_t *, wasmtime_module_deserialize_file, (wasm_engine_t *, const char *, wasmtime_module_t **))     \
    X(wasm_valtype_t *, wasm_valtype_new, (uint8_t))                                                                   \
    X(void, wasm_valtype_vec_new, (wasm_valtype_vec_t *, size_t, wasm_valtype_t *const[]))                             \
    X(wasm_functype_t *, wasm_functype_new, (wasm_valtype_vec_t *, wasm_valtype_vec_t *))                              \
    X(void, wasm_functype_delete, (wasm_functype_t *))                                                                 \
    X(wasmtime_linker_t *, wasmtime_linker_new, (wasm_engine_t *))                                                     \
    X(wasmtime_error_t *, wasmtime_linker_define_func_unchecked,                                                       \
      (wasmtime_linker_t *, const char *, size_t, const char *, size_t, const wasm_functype_t *, wasmtime_callback,    \
       void *, void (*)(void *)))                                                                                      \
    X(wasmtime_error_t *, wasmtime_linker_instantiate_pre,                                                             \
      (const wasmtime_linker_t *, const wasmtime_module_t *, wasmtime_instance_pre_t **))                              \
    X(wasmtime_store_t *, wasmtime_store_new, (wasm_engine_t *, void *, void (*)(void *)))                             \
    X(wasmtime_context_t *, wasmtime_store_context, (wasmtime_store_t *))                                              \
    X(void, wasmtime_store_limiter, (wasmtime_store_t *, int64_t, int64_t, int64_t, int64_t, int64_t))                 \
    X(void, wasmtime_store_delete, (wasmtime_store_t *))                                                               \
    X(wasmtime_error_t *, wasmtime_instance_pre_instantiate,                                                           \
      (const wasmtime_instance_pre_t *, wasmtime_context_t *, wasmtime_instance_t *, wasm_trap_t **))                  \
    X(bool, wasmtime_instance_export_get,                                                                              \
      (wasmtime_context_t *, const wasmtime_instance_t *, const char *, size_t, wasmtime_extern_t *))                  \
    X(uint8_t *, wasmtime_memory_data, (const wasmtime_context_t *, const wasmtime_memory_t *))                        \
    X(size_t, wasmtime_memory_data_size, (const wasmtime_context_t *, const wasmtime_memory_t *))                      \
    X(wasmtime_error_t *, wasmtime_memory_grow,                                                                        \
      (wasmtime_context_t *, const wasmtime_memory_t *, uint64_t, uint64_t *))                                         \
    X(wasmtime_error_t *, wasmtime_func_call_unchecked,                                                                \
      (wasmtime_context_t *, const wasmtime_func_t *, wasmtime_val_raw_t *, size_t, wasm_trap_t **))                   \
    X(bool, wasmtime_trap_code, (const wasm_trap_t *, uint8_t *))                                                      \
    X(void, wasm_trap_delete, (wasm_trap_t *))                                                                         \
    X(void, wasmtime_error_message, (const wasmtime_error_t *, wasm_byte_vec_t *))                                     \
    X(void, wasmtime_error_delete, (wasmtime_error_t *))                                                               \
    X(void, wasm_byte_vec_delete, (wasm_byte_vec_t *))
