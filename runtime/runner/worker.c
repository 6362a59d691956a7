/* The worker: runs one leg of one run at a time, for the host at the other end of its socket.

   It forwards and decides nothing: what a guest sends goes to the host unread, in JSON; the host's orders have a fixed
   layout (wire.py writes it). The guest exists before its program arrives. Any failure here ends the process, and the
   host fails that one run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner.h"

enum { ATTEND = 1, START, RESUME, DELIVER, CAPTURE, RESET, ANSWER, TAPE = 10 };
enum { HAS_NAMESPACES = 1, BARE = 2, COMPLETE = 4, TYPESCRIPT = 8, CHECKED = 16, KEEPS = 32 };
enum { LEG_BYTES = 40, ANSWER_BYTES = 12 };
#define MAX_NAMES (64u << 10)
#define MAX_KEY (64u << 10) /* no tool, server or path has a longer name: answered without asking */

typedef struct {
    uint8_t flags;
    uint64_t budget_us, late_us;
    cr_limits limits;
    uint32_t settlements_bytes;
    cr_offer offer;
    cr_span program;
} leg_order;

static const cr_image *image;
static uint32_t most_memory;
static uint64_t leg_deadline, leg_late;
static bool expects_soon; /* a request is announced, or the guest waits for calls, which may be quick */
static char *offered;     /* owned; the answers that came with the leg */

/* ---- orders ---- */

static leg_order read_leg(cr_span head)
{
    if (head.len < LEG_BYTES)
        cr_die("an order of %zu bytes", head.len);
    const char *at = head.data;
    leg_order order = {
        .flags = (uint8_t)at[1],
        .budget_us = cr_u32(at + 4) * 1000ull,
        .late_us = cr_u32(at + 8) * 1000ull,
        .limits = {cr_u32(at + 12), cr_u32(at + 16), cr_u32(at + 20), cr_u32(at + 24)},
        .settlements_bytes = cr_u32(at + 28),
    };
    uint32_t answers = cr_u32(at + 32), packed = cr_u32(at + 36);
    if (packed > head.len - LEG_BYTES)
        cr_die("an offer of %u bytes", packed);
    order.offer = (cr_offer){.has_namespaces = order.flags & HAS_NAMESPACES,
                             .bare = order.flags & BARE,
                             .complete = order.flags & COMPLETE,
                             .keeps = order.flags & KEEPS,
                             .answers = answers,
                             .packed = {at + LEG_BYTES, packed}};
    order.program = (cr_span){at + LEG_BYTES + packed, head.len - LEG_BYTES - packed};
    return order;
}

static bool find_offered(const cr_offer *offer, uint32_t kind, cr_span key, cr_span *answer)
{
    const char *at = offer->packed.data, *end = at + offer->packed.len;
    for (uint32_t i = 0; i < offer->answers; i++) {
        if ((size_t)(end - at) < ANSWER_BYTES)
            cr_die("an offer is cut off");
        uint32_t its_kind = cr_u32(at), key_len = cr_u32(at + 4), json_len = cr_u32(at + 8);
        at += ANSWER_BYTES;
        if (key_len > (size_t)(end - at) || json_len > (size_t)(end - at) - key_len)
            cr_die("an offer is cut off");
        if (its_kind == kind && key_len == key.len && !memcmp(at, key.data, key_len)) {
            *answer = (cr_span){at + key_len, json_len};
            return true;
        }
        at += (size_t)key_len + json_len;
    }
    return false;
}

bool cr_look_up(const cr_offer *offer, uint32_t kind, cr_span key, cr_span *answer)
{
    if (find_offered(offer, kind, key, answer))
        return true;
    if (offer->complete || key.len > MAX_KEY)
        return false;
    cr_head_begin();
    cr_head_text("{\"type\":\"lookuprequest\",\"kind\":");
    cr_head_uint(kind);
    cr_head_text(",\"key\":");
    cr_head_string(key, SIZE_MAX);
    cr_head_text("}");
    cr_tail_begin(0);
    cr_frame_end();
    cr_frame frame;
    if (!cr_line_receive(&frame, false))
        cr_die("the host is gone");
    if (frame.head.len != 2 || frame.head.data[0] != ANSWER)
        cr_die("the host did not answer the lookup");
    *answer = frame.tail;
    return frame.head.data[1];
}

/* ---- answers ---- */

/* In the watchdog's handler. */
static void answer_and_exit(void)
{
    cr_report_overdue();
    _exit(0);
}

static void say(const char *head)
{
    cr_head_begin();
    cr_head_text(head);
    cr_tail_begin(0);
    cr_frame_end();
}

/* ---- legs ---- */

static void ready(const cr_layers *layers)
{
    cr_watchdog_arm(UINT64_MAX);
    expects_soon = false;
    cr_head_begin();
    cr_head_text("{\"type\":\"ready\",\"layers\":");
    cr_head_layers(layers);
    cr_head_text("}");
    cr_tail_begin(0);
    cr_frame_end();
}

static void begin(leg_order *order)
{
    leg_deadline = cr_now_us() + order->budget_us;
    leg_late = order->late_us;
    cr_watchdog_arm(leg_deadline);
    if (order->limits.memory_bytes > most_memory)
        cr_die("%u bytes for a guest that has room for %u", order->limits.memory_bytes, most_memory);
    free(offered);
    offered = malloc(order->offer.packed.len + 1);
    if (!offered)
        cr_die("no memory for an offer");
    memcpy(offered, order->offer.packed.data, order->offer.packed.len);
    order->offer.packed.data = offered;
    cr_guest_configure(&order->limits, &order->offer);
}

static void refuse_restore(const char *why, bool too_large)
{
    cr_head_begin();
    cr_head_text("{\"type\":\"restorerefused\",\"code\":\"");
    cr_head_text(too_large ? "memory_limit_exceeded" : "snapshot_restore_failed");
    cr_head_text("\",\"message\":");
    cr_head_string((cr_span){why, strlen(why)}, SIZE_MAX);
    cr_head_text("}");
    cr_tail_begin(0);
    cr_frame_end();
}

/* Starts a program, in a fresh guest or in a world: the delta of a guest at rest. */
static void start(leg_order order, cr_span world)
{
    uint64_t began = cr_now_us();
    bool checked = order.flags & CHECKED;
#ifdef CR_PROBES /* a build for tests of confinement, from inside */
    bool cr_probe(cr_span program);
    if (cr_probe(order.program))
        return;
#endif
    if (!checked && (order.flags & TYPESCRIPT || cr_source_is_doubtful(order.program))) {
        say("{\"type\":\"doubtful\"}");
        return;
    }
    begin(&order);
    uint64_t prepared = cr_now_us();
    bool too_large;
    const char *why = world.len ? cr_guest_restore(world, &order.limits, &too_large) : NULL;
    if (why) {
        refuse_restore(why, too_large);
        return;
    }
    uint64_t restored = cr_now_us();
    cr_watchdog_enter();
    cr_outcome outcome = cr_guest_start(order.program);
    cr_watchdog_leave();
    expects_soon = cr_report(&outcome, &(cr_spent){prepared - began, restored - prepared, cr_now_us() - restored});
}

/* What came late may be computed with for a while, so that a small computation is no timeout. */
static void deliver(cr_span settlements, uint64_t restore_us)
{
    uint64_t now = cr_now_us(), late = now < leg_deadline ? now + leg_late : leg_deadline + leg_late;
    cr_watchdog_arm(late > leg_deadline ? late : leg_deadline);
    cr_watchdog_enter();
    cr_outcome outcome = cr_guest_deliver(settlements);
    cr_watchdog_leave();
    expects_soon = cr_report(&outcome, &(cr_spent){0, restore_us, cr_now_us() - now});
}

static void resume(leg_order order, cr_span tail)
{
    uint64_t began = cr_now_us();
    bool too_large;
    if (order.settlements_bytes > tail.len)
        cr_die("%u bytes of settlements in %zu", order.settlements_bytes, tail.len);
    begin(&order);
    cr_span delta = {tail.data + order.settlements_bytes, tail.len - order.settlements_bytes};
    const char *why = cr_guest_restore(delta, &order.limits, &too_large);
    if (!why) {
        deliver((cr_span){tail.data, order.settlements_bytes}, cr_now_us() - began);
        return;
    }
    refuse_restore(why, too_large);
}

static void capture(uint32_t most, bool at_rest)
{
    static char names[MAX_NAMES];
    uint64_t began = cr_now_us();
    cr_span told = {names, 0};
    if (at_rest) {
        cr_span found = cr_guest_rest();
        told.len = found.len <= sizeof names ? found.len : 0;
        memcpy(names, found.data, told.len);
    }
    cr_span delta = cr_guest_capture();
    cr_head_begin();
    cr_head_text("{\"type\":\"captured\",\"bytes\":");
    cr_head_uint(delta.len);
    cr_head_text(",\"capture_us\":");
    cr_head_uint(cr_now_us() - began);
    if (at_rest) {
        cr_head_text(",\"names\":[");
        cr_head_put(told.data, told.len);
        cr_head_text("]");
    }
    cr_tape_report();
    cr_head_text("}");
    if (delta.len > most)
        delta.len = 0;
    cr_tail_begin(delta.len);
    cr_tail_put(delta.data, delta.len);
    cr_frame_end();
}

static void obey(const cr_frame *frame)
{
    cr_span head = frame->head;
    if (!head.len)
        cr_die("an empty order");
    switch (head.data[0]) {
    case ATTEND:
        expects_soon = true;
        cr_line_attend();
        return;
    case START:
        start(read_leg(head), frame->tail);
        return;
    case RESUME:
        resume(read_leg(head), frame->tail);
        return;
    case DELIVER:
        deliver(frame->tail, 0);
        return;
    case CAPTURE:
        if (head.len != 8)
            cr_die("an order of %zu bytes", head.len);
        capture(cr_u32(head.data + 4), head.data[1]);
        return;
    case TAPE:
        if (head.len != 2)
            cr_die("an order of %zu bytes", head.len);
        cr_tape_set((uint8_t)head.data[1], frame->tail);
        return;
    case RESET:
        cr_tape_set(0, (cr_span){NULL, 0});
        cr_guest_drop();
        cr_guest_new(image, most_memory);
        cr_guest_warm();
        ready(&(cr_layers){.count = 0});
        return;
    default:
        cr_die("an order of kind %d", head.data[0]);
    }
}

void cr_worker_serve(const cr_image *its_image, uint32_t memory_bytes, const cr_layers *layers)
{
    image = its_image;
    most_memory = memory_bytes;
    cr_watchdog_start(answer_and_exit);
    ready(layers);
    cr_frame frame;
    while (cr_line_receive(&frame, expects_soon))
        obey(&frame);
}
