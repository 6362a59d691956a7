/* What the parts of the shim share. One guest per wasm instance, so state is static.
   Ownership words in comments: what is "owned" the receiver frees, what is "borrowed" it does not;
   of what is "copied" the callee keeps its own copy. An argument of type JSValue is taken over by the
   callee, one of type JSValueConst is borrowed; a JSValue that is returned is owned. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "quickjs.h"

#ifdef __wasm__
#define CM_EXPORT(name) __attribute__((export_name(#name)))
#define CM_IMPORT(name) __attribute__((import_module("codemode"), import_name(#name)))
#else /* a native build, for sanitizers: the harness links the imports */
#define CM_EXPORT(name)
#define CM_IMPORT(name)
#endif

/* ---- imports: all that the outside offers ---------------------------------------------- */

/* returns milliseconds: clock 0 is wall time since 1970, clock 1 is monotonic */
CM_IMPORT(now) double cm_import_now(int32_t clock);
/* fills borrowed memory with host entropy */
CM_IMPORT(random) void cm_import_random(void *ptr, uint32_t len);
/* asks the run descriptor with a borrowed key; returns the byte length of the JSON answer or -1 for none.
   The host owns the answer, which cm_import_lookup_read copies to ptr. */
CM_IMPORT(lookup) int32_t cm_import_lookup(int32_t kind, const char *key, uint32_t key_len);
CM_IMPORT(lookup_read) void cm_import_lookup_read(void *ptr);

/* ---- constants shared with Python (a test compares them with guest.py) ------------------- */

enum cm_status { CM_IDLE = 0, CM_DONE = 1, CM_FAILED = 2, CM_INTERRUPTED = 3 };

/* why the guest was stopped for good; set just before a trap, so that no program can catch it */
enum cm_stop {
    CM_STOP_NONE = 0,
    CM_STOP_MEMORY = 1,
    CM_STOP_OUTPUT = 2,
    CM_STOP_CALLS = 3,
    CM_STOP_ABORT = 4,
    CM_STOP_MESSAGES = 6, /* 5 is the host's: native stack exhausted */
};

enum cm_lookup {
    CM_LOOKUP_ALL_TOOLS = 0,  /* key unused      -> array of entries */
    CM_LOOKUP_TOOL = 1,       /* convenience name -> id string */
    CM_LOOKUP_TOOL_NAMES = 2, /* key unused      -> object of ids by convenience name */
    CM_LOOKUP_SERVER = 3,     /* MCP identifier  -> tree */
    CM_LOOKUP_SERVERS = 4,    /* key unused      -> array of MCP identifiers */
    CM_LOOKUP_API_LIST = 5,   /* prefix          -> {files: [{path, bytes, description}]} */
    CM_LOOKUP_API_READ = 6,   /* path            -> {path, content, description, bytes} */
    CM_LOOKUP_API = 7,        /* JSON array [server | null, ...$api arguments] -> {header, ...} */
    CM_LOOKUP_NAMESPACES = 8, /* key unused      -> object of trees by global name */
};

enum cm_settle { CM_FULFILL = 0, CM_REJECT = 1 };

#define CM_MAX_TIMERS 1000
#define CM_MAX_MESSAGES 20000            /* sent at once: until the guest goes idle */
#define CM_MAX_MESSAGE_BYTES (48u << 20) /* of them together */
#define CM_MAX_OUTPUT_ITEMS 20000        /* of one result */
#define CM_MAX_DEPTH 200                 /* nesting of a value that crosses */
#define CM_MAX_LOSSY 100                 /* lossy conversions listed for one value */
#define CM_MAX_PATH 300                  /* bytes of a path among them */
#define CM_MAX_REASON 1000               /* bytes of the text given to yield_control */
#define CM_MAX_IGNORED 120               /* bytes of the name of what was ignored */
#define CM_PAGE 4096

typedef uintptr_t cm_address; /* 32 bits in the guest */

/* The block both sides read and write; every field is 32 bits in the guest. Its address is cm_block(). */
typedef struct {
    /* written by the guest */
    uint32_t stop;      /* enum cm_stop */
    cm_address out_ptr; /* messages: JSON objects separated by commas */
    uint32_t out_len;
    cm_address result_ptr; /* the JSON of the value or of the failure */
    uint32_t result_len;
    uint32_t pending_calls;
    uint32_t pending_timers;
    uint32_t pending_yields;
    uint32_t returned;      /* the program has returned, calls it never awaited are pending */
    uint32_t heap_used;     /* bytes of pages in use, the booted image not counted */
    cm_address scratch_ptr; /* memory that holds no state: patches go through it */
    uint32_t scratch_len;
    uint32_t patch_len;     /* bytes of the captured patch, at the start of the scratch memory */
    cm_address extents_ptr; /* captured heap beyond the image: pairs of addresses [start, end) */
    uint32_t extents_len;   /* number of pairs */
    /* written by the host */
    uint32_t interrupt;    /* not zero: stop at the next poll */
    uint32_t memory_limit; /* bytes of heap above the booted image */
    uint32_t output_limit; /* bytes of one leg: the JSON of its items of output, and of the value */
    uint32_t output_used;  /* the host sets these two to 0 when a leg starts */
    uint32_t output_items;
    uint32_t call_limit;    /* nested calls in flight */
    uint32_t message_limit; /* bytes of one call's arguments */
} cm_block_t;

extern cm_block_t cm_shared;
extern JSContext *cm_ctx;

/* ---- abi.c: exports; runtime/README.md says who owns what ----------------------------------- */

cm_block_t *cm_block(void);
int32_t cm_boot(void);
int32_t cm_prelude(const char *text, uint32_t len, const char *name);
void cm_seal(void);
char *cm_inbox(uint32_t len);
int32_t cm_start(const char *text, uint32_t len, uint32_t flags, uint64_t seed);
int32_t cm_deliver(const char *settlements, uint32_t len);
void cm_rest(void);
void cm_capture(void);
int32_t cm_restore(uint32_t patch_len, uint64_t seed);

/* ends the guest; does not return */
_Noreturn void cm_stop(enum cm_stop why);

/* ---- alloc.c: pages, the only allocator of the guest --------------------------------------- */

void cm_alloc_seal(void);     /* boot is over: what is in use now does not count */
uint32_t cm_alloc_used(void); /* bytes of pages in use since then */
void cm_alloc_each_range(void (*visit)(char *start, char *end));
bool cm_alloc_in_heap(const char *p);
char *cm_alloc_reserve(size_t n); /* borrowed for good */
void cm_alloc_zero_free(void);

/* ---- capture.c: what a program changed ---------------------------------------------------------- */

void cm_capture_seal(void);
void cm_capture_diff(void);
bool cm_capture_apply(uint32_t len);

/* ---- engine.c: what needs QuickJS's internals ----------------------------------------------- */

JSRuntime *cm_engine_runtime(void); /* owned */
/* `keeps`: what the program declares at its top level is the world's, and defined when this returns */
JSValue cm_engine_compile(JSContext *ctx, const char *text, size_t len, const char *filename, bool keeps);
/* between two programs of a world: leave what is declared, and before the next one put the API before it */
void cm_engine_save_promises(JSContext *ctx);
void cm_engine_rest(JSContext *ctx);
void cm_engine_wake(JSContext *ctx);
void cm_engine_put_global(JSContext *ctx, JSAtom name, JSValue v);
size_t cm_engine_tell_world(JSContext *ctx, char *to, size_t room);
/* give where the last statement of the program starts, line 0 if it has none */
void cm_engine_last_statement(int *line, int *column);
void cm_engine_make_immortal(JSRuntime *rt);
void cm_engine_hide_source(JSContext *ctx);
void cm_engine_scrub(JSRuntime *rt);
void cm_engine_seed(JSContext *ctx, uint64_t seed);
bool cm_engine_data_property(JSContext *ctx, JSValueConst obj, const char *name, JSValue *out);
bool cm_engine_element(JSContext *ctx, JSValueConst array, uint32_t i, JSValue *out);
JSValue cm_engine_error_stack(JSContext *ctx, JSValueConst error);
void cm_engine_set_error_stack(JSContext *ctx, JSValueConst error, const char *stack);
bool cm_engine_call_site(JSContext *ctx, int *line, int *column);
int cm_engine_collection(JSContext *ctx, JSValueConst v, JSValue **items, uint32_t *count);
const char *cm_engine_class_label(JSValueConst v, uint32_t *bytes);
bool cm_engine_is_instance(JSContext *ctx, JSValueConst v);
JSValue cm_engine_boxed_value(JSValueConst v);
JSValue cm_engine_date_text(JSContext *ctx, JSValueConst date);
bool cm_engine_is_error(JSValueConst v);
int cm_engine_is_array(JSContext *ctx, JSValueConst v);
bool cm_engine_view(JSValueConst v, uint8_t **data, size_t *len);
bool cm_engine_view_is_immutable(JSValueConst v);
void cm_engine_delete_locked(JSContext *ctx, JSValueConst obj, JSAtom name);
bool cm_engine_view_is_detached(JSValueConst v);
bool cm_engine_view_is_shared(JSValueConst v);
bool cm_engine_view_follows(JSValueConst v);
bool cm_engine_is_buffer(JSValueConst v);
/* called by the engine itself, see build/misuse.py: note a property that is missing, of a borrowed value, and
   throw errors that tell what a borrowed value looks like */
void cm_engine_missed(JSContext *ctx, JSValueConst of, JSAtom name, const uint8_t *pc);
JSValue cm_engine_not_a_function(JSContext *ctx, JSValueConst function, JSValueConst self);
JSValue cm_engine_cannot_read(JSContext *ctx, JSAtom name);
JSValue cm_engine_not_iterable(JSContext *ctx, JSValueConst v);
void cm_engine_forget(JSContext *ctx); /* lets go of what was noted */

/* ---- math.c: what build/changes.py calls instead of the C library ----------------------------- */

double cm_math_exp(double x);
double cm_math_log2(double x);
double cm_math_log10(double x);

/* ---- buf.c: bytes, and JSON pieced together from them ---------------------------------------- */

/* Growing bytes. All put functions copy what they are given. A buffer that is all zero is empty. */
typedef struct {
    char *data; /* owned; malloc */
    size_t len, cap;
    size_t most; /* not zero: keeps no more bytes than this and counts the rest */
    size_t dropped;
    size_t keep_last; /* not zero: of the rest, so many of its last bytes are kept too */
    char *last;       /* owned; a ring of them, where last_at is the next to be written over */
    size_t last_at;
} cm_buf;

void cm_buf_put(cm_buf *b, const void *data, size_t len);
void cm_buf_puts(cm_buf *b, const char *s);
void cm_buf_putc(cm_buf *b, char c);
void cm_buf_put_json_string(cm_buf *b, const char *utf8, size_t len, bool *replaced);
void cm_buf_put_uint(cm_buf *b, uint32_t v);
void cm_buf_free(cm_buf *b);
/* appends the last len bytes of all that was put into another buffer, or as many as that has kept */
void cm_buf_put_end(cm_buf *b, const cm_buf *from, size_t len);
/* returns how many bytes of JSON one byte of UTF-8 takes */
size_t cm_json_cost(const char *utf8, size_t at);
/* returns how much of len borrowed bytes of UTF-8 to keep: at most max, never half a character */
size_t cm_clip(const char *utf8, size_t len, size_t max);

/* One JSON object, written member by member to the end of a borrowed buffer. Keys, texts and JSON are
   copied. The function that opened an object closes it; the buffer stays with its owner. */
typedef struct {
    cm_buf *out;
    bool has_member;
} cm_object;

cm_object cm_object_open(cm_buf *out);
void cm_object_key(cm_object *o, const char *key); /* the caller writes the value next */
void cm_object_word(cm_object *o, const char *key, const char *text);
void cm_object_text(cm_object *o, const char *key, const char *utf8, size_t len);
void cm_object_uint(cm_object *o, const char *key, uint32_t v);
void cm_object_bool(cm_object *o, const char *key, bool v);
void cm_object_json(cm_object *o, const char *key, const char *json, size_t len);
void cm_object_close(cm_object *o);

/* ---- json.c: values to JSON by the rules of the contract ------------------------------------ */

enum cm_json { CM_JSON_OK = 0, CM_JSON_TOO_DEEP = 1, CM_JSON_INTERRUPTED = 2 };

/* Appends the JSON of a borrowed value. With `strict` too deep a value is an error, without it becomes a
   lossy string. */
enum cm_json cm_json_write(JSContext *ctx, cm_buf *out, JSValueConst v, bool strict);
/* The same, not strict. `lossy` receives the elements of a JSON array, `outline` what the value looks like. */
enum cm_json cm_json_write_result(JSContext *ctx, cm_buf *out, JSValueConst v, cm_buf *lossy, cm_buf *outline);
int cm_json_init(JSContext *ctx);
/* takes what the prelude left for this part in the borrowed object that its files share */
void cm_json_take(JSContext *ctx, JSValueConst internal);
/* returns an intrinsic's method (owned) before any program could replace it */
JSValue cm_json_intrinsic(JSContext *ctx, const char *class, const char *method);

/* ---- outbox.c: messages on their way to the host --------------------------------------------- */

/* posts the complete message in the buffer, which is taken over and empty afterwards */
void cm_outbox_post(cm_buf *message);
void cm_outbox_clear(void);
/* returns an empty buffer for an item of output, which keeps no more of it than may be posted */
cm_buf cm_outbox_item(void);
/* post what such a buffer holds as an item, text with the level of a console method or NULL; one that is
   over-long is clipped in the middle. The buffers are borrowed. */
void cm_outbox_text(const cm_buf *text, const char *level);
void cm_outbox_json(const cm_buf *json);
/* posts an item that shows the host's content of this borrowed id, as an image or as a file */
void cm_outbox_content(const char *as, const char *id, size_t len);

/* ---- bridge.c: calls out, settlements in ------------------------------------------------------ */

/* makes one outgoing call with borrowed texts; returns an owned promise */
JSValue cm_bridge_call(JSContext *ctx, const char *method, const char *target, size_t target_len, int argc,
                       JSValueConst *argv);
JSValue cm_bridge_yield(JSContext *ctx, JSValueConst reason);
JSValue cm_bridge_timer(JSContext *ctx, JSValueConst callback, double ms, int argc, JSValueConst *argv);
void cm_bridge_clear_timer(JSContext *ctx, uint32_t id);
int cm_bridge_settle(JSContext *ctx, uint32_t id, enum cm_settle how, const char *json, size_t len);
void cm_bridge_close(void);            /* no call may be made any more */
void cm_bridge_reopen(JSContext *ctx); /* forgets all work: another program begins to count at 1 */
/* returns an owned value from the run descriptor, JS_UNDEFINED where there is none */
JSValue cm_bridge_lookup(JSContext *ctx, enum cm_lookup kind, const char *key, size_t len);
/* returns a value as it is, and in place of an exception an owned promise rejected with it */
JSValue cm_rejected(JSContext *ctx, JSValue v);

/* ---- tool_error.c: errors that calls caused ---------------------------------------------------- */

int cm_tool_error_init(JSContext *ctx);
/* makes an owned Error from the borrowed fields of a rejection; line 0: the place of the call is unknown */
JSValue cm_tool_error_new(JSContext *ctx, JSValueConst info, uint32_t id, int line, int column);
uint32_t cm_tool_error_call(JSContext *ctx, JSValueConst v);

/* ---- program.c: the life of one program ------------------------------------------------------- */

int cm_program_init(JSContext *ctx);
enum cm_status cm_program_start(JSContext *ctx, const char *text, size_t len, bool keeps);
void cm_program_forget(JSContext *ctx); /* it has ended, and its result was read */
enum cm_status cm_program_run(JSContext *ctx);
int cm_is_interrupted(void);              /* for loops of the engine that look themselves, see build/polls.py */
void cm_program_uncaught(JSContext *ctx); /* takes the pending exception as the run's failure */

/* ---- api.c, bare.c, files.c, views.c, web.c, text_codec.c: what programs see --------------------------------------------------- */

int cm_api_init(JSContext *ctx);
int cm_api_define_tools(JSContext *ctx, JSValueConst tools);
void cm_bare_mark(JSContext *ctx);  /* at boot, when the global object has what the language defines */
void cm_bare_start(JSContext *ctx); /* before the program: leaves it the language and console */
int cm_files_init(JSContext *ctx);
JSValue cm_file_content(JSContext *ctx, JSValueConst v); /* owned text of a file of API, else JS_UNDEFINED */
int cm_views_init(JSContext *ctx);
int cm_views_start(JSContext *ctx);
void cm_views_forget(JSContext *ctx); /* takes away what this run's descriptor gave */
int cm_web_init(JSContext *ctx);
void cm_web_clock_zero(void); /* for a program that is not the guest's first */
void cm_web_clock_start(void);
void cm_web_clock_pause(void);
/* give the bytes of a typed array, as many as it has now and none if it is detached; the second to write
   there. False with an exception pending. */
bool cm_web_view_bytes(JSContext *ctx, JSValueConst v, uint8_t **data, size_t *len);
bool cm_web_writable_bytes(JSContext *ctx, JSValueConst v, uint8_t **data, size_t *len);
JSValue cm_web_view_state(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv);
JSValue cm_web_ignored(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv);
void cm_text_codec_init(JSContext *ctx, JSValueConst global);
const char *cm_web_label(JSValueConst v); /* borrowed: a name for what has no JSON form, or NULL */
int cm_define_locked(JSContext *ctx, JSValueConst obj, const char *name, JSValue v);
int cm_freeze_deep(JSContext *ctx, JSValueConst v);
