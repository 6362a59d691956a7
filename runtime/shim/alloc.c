/* The guest's only allocator: 4 KiB pages, with slabs for blocks of up to 3 KiB. QuickJS carves its
   small objects out of one-page arenas of its own, so most requests here are exactly one page.

   Made for snapshots: the page map says which pages are in use, and free pages are left out of a
   capture whatever they contain. Going over the heap limit stops the guest; malloc never fails
   softly, because a program could catch that. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "shim.h"

#define MAX_HEAP ((1u << 30) + (16u << 20)) /* the largest configurable heap, and the booted image */
#define MAX_PAGES (MAX_HEAP / CM_PAGE)

/* A page map entry: kind in the low bits, number above. FREE and RUN keep their length in pages in
   their first and last entry; every page of a SLAB keeps its distance from the slab's first page. */
enum { NONE = 0, FREE = 1, RUN = 2, SLAB = 3 };
#define ENTRY(kind, n) ((uint32_t)(n) << 2 | (kind))
#define KIND(e) ((e) & 3)
#define NUMBER(e) ((e) >> 2)

#define SIZES 19 /* of free runs, by powers of two: the largest holds MAX_PAGES */
#define SLAB_PAGES 4
#define SLAB_BYTES (SLAB_PAGES * CM_PAGE)
#define SLAB_MAX 3072

typedef struct slab {
    struct slab *next, *prev; /* slabs of the class with room */
    uint16_t class, used, capacity;
    uint16_t free;  /* index + 1 of the first freed block; blocks link by index */
    uint16_t fresh; /* blocks from here on were never handed out */
} slab;
#define SLAB_HEADER 32

static const uint16_t class_size[] = {
    64, 128, 256, 512, 640, 768, 896, 1024, 1152, 1280, 1536, 1792, 2048, 2560, SLAB_MAX,
};
#define CLASSES (sizeof class_size / sizeof class_size[0])

static slab *partial[CLASSES];
static uint32_t page_map[MAX_PAGES];
static uint32_t heap_pages; /* pages that linear memory has for the heap */
static uint32_t used_pages;
static uint32_t boot_pages;            /* of those, in use when boot ended */
static uint32_t first_free[SIZES];     /* no free run of at least 1 << i pages starts below first_free[i] */
static uint32_t touched;               /* pages from here on were never handed out: still zero */
static uint32_t reserved = UINT32_MAX; /* first page of the run that holds no state */

#ifdef __wasm__
extern char __heap_base, __global_base, __data_end;
static char *heap_base(void) { return (char *)(((uintptr_t)&__heap_base + CM_PAGE - 1) & ~(uintptr_t)(CM_PAGE - 1)); }

static uint32_t page_of(const void *p) { return (uint32_t)(((const char *)p - heap_base()) / CM_PAGE); }
static char *address_of(uint32_t page) { return heap_base() + (size_t)page * CM_PAGE; }

/* Writes the first and the last entry of n pages from p on; what is in between means nothing. */
static void mark(int kind, uint32_t p, uint32_t n) { page_map[p] = page_map[p + n - 1] = ENTRY(kind, n); }

/* Frees n pages from p on, together with free runs on either side. */
static void set_free(uint32_t p, uint32_t n)
{
    if (p + n < heap_pages && KIND(page_map[p + n]) == FREE)
        n += NUMBER(page_map[p + n]);
    if (p > 0 && KIND(page_map[p - 1]) == FREE) {
        n += NUMBER(page_map[p - 1]);
        p -= NUMBER(page_map[p - 1]);
    }
    mark(FREE, p, n);
    /* a search begins at the start of a run: none may be left inside this one */
    for (unsigned i = 0; i < SIZES; i++)
        if (p < first_free[i] && (n >> i || first_free[i] < p + n))
            first_free[i] = p;
}

/* Makes room for n more pages; memory grows in steps so that small programs ask rarely. */
static void grow(uint32_t n)
{
    uint32_t have = __builtin_wasm_memory_size(0) * 16 - (uint32_t)((uintptr_t)heap_base() / CM_PAGE);
    if (have < heap_pages + n) {
        uint32_t step = heap_pages / 8;
        step = step < 64 ? 64 : step > 1024 ? 1024 : step;
        uint32_t more = heap_pages + n - have;
        more = ((more > step ? more : step) + 15) / 16;
        if (have + more * 16 > MAX_PAGES || __builtin_wasm_memory_grow(0, more) == (size_t)-1)
            cm_stop(CM_STOP_MEMORY);
        have += more * 16;
    }
    uint32_t start = heap_pages;
    heap_pages = have;
    set_free(start, have - start);
}

static uint32_t span(uint32_t p)
{
    uint32_t e = page_map[p];
    return KIND(e) == SLAB ? SLAB_PAGES : NUMBER(e);
}

static void charge(uint32_t n)
{
    if (cm_shared.memory_limit && used_pages + n > boot_pages + cm_shared.memory_limit / CM_PAGE)
        cm_stop(CM_STOP_MEMORY);
    used_pages += n;
}

/* Splits the free run at `from`: its head becomes the end of the run of n pages at p, the rest stays free. */
static void split_free(uint32_t from, uint32_t p, uint32_t n)
{
    uint32_t end = p + n, rest = from + NUMBER(page_map[from]) - end;
    mark(RUN, p, n);
    if (rest)
        mark(FREE, end, rest);
    for (unsigned i = 0; i < SIZES; i++)
        if (first_free[i] == from)
            first_free[i] = end;
    if (end > touched)
        touched = end;
}

/* Returns the first of n pages, the lowest that fit. What it passes on its way it does not pass again: the
   next search for as many begins at the first run that could have been large enough. */
static uint32_t take_pages(uint32_t n)
{
    charge(n);
    unsigned size = 31 - __builtin_clz(n);
    uint32_t p = first_free[size], passed = UINT32_MAX;
    for (;;) {
        for (; p < heap_pages; p += span(p)) {
            if (KIND(page_map[p]) != FREE || NUMBER(page_map[p]) >> size == 0)
                continue;
            if (NUMBER(page_map[p]) >= n)
                break;
            if (passed == UINT32_MAX)
                passed = p;
        }
        if (p < heap_pages)
            break;
        bool tail_free = heap_pages > 0 && KIND(page_map[heap_pages - 1]) == FREE;
        uint32_t tail = tail_free ? NUMBER(page_map[heap_pages - 1]) : 0;
        p = heap_pages - tail;
        grow(n - tail);
    }
    split_free(p, p, n);
    first_free[size] = passed < p ? passed : p + n;
    return p;
}

static void give_pages(uint32_t p, uint32_t n)
{
    used_pages -= n;
    set_free(p, n);
}

static unsigned class_for(size_t n)
{
    unsigned c = n > 512 ? 4 : 0;
    while (class_size[c] < n)
        c++;
    return c;
}

static void *block_at(slab *s, unsigned i) { return (char *)s + SLAB_HEADER + (size_t)i * class_size[s->class]; }

static void link_partial(slab *s)
{
    s->prev = NULL;
    s->next = partial[s->class];
    if (s->next)
        s->next->prev = s;
    partial[s->class] = s;
}

static void unlink_partial(slab *s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        partial[s->class] = s->next;
    if (s->next)
        s->next->prev = s->prev;
}

static void *slab_alloc(unsigned class)
{
    slab *s = partial[class];
    if (!s) {
        uint32_t p = take_pages(SLAB_PAGES);
        for (unsigned i = 0; i < SLAB_PAGES; i++)
            page_map[p + i] = ENTRY(SLAB, i);
        s = (slab *)address_of(p);
        *s = (slab){.class = class, .capacity = (SLAB_BYTES - SLAB_HEADER) / class_size[class]};
        link_partial(s);
    }
    void *block;
    if (s->free) {
        block = block_at(s, s->free - 1);
        s->free = *(uint16_t *)block;
    } else {
        block = block_at(s, s->fresh++);
    }
    if (++s->used == s->capacity)
        unlink_partial(s);
    return block;
}

static slab *slab_of(uint32_t page) { return (slab *)address_of(page - NUMBER(page_map[page])); }

static void slab_free(slab *s, void *block)
{
    unsigned i = (unsigned)(((char *)block - (char *)s - SLAB_HEADER) / class_size[s->class]);
    *(uint16_t *)block = s->free;
    s->free = i + 1;
    if (s->used-- == s->capacity)
        link_partial(s);
    if (s->used == 0) {
        unlink_partial(s);
        give_pages(page_of(s), SLAB_PAGES);
    }
}

static uint32_t pages_for(size_t n)
{
    if (n > MAX_HEAP)
        cm_stop(CM_STOP_MEMORY);
    return (uint32_t)((n + CM_PAGE - 1) / CM_PAGE);
}

void *malloc(size_t n)
{
    if (n <= SLAB_MAX)
        return slab_alloc(class_for(n));
    return address_of(take_pages(pages_for(n)));
}

void free(void *ptr)
{
    if (!ptr)
        return;
    uint32_t p = page_of(ptr);
    if (KIND(page_map[p]) == SLAB)
        slab_free(slab_of(p), ptr);
    else
        give_pages(p, NUMBER(page_map[p]));
}

size_t malloc_usable_size(void *ptr)
{
    if (!ptr)
        return 0;
    uint32_t p = page_of(ptr);
    return KIND(page_map[p]) == SLAB ? class_size[slab_of(p)->class] : (size_t)NUMBER(page_map[p]) * CM_PAGE;
}

void *calloc(size_t count, size_t size)
{
    size_t n;
    if (__builtin_mul_overflow(count, size, &n))
        cm_stop(CM_STOP_MEMORY);
    uint32_t zero_from = touched; /* memory that was never handed out is zero already */
    void *p = malloc(n);
    if (n <= SLAB_MAX || page_of(p) < zero_from)
        memset(p, 0, n);
    return p;
}

/* Resizes a run of pages where it stands; false if the neighbour is in the way. */
static bool resize_run(uint32_t p, uint32_t want)
{
    uint32_t have = NUMBER(page_map[p]);
    if (want < have) {
        mark(RUN, p, want);
        give_pages(p + want, have - want);
    } else if (want > have) {
        uint32_t next = p + have;
        if (next >= heap_pages || KIND(page_map[next]) != FREE || NUMBER(page_map[next]) < want - have)
            return false;
        charge(want - have);
        split_free(next, p, want);
    }
    return true;
}

void *realloc(void *ptr, size_t n)
{
    if (!ptr)
        return malloc(n);
    uint32_t p = page_of(ptr);
    size_t have = malloc_usable_size(ptr);
    if (KIND(page_map[p]) == SLAB) {
        if (n <= have && n > have / 2)
            return ptr;
    } else if (n > SLAB_MAX && resize_run(p, pages_for(n))) {
        return ptr;
    }
    void *fresh = malloc(n);
    memcpy(fresh, ptr, n < have ? n : have);
    free(ptr);
    return fresh;
}

int posix_memalign(void **out, size_t align, size_t n)
{
    if (align > CM_PAGE)
        return EINVAL;
    *out = malloc(align > 16 && n <= SLAB_MAX ? SLAB_MAX + 1 : n);
    return 0;
}

/* ---- for captures ------------------------------------------------------------------------- */

/* Freed blocks inside living slabs become zero but for their link. Reads first: a page that is
   clean already must not be written, or it would be copied for nothing. */
static void scrub_slab(slab *s)
{
    size_t size = class_size[s->class];
    for (unsigned i = s->free; i;) {
        uint64_t *word = block_at(s, i - 1);
        i = *(uint16_t *)word;
        if (word[0] >> 16)
            word[0] &= 0xffff;
        for (size_t k = 1; k < size / 8; k++)
            if (word[k])
                word[k] = 0;
    }
}

/* Inside a run only its ends mean anything; what former tenants left in between becomes zero. */
static void scrub_map(void)
{
    for (uint32_t p = 0; p < heap_pages; p += span(p))
        if (KIND(page_map[p]) != SLAB)
            for (uint32_t i = p + 1; i + 1 < p + span(p); i++)
                if (page_map[i])
                    page_map[i] = 0;
}

/* Calls back for each stretch of memory that holds state: statics without the unused part of the
   page map, and heap pages in use. The stack lies below both and is empty whenever no call is on it.
   Ascending; stretches of heap are whole pages. */
void cm_alloc_each_range(void (*visit)(char *start, char *end))
{
    scrub_map();
    char *map_unused = (char *)&page_map[heap_pages], *map_end = (char *)&page_map[MAX_PAGES];
    visit(&__global_base, map_unused);
    visit(map_end, &__data_end);
    uint32_t start = 0, end = 0;
    for (uint32_t p = 0; p < heap_pages; p += span(p)) {
        if (KIND(page_map[p]) == FREE || p == reserved)
            continue;
        if (KIND(page_map[p]) == SLAB)
            scrub_slab((slab *)address_of(p));
        if (p != end) {
            if (end > start)
                visit(address_of(start), address_of(end));
            start = p;
        }
        end = p + span(p);
    }
    if (end > start)
        visit(address_of(start), address_of(end));
}

bool cm_alloc_in_heap(const char *p) { return p >= heap_base(); }

/* Pages that hold no state of the program and are passed over by cm_alloc_each_range. Once. */
char *cm_alloc_reserve(size_t n)
{
    reserved = take_pages(pages_for(n));
    return address_of(reserved);
}

/* What boot has freed must be zero, as memory beyond the image is. */
void cm_alloc_zero_free(void)
{
    for (uint32_t p = 0; p < heap_pages; p += span(p))
        if (KIND(page_map[p]) == FREE)
            memset(address_of(p), 0, (size_t)NUMBER(page_map[p]) * CM_PAGE);
}

void cm_alloc_seal(void) { boot_pages = used_pages; }
/* a program may have freed what boot made */
uint32_t cm_alloc_used(void) { return used_pages > boot_pages ? (used_pages - boot_pages) * CM_PAGE : 0; }
#else
/* natively the system allocator is used, so that sanitizers see every block; there are no captures */
void cm_alloc_each_range(void (*visit)(char *start, char *end)) { (void)visit; }
bool cm_alloc_in_heap(const char *p) { return p != NULL; }
char *cm_alloc_reserve(size_t n) { return malloc(n); }
void cm_alloc_zero_free(void) {}
void cm_alloc_seal(void) {}
uint32_t cm_alloc_used(void) { return 0; }
#endif
