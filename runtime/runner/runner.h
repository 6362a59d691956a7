/* What the parts of the runner share: one program that is a zygote, and after a fork one of its workers.

   A process has one thread and at most one guest at a time, so state is static. Ownership words in comments are
   those of the shim: what is "owned" the receiver frees, what is "borrowed" it does not, of what is "copied" the
   callee keeps its own copy. Whatever a guest says (addresses, lengths, statuses, JSON) is untrusted: it is only
   read through cr_guest_bytes, which compares with the size of its memory. The host is trusted; a message of it
   that makes no sense ends the process all the same. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CR_PAGE 4096u

/* Borrowed bytes. */
typedef struct {
    const char *data;
    size_t len;
} cr_span;

/* Ends the process with status 1; before confinement the host reads the message from its standard error. */
_Noreturn void cr_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same where only the system can be at fault: what was tried, and errno. */
_Noreturn void cr_die_errno(const char *what);

uint32_t cr_u32(const void *at);
uint64_t cr_now_us(void); /* monotonic */
void cr_random(void *into, size_t len);

/* ---- frames.c: whole frames on a socket, blocking ------------------------------------------------------- */

typedef struct {
    cr_span head, tail; /* borrowed until the next receive */
} cr_frame;

void cr_line_use(int descriptor);
/* The next frame; false when the host has closed its end. soon: it may come at once, so look before sleeping. */
bool cr_line_receive(cr_frame *out, bool soon);
void cr_line_attend(void); /* a request follows at once */

/* One frame out: begin, put text and JSON into the head, say how long the tail is, put the tail, end.
   Nothing here allocates, so that a signal handler may answer; is_busy says whether it has to wait. */
void cr_head_begin(void);
void cr_head_put(const void *data, size_t len);
void cr_head_text(const char *text);
void cr_head_uint(uint64_t value);
void cr_head_string(cr_span utf8,
                    size_t most); /* as a JSON string: at most so many characters, U+FFFD for what is not one */
void cr_tail_begin(size_t len);   /* sends the head; exactly len bytes must follow */
void cr_tail_put(const void *data, size_t len);
void cr_frame_end(void);
bool cr_line_is_busy(void);

/* ---- tape.c: clocks and randomness, as they are or as they were ------------------------------------------- */

void cr_tape_set(uint8_t mode, cr_span tail); /* 0 off, 1 write down, 2 read: lengths of three strips, then those */
double cr_tape_now(bool monotonic);           /* milliseconds */
void cr_tape_random(void *into, size_t len);
void cr_tape_report(void); /* puts what was written down since the last time into the head */

/* ---- json.c: looks at JSON without decoding it ------------------------------------------------------------ */

#define CR_MAX_PARTS 250000u   /* as in parts.py */
#define CR_MAX_MESSAGES 20000u /* as in batches.py, as are the next two */
#define CR_MAX_MESSAGE_BYTES (48u << 20)
#define CR_INLINE_BYTES (64u << 10)

/* How many lists, objects, keys, strings and numbers the text would be. Any bytes. */
uint64_t cr_json_parts(cr_span json);

/* Cuts what a guest sent (objects separated by commas) into chunks: one large message, or several small. */
typedef struct {
    cr_span rest;
    uint32_t messages; /* seen so far */
} cr_batch;

typedef struct {
    cr_span bytes;
    bool is_list; /* small messages with commas between them: brackets go around it */
} cr_chunk;

enum cr_batch_step { CR_BATCH_CHUNK, CR_BATCH_END, CR_BATCH_TORN, CR_BATCH_TOO_MUCH };

cr_batch cr_batch_of(cr_span messages);
enum cr_batch_step cr_batch_next(cr_batch *batch, cr_chunk *out);

/* ---- source.c: a first look at a program's text ------------------------------------------------------------ */

/* Whether the text might be something else than a program that uses no modules: then a parser has to say. */
bool cr_source_is_doubtful(cr_span text);

/* ---- wasm.c: the engine, and one instance of the guest ------------------------------------------------------- */

/* Where things are in the image; from its manifest, by the host. */
typedef struct {
    uint8_t build_id[16];
    uint8_t sha256[32];
    uint32_t block, memory_bytes, scratch, scratch_bytes;
    const char *wasm;    /* path of the module */
    const char *library; /* path of wasmtime's shared library */
    const char *suffix;  /* of the names in the cache: version and machine */
} cr_image;

void cr_wasm_open(const cr_image *image);
/* Loads machine code from a file that was checked; false if it is for another machine or version. */
bool cr_wasm_load(const char *path);
/* Compiles the module. With serialized, the caller owns that copy of the code: free. alone: without threads. */
bool cr_wasm_compile(cr_span wasm, bool alone, char **serialized, size_t *len);
void cr_wasm_link(void);
void cr_wasm_instantiate(uint64_t memory_limit);
void cr_wasm_drop(void);

enum cr_export { CR_START, CR_DELIVER, CR_CAPTURE, CR_RESTORE, CR_INBOX, CR_REST, CR_EXPORTS };
enum cr_call { CR_RETURNED, CR_TRAPPED, CR_STACK_EXHAUSTED };
/* One call of an export; its 32-bit result, if it has one, is in *result. */
enum cr_call cr_wasm_call(enum cr_export which, const uint64_t *arguments, size_t count, uint32_t *result);

uint64_t cr_wasm_size(void);
bool cr_wasm_grow_to(uint64_t bytes);
/* Linear memory at an address the guest named; ends the process if it has no such memory. */
char *cr_guest_bytes(uint64_t at, uint64_t len);
char *cr_guest_base(void);

/* ---- guest.c: one program in one VM --------------------------------------------------------------------------- */

typedef struct {
    uint32_t memory_bytes, output_bytes, pending_calls, message_bytes;
} cr_limits;

/* What a run offers its program. Answers are borrowed bytes of the request that brought them: a count, then each. */
typedef struct {
    bool has_namespaces, bare, complete, keeps; /* keeps: the program is one of a world */
    uint32_t answers;
    cr_span packed;
} cr_offer;

enum cr_outcome_kind { CR_IDLE, CR_DONE, CR_THREW, CR_INTERRUPTED, CR_STOPPED };

/* How a guest came to rest. The spans are borrowed linear memory, until the guest runs again. */
typedef struct {
    enum cr_outcome_kind kind;
    cr_span messages;
    cr_span said; /* the result or the failure */
    bool returned;
    uint32_t calls, timers, yields;
    uint32_t stop;
} cr_outcome;

void cr_guest_new(const cr_image *image, uint32_t memory_bytes);
void cr_guest_drop(void);
void cr_guest_find_hot(void); /* once in a zygote, with a fresh guest: which pages most programs write */
void cr_guest_warm(void);
void cr_guest_configure(const cr_limits *limits, const cr_offer *offer);
cr_outcome cr_guest_start(cr_span program);
cr_outcome cr_guest_deliver(cr_span settlements);
void cr_guest_interrupt(void);   /* from a signal handler too */
cr_span cr_guest_messages(void); /* what it has sent so far; from a signal handler too */
/* Leaves the world of a program that is done; the names in it, borrowed until the guest is captured or runs. */
cr_span cr_guest_rest(void);
/* The delta of an idle guest; owned by the guest, until the next capture. */
cr_span cr_guest_capture(void);
/* Puts a captured state into a fresh guest. Returns NULL, or why not; then *too_large says whether for its size. */
const char *cr_guest_restore(cr_span delta, const cr_limits *limits, bool *too_large);

/* The import lookup: the answer to a guest's question, or false. In worker.c, because it asks the host. */
bool cr_look_up(const cr_offer *offer, uint32_t kind, cr_span key, cr_span *answer);

/* ---- delta.c: the bytes of a paused guest -------------------------------------------------------------------- */

typedef struct {
    uint32_t first, pages;
} cr_extent;

/* Packs patch and extents of linear memory; owned by delta.c, until the next call. */
cr_span cr_delta_pack(const uint8_t build_id[16], uint64_t memory_bytes, cr_span patch, const cr_extent *extents,
                      uint32_t count, const char *memory);

/* A delta whose head was read. open fills it; then read_extent once for each of them, in order. */
typedef struct {
    uint64_t memory_bytes;
    cr_span patch;            /* borrowed from delta.c until close */
    const cr_extent *extents; /* the same */
    uint32_t count;
} cr_delta;

/* Each returns NULL, or why these bytes are no delta for this build. */
const char *cr_delta_open(cr_delta *out, cr_span data, const uint8_t build_id[16]);
const char *cr_delta_read_extent(char *into, size_t len);
void cr_delta_close(void);

/* ---- report.c: what is told of a guest ---- */

typedef struct {
    uint64_t prepare_us, restore_us, run_us;
} cr_spent;

/* Tells the host; true if the guest now waits for calls, which may be answered soon. */
bool cr_report(const cr_outcome *outcome, const cr_spent *spent);
/* Tells that the guest did not stop at its deadline, and what it had sent; from a signal handler. */
void cr_report_overdue(void);

/* ---- watchdog.c: stops a guest that computes past its deadline ----------------------------------------------- */

/* on_overdue runs in a signal handler while the guest cannot be stopped: it must end the process. */
void cr_watchdog_start(void (*on_overdue)(void));
void cr_watchdog_arm(uint64_t deadline_us);
void cr_watchdog_enter(void);
void cr_watchdog_leave(void);

/* ---- confine.c and filter.c: what this process may still do ---------------------------------------------------- */

#define CR_MAX_LAYERS 16

typedef struct {
    const char *name;
    const char *status; /* "active", "missing" or "failed" */
    char detail[200];
} cr_layer;

typedef struct {
    cr_layer items[CR_MAX_LAYERS];
    size_t count;
} cr_layers;

void cr_prepare_zygote(cr_layers *out, int keep, pid_t parent);
void cr_confine_zygote(cr_layers *out);
void cr_confine_worker(cr_layers *out, uint64_t data_bytes, pid_t parent);
void cr_only_mortal(cr_layers *out, pid_t parent);
uint64_t cr_writable_bytes(void);
void cr_head_layers(const cr_layers *layers); /* as a JSON array */

/* Each installs a filter of system calls for this process; 0, or -1 and errno. */
int cr_filter_zygote(void);
int cr_filter_worker(pid_t own);

/* ---- compiled.c: machine code in a private folder ------------------------------------------------------------- */

/* Loads the guest, from the cache or by compiling it, which calls on_compile first. */
void cr_compiled_load(const cr_image *image, const char *folder, bool trusted, void (*on_compile)(void));
bool cr_is_private(const char *folder);

void cr_blake2b(cr_span data, uint8_t out[32]);
void cr_sha256(cr_span data, uint8_t out[32]);

/* ---- worker.c and zygote.c -------------------------------------------------------------------------------------- */

/* The life of a worker, with a guest that is already there. */
void cr_worker_serve(const cr_image *image, uint32_t memory_bytes, const cr_layers *layers);
void cr_zygote_run(const cr_image *image, int control, pid_t host);
