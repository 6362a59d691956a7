/* One program in one VM: starts it, runs it until it is done, failed or idle, delivers, captures, restores. The other
   side is runtime/shim, which defines the block (cm_block_t in shim.h; tests compare both). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runner.h"

/* room in linear memory beside the heap: fragmentation at the end, growth in steps */
#define SLACK (8u << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define MAX_HOT 32
#define HOT_GAP (2 * CR_PAGE) /* one call for a few pages more is cheaper than two */
#define MAX_EXTENTS (1u << 20)

enum { FLAG_NAMESPACES = 1, FLAG_BARE = 2, FLAG_KEEPS = 4 };
enum { STATUS_IDLE, STATUS_DONE, STATUS_FAILED, STATUS_INTERRUPTED };
enum { STOP_ENGINE = 0, STOP_STACK = 5, STOP_LAST = 6 };

/* cm_block_t, word for word */
typedef struct {
    uint32_t stop, out_ptr, out_len, result_ptr, result_len, calls, timers, yields, returned, heap_used;
    uint32_t scratch_ptr, scratch_len, patch_len, extents_ptr, extents_len;
    volatile uint32_t interrupt;
    uint32_t memory_limit, output_limit, output_used, output_items, call_limit, message_limit;
} block_words;

typedef struct {
    uint32_t at, len;
} range;

static const cr_image *image;
static block_words *block;
static range hot[MAX_HOT];
static size_t hot_count;
cr_offer cr_offered; /* borrowed bytes of the request of this leg */

void cr_guest_new(const cr_image *of, uint32_t memory_bytes)
{
    image = of;
    cr_wasm_instantiate((uint64_t)image->memory_bytes + memory_bytes + SLACK);
    block = (block_words *)cr_guest_bytes(image->block, sizeof *block);
}

void cr_guest_drop(void)
{
    cr_wasm_drop();
    block = NULL;
}

static void set_limits(const cr_limits *limits)
{
    block->interrupt = 0;
    block->memory_limit = limits->memory_bytes;
    block->output_limit = limits->output_bytes;
    block->output_used = block->output_items = 0;
    block->call_limit = limits->pending_calls;
    block->message_limit = limits->message_bytes;
}

void cr_guest_configure(const cr_limits *limits, const cr_offer *offer)
{
    cr_offered = *offer;
    set_limits(limits);
}

static uint64_t seed(void)
{
    uint64_t made;
    cr_tape_random(&made, sizeof made);
    return made;
}

cr_span cr_guest_messages(void) { return (cr_span){cr_guest_bytes(block->out_ptr, block->out_len), block->out_len}; }

static cr_outcome stopped(enum cr_call how)
{
    uint32_t why = how == CR_STACK_EXHAUSTED ? STOP_STACK : block->stop;
    return (cr_outcome){
        .kind = CR_STOPPED, .messages = cr_guest_messages(), .stop = why > STOP_LAST ? STOP_ENGINE : why};
}

static cr_outcome outcome_of(uint32_t status)
{
    cr_outcome out = {.messages = cr_guest_messages()};
    switch (status) {
    case STATUS_IDLE:
        out.kind = CR_IDLE;
        out.returned = block->returned;
        out.calls = block->calls;
        out.timers = block->timers;
        out.yields = block->yields;
        return out;
    case STATUS_DONE:
    case STATUS_FAILED:
        out.kind = status == STATUS_DONE ? CR_DONE : CR_THREW;
        out.said = (cr_span){cr_guest_bytes(block->result_ptr, block->result_len), block->result_len};
        return out;
    case STATUS_INTERRUPTED:
        out.kind = CR_INTERRUPTED;
        return out;
    default:
        cr_die("the guest's status is %u", status);
    }
}

/* Puts input where the guest reads it and makes the call; two arguments follow address and length. */
static cr_outcome enter(enum cr_export which, cr_span input, uint32_t flags, uint64_t value)
{
    uint32_t at = image->scratch, status;
    enum cr_call how;
    if (input.len >= image->scratch_bytes) {
        uint64_t wanted = input.len;
        how = cr_wasm_call(CR_INBOX, &wanted, 1, &at);
        if (how != CR_RETURNED)
            return stopped(how);
    }
    char *room = cr_guest_bytes(at, input.len + 1);
    memcpy(room, input.data, input.len);
    room[input.len] = 0;
    uint64_t arguments[] = {at, input.len, flags, value};
    how = cr_wasm_call(which, arguments, which == CR_START ? 4 : 2, &status);
    return how == CR_RETURNED ? outcome_of(status) : stopped(how);
}

cr_outcome cr_guest_start(cr_span program)
{
    uint32_t flags = (cr_offered.has_namespaces ? FLAG_NAMESPACES : 0) | (cr_offered.bare ? FLAG_BARE : 0) |
                     (cr_offered.keeps ? FLAG_KEEPS : 0);
    return enter(CR_START, program, flags, seed());
}

cr_outcome cr_guest_deliver(cr_span settlements) { return enter(CR_DELIVER, settlements, 0, 0); }

void cr_guest_interrupt(void) { block->interrupt = 1; }

cr_span cr_guest_rest(void)
{
    if (cr_wasm_call(CR_REST, NULL, 0, NULL) != CR_RETURNED)
        cr_die("the guest trapped on its way to rest");
    block_words said = *block;
    return (cr_span){cr_guest_bytes(said.scratch_ptr, said.patch_len), said.patch_len};
}

cr_span cr_guest_capture(void)
{
    static cr_extent *extents; /* owned; grows and stays */
    if (cr_wasm_call(CR_CAPTURE, NULL, 0, NULL) != CR_RETURNED)
        cr_die("the guest trapped in a capture");
    block_words said = *block;
    uint32_t count = said.extents_len;
    if (count > MAX_EXTENTS)
        cr_die("%u capture ranges", count);
    const char *plan = cr_guest_bytes(said.extents_ptr, (uint64_t)count * 8);
    extents = realloc(extents, (count + 1) * sizeof *extents);
    if (!extents)
        cr_die("no memory for a capture");
    uint32_t before = 0; /* ranges must ascend without overlap, or their sum could be anything */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = cr_u32(plan + 8 * i), end = cr_u32(plan + 8 * i + 4);
        if (start % CR_PAGE || end % CR_PAGE || start >= end || start < before)
            cr_die("capture range %#x-%#x", start, end);
        cr_guest_bytes(start, end - start);
        before = end;
        extents[i] = (cr_extent){start / CR_PAGE, (end - start) / CR_PAGE};
    }
    cr_span patch = {cr_guest_bytes(said.scratch_ptr, said.patch_len), said.patch_len};
    return cr_delta_pack(image->build_id, cr_wasm_size(), patch, extents, count, cr_guest_base());
}

static void populate(uint64_t at, uint64_t len)
{
    /* a page fault costs microseconds, and a thousand pages in one call not much more; old kernels refuse */
    madvise(cr_guest_bytes(at, len), len, MADV_POPULATE_WRITE);
}

static const char *restore_into(const cr_delta *found, const cr_limits *limits, bool *too_large)
{
    *too_large = true;
    if (!cr_wasm_grow_to(found->memory_bytes))
        return "the memory limit forbids it";
    *too_large = false;
    if (found->patch.len > image->scratch_bytes)
        return "its patch is too large";
    for (uint32_t i = 0; i < found->count; i++) {
        uint64_t at = (uint64_t)found->extents[i].first * CR_PAGE, len = (uint64_t)found->extents[i].pages * CR_PAGE;
        populate(at, len);
        const char *why = cr_delta_read_extent(cr_guest_bytes(at, len), len);
        if (why)
            return why;
    }
    memcpy(cr_guest_bytes(image->scratch, found->patch.len), found->patch.data, found->patch.len);
    uint64_t arguments[] = {found->patch.len, seed()};
    uint32_t refused;
    if (cr_wasm_call(CR_RESTORE, arguments, 2, &refused) != CR_RETURNED || refused)
        return "its patch is damaged";
    *too_large = block->heap_used > limits->memory_bytes;
    if (*too_large)
        return "it holds more than the memory limit of today";
    set_limits(limits);
    return NULL;
}

const char *cr_guest_restore(cr_span delta, const cr_limits *limits, bool *too_large)
{
    cr_delta found;
    *too_large = false;
    const char *why = cr_delta_open(&found, delta, image->build_id);
    if (!why)
        why = restore_into(&found, limits, too_large);
    cr_delta_close();
    return why;
}

/* ---- pages that most programs write ---- */

/* uses what most programs use: closures, objects, strings, a call in flight, its settlement */
static const char sample[] = "const seen = { list: [1, 'a'], at: new Date(0) };\n"
                             "const call = async (id) => { const r = await tools.call(id, { id, seen });"
                             " return { ...r, n: String(id) }; };\n"
                             "const all = await Promise.all(['a', 'b'].map((id) => call(id)));\n"
                             "return all.map((r) => r.n).join(`-${all.length}`);";
static const char settled[] = "\1\0\0\0\0\0\0\0\x0c\0\0\0{\"value\": 1}\0\0\0\0"
                              "\2\0\0\0\0\0\0\0\x0e\0\0\0{\"value\": [2]}\0\0";

static void note_hot(uint32_t at)
{
    range *last = hot_count ? &hot[hot_count - 1] : NULL;
    if (last && (at - (last->at + last->len) <= HOT_GAP || hot_count == MAX_HOT))
        last->len = at + CR_PAGE - last->at;
    else
        hot[hot_count++] = (range){at, CR_PAGE};
}

void cr_guest_find_hot(void)
{
    size_t size = cr_wasm_size();
    char *before = malloc(size);
    if (!before)
        cr_die("no memory to look for pages");
    memcpy(before, cr_guest_base(), size);
    cr_limits limits = {64u << 20, 64u << 10, 16, 16u << 20};
    cr_guest_configure(&limits, &(cr_offer){.complete = true});
    cr_guest_start((cr_span){sample, sizeof sample - 1});
    cr_guest_deliver((cr_span){settled, sizeof settled - 1});
    for (size_t at = 0; at < size; at += CR_PAGE)
        if (memcmp(before + at, cr_guest_base() + at, CR_PAGE))
            note_hot((uint32_t)at);
    free(before);
}

void cr_guest_warm(void)
{
    for (size_t i = 0; i < hot_count; i++)
        populate(hot[i].at, hot[i].len);
}
