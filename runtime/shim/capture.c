/* What a program changed, as a patch against the pristine image. The image carries a second copy of
   its own state to compare with; comparing here, at the speed of compiled code, costs a tenth of what
   it costs outside. Heap beyond the image is not copied: the host reads those extents in place.

   A patch is a sequence of (gap, length, bytes): gap from the end of the previous span, both numbers
   LEB128. Neither the copy nor the scratch memory is part of the state. */
#include <string.h>
#include "shim.h"

#define MAX_RANGES 64    /* stretches of state at the end of boot */
#define MAX_EXTENTS 4096 /* in the scratch memory, behind the patch */
#define JOIN 12          /* spans closer than this become one */

typedef struct {
    char *start, *end;
} range;

static range boot[MAX_RANGES];
static uint32_t boot_len;
static char *pristine;     /* the bytes of boot[0], boot[1] … */
static unsigned char *out; /* the end of the patch being written */
static char *last_end;     /* end of the last span */
static range (*extents)[MAX_EXTENTS];
static size_t total;

static void count_range(char *start, char *end) { total += (size_t)(end - start); }

static void record_range(char *start, char *end)
{
    if (boot_len == MAX_RANGES)
        cm_stop(CM_STOP_ABORT); /* at build time: raise MAX_RANGES */
    boot[boot_len++] = (range){start, end};
}

void cm_capture_seal(void)
{
    cm_alloc_each_range(count_range);
    /* the page map may have grown by the reservation; a patch is never twice the state */
    size_t copy = total + 64 * 1024, patch = 2 * copy;
    pristine = cm_alloc_reserve(copy + patch + sizeof *extents);
    cm_shared.scratch_ptr = (cm_address)(pristine + copy);
    cm_shared.scratch_len = (uint32_t)patch;
    extents = (range(*)[MAX_EXTENTS])(pristine + copy + patch);
    cm_shared.extents_ptr = (cm_address)extents;
    cm_alloc_each_range(record_range);
    cm_alloc_seal();
    char *to = pristine;
    for (uint32_t i = 0; i < boot_len; i++) {
        memcpy(to, boot[i].start, (size_t)(boot[i].end - boot[i].start));
        to += boot[i].end - boot[i].start;
    }
}

static void put_number(uint32_t v)
{
    while (v >= 0x80) {
        *out++ = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    *out++ = (unsigned char)v;
}

static void put_span(char *start, char *end)
{
    put_number((uint32_t)(start - last_end));
    put_number((uint32_t)(end - start));
    memcpy(out, start, (size_t)(end - start));
    out += end - start;
    last_end = end;
}

static uint64_t word_at(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Writes spans for [start, end) where it differs from `before`; NULL stands for zeros. */
static void diff(char *start, char *end, const char *before)
{
    char *span = NULL, *span_end = NULL, *p = start;
    while (p < end) {
        if (end - p >= 64 && (before || !span)) { /* the common case: nothing changed here */
            uint64_t any = 0;
            for (int i = 0; i < 64; i += 8)
                any |= word_at(p + i) ^ (before ? word_at(before + (p - start) + i) : 0);
            if (!any) {
                p += 64;
                continue;
            }
        }
        char *stop = end - p < 64 ? end : p + 64;
        for (; p < stop; p++) {
            if (*p == (before ? before[p - start] : 0))
                continue;
            if (span && p - span_end >= JOIN) {
                put_span(span, span_end);
                span = NULL;
            }
            if (!span)
                span = p;
            span_end = p + 1;
        }
    }
    if (span)
        put_span(span, span_end);
}

static void add_extent(char *start, char *end)
{
    uint32_t n = cm_shared.extents_len;
    /* out of room: the last one swallows the gap, which costs bytes but loses nothing */
    if (n == MAX_EXTENTS) {
        (*extents)[n - 1].end = end;
        return;
    }
    (*extents)[n] = (range){start, end};
    cm_shared.extents_len++;
}

/* Splits a stretch of today's state at the borders of the boot ranges. */
static void diff_range(char *start, char *end)
{
    const char *copy = pristine;
    for (uint32_t i = 0; i < boot_len && start < end; i++) {
        char *a = boot[i].start, *b = boot[i].end;
        if (start < b && end > a) {
            if (start < a) {
                if (cm_alloc_in_heap(start))
                    add_extent(start, a);
                else
                    diff(start, a, NULL);
                start = a;
            }
            char *stop = end < b ? end : b;
            diff(start, stop, copy + (start - a));
            start = stop;
        }
        copy += b - a;
    }
    if (start < end) {
        if (cm_alloc_in_heap(start))
            add_extent(start, end);
        else
            diff(start, end, NULL);
    }
}

void cm_capture_diff(void)
{
    unsigned char *patch = (unsigned char *)cm_shared.scratch_ptr;
    cm_shared.extents_len = 0;
    cm_shared.patch_len = 0;
    out = patch;
    last_end = NULL;
    cm_alloc_each_range(diff_range);
    cm_shared.patch_len = (uint32_t)(out - patch);
}

static bool get_number(const unsigned char **p, const unsigned char *end, uint32_t *v)
{
    *v = 0;
    for (int shift = 0; *p < end && shift < 35; shift += 7) {
        unsigned char c = *(*p)++;
        *v |= (uint32_t)(c & 0x7F) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

bool cm_capture_apply(uint32_t len)
{
    const unsigned char *p = (const unsigned char *)cm_shared.scratch_ptr, *end = p + len;
    uint64_t at = 0, limit = (uint64_t)(uintptr_t)pristine; /* a patch only reaches below the copy */
    if (len > cm_shared.scratch_len)
        return false;
    while (p < end) {
        uint32_t gap, size;
        if (!get_number(&p, end, &gap) || !get_number(&p, end, &size) || size > (size_t)(end - p))
            return false;
        at += gap;
        if (at + size > limit)
            return false;
        memcpy((void *)(uintptr_t)at, p, size);
        p += size;
        at += size;
    }
    return true;
}
