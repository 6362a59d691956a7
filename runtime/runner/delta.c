/* Deltas: the bytes of a paused guest, as the difference to its pristine image. The same format as delta.py, byte for
   byte what it reads and writes: a header, then one zstd frame of the table of extents, the patch, and the pages. Both
   directions stream between linear memory and the compressed bytes. open takes any bytes. */
#include <stdlib.h>
#include <string.h>
#include "zstd.h"
#include "runner.h"

#define HEADER 40u
#define VERSION 1
#define MAX_MEMORY ((1ull << 30) + (64u << 20)) /* the largest guest: the biggest heap and the image */
#define FAST_ABOVE (1u << 20)                   /* above this, speed matters more than the ratio */
#define LEVEL 3
#define FAST_LEVEL (-1)
#define HASTY_LEVEL (-100) /* for what hardly shrinks, such as text of digits: little more than a copy */
#define SAMPLES 8u         /* pieces that are packed on trial */
#define SAMPLE_PAGES 4u
#define EXTENT 8u

/* ---- out ---- */

static ZSTD_CCtx *packer;
static char *packed; /* owned; the last delta */

static void put_u32(char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(value >> 8 * i);
}

static void put(ZSTD_outBuffer *out, const char *data, size_t len, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {data, len, 0};
    size_t left;
    do {
        left = ZSTD_compressStream2(packer, out, &in, end);
        if (ZSTD_isError(left))
            cr_die("a delta cannot be packed: %s", ZSTD_getErrorName(left));
    } while (end == ZSTD_e_end ? left != 0 : in.pos < in.size);
}

/* Packs some pieces of the pages on trial: whether that makes them smaller by a quarter. */
static bool shrinks(const cr_extent *extents, uint32_t count, const char *memory)
{
    static char trial[ZSTD_COMPRESSBOUND(SAMPLE_PAGES * CR_PAGE)];
    uint64_t pages = 0, seen = 0, taken = 0, made = 0, sample = 0;
    for (uint32_t i = 0; i < count; i++)
        pages += extents[i].pages;
    ZSTD_CCtx_setParameter(packer, ZSTD_c_compressionLevel, FAST_LEVEL);
    for (uint32_t i = 0; i < count; seen += extents[i++].pages)
        for (; sample < SAMPLES && pages * sample / SAMPLES < seen + extents[i].pages; sample++) {
            uint64_t at = pages * sample / SAMPLES - seen, left = extents[i].pages - at;
            size_t len = (left < SAMPLE_PAGES ? left : SAMPLE_PAGES) * CR_PAGE;
            size_t size = ZSTD_compress2(packer, trial, sizeof trial, memory + (extents[i].first + at) * CR_PAGE, len);
            if (ZSTD_isError(size))
                cr_die("a delta cannot be packed: %s", ZSTD_getErrorName(size));
            taken += len;
            made += size;
        }
    return made * 4 < taken * 3;
}

cr_span cr_delta_pack(const uint8_t build_id[16], uint64_t memory_bytes, cr_span patch, const cr_extent *extents,
                      uint32_t count, const char *memory)
{
    size_t table = (size_t)count * EXTENT, size = table + patch.len;
    for (uint32_t i = 0; i < count; i++)
        size += (size_t)extents[i].pages * CR_PAGE;
    free(packed);
    size_t room = HEADER + ZSTD_compressBound(size);
    packed = malloc(room);
    char *rows = malloc(table + 1);
    if (!packer)
        packer = ZSTD_createCCtx();
    if (!packed || !rows || !packer)
        cr_die("no memory for a delta of %zu bytes", size);
    memcpy(packed, "CMDL", 4);
    put_u32(packed + 4, VERSION);
    memcpy(packed + 8, build_id, 16);
    put_u32(packed + 24, (uint32_t)(memory_bytes >> 16));
    put_u32(packed + 28, (uint32_t)patch.len);
    put_u32(packed + 32, count);
    put_u32(packed + 36, (uint32_t)size);
    for (uint32_t i = 0; i < count; i++) {
        put_u32(rows + EXTENT * i, extents[i].first);
        put_u32(rows + EXTENT * i + 4, extents[i].pages);
    }
    ZSTD_CCtx_reset(packer, ZSTD_reset_session_and_parameters);
    int level = size < FAST_ABOVE ? LEVEL : shrinks(extents, count, memory) ? FAST_LEVEL : HASTY_LEVEL;
    ZSTD_CCtx_setParameter(packer, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setPledgedSrcSize(packer, size);
    ZSTD_outBuffer out = {packed + HEADER, room - HEADER, 0};
    put(&out, rows, table, ZSTD_e_continue);
    put(&out, patch.data, patch.len, ZSTD_e_continue);
    for (uint32_t i = 0; i < count; i++)
        put(&out, memory + (size_t)extents[i].first * CR_PAGE, (size_t)extents[i].pages * CR_PAGE, ZSTD_e_continue);
    put(&out, NULL, 0, ZSTD_e_end);
    free(rows);
    return (cr_span){packed, HEADER + out.pos};
}

/* ---- in ---- */

static ZSTD_DCtx *unpacker;
static ZSTD_inBuffer source;
static char *head; /* owned; table and patch */

/* the next len bytes; NULL, or why they are not there */
static const char *read_exactly(char *into, size_t len)
{
    ZSTD_outBuffer out = {into, len, 0};
    while (out.pos < out.size) {
        size_t before_in = source.pos, before_out = out.pos;
        size_t hint = ZSTD_decompressStream(unpacker, &out, &source);
        if (ZSTD_isError(hint))
            return "damaged";
        if (out.pos < out.size && (hint == 0 || (source.pos == before_in && out.pos == before_out)))
            return "cut off";
    }
    return NULL;
}

static const char *check_table(const cr_extent *extents, uint32_t count, uint64_t memory, uint64_t body)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += (uint64_t)extents[i].pages * CR_PAGE;
    if (sum != body)
        return "its pages do not add up";
    for (uint32_t i = 0; i < count; i++)
        if (((uint64_t)extents[i].first + extents[i].pages) * CR_PAGE > memory)
            return "its pages do not fit its memory";
    for (uint32_t i = 1; i < count; i++)
        if (extents[i].first < (uint64_t)extents[i - 1].first + extents[i - 1].pages)
            return "its pages are out of order";
    return NULL;
}

const char *cr_delta_open(cr_delta *out, cr_span data, const uint8_t build_id[16])
{
    if (data.len < HEADER)
        return "too short";
    if (memcmp(data.data, "CMDL", 4) || data.data[4] != VERSION)
        return "not a delta of this format";
    if (memcmp(data.data + 8, build_id, 16))
        return "made by another build of the guest";
    uint64_t memory = (uint64_t)cr_u32(data.data + 24) << 16;
    uint64_t patch = cr_u32(data.data + 28), count = cr_u32(data.data + 32), size = cr_u32(data.data + 36);
    if (memory > MAX_MEMORY || size > 2 * memory || count * EXTENT + patch > size)
        return "larger than a guest may be";
    source = (ZSTD_inBuffer){data.data + HEADER, data.len - HEADER, 0};
    if (ZSTD_getFrameContentSize(source.src, source.size) != size)
        return "damaged";
    if (!unpacker)
        unpacker = ZSTD_createDCtx();
    head = malloc(count * EXTENT + patch + 1);
    if (!unpacker || !head)
        return "there is no memory for it";
    ZSTD_DCtx_reset(unpacker, ZSTD_reset_session_only);
    const char *why = read_exactly(head, count * EXTENT + patch);
    if (why)
        return why;
    cr_extent *extents = (cr_extent *)head; /* malloc aligns it; both are little-endian words */
    for (uint32_t i = 0; i < count; i++)
        extents[i] = (cr_extent){cr_u32(head + EXTENT * i), cr_u32(head + EXTENT * i + 4)};
    why = check_table(extents, (uint32_t)count, memory, size - count * EXTENT - patch);
    *out = (cr_delta){memory, {head + count * EXTENT, patch}, extents, (uint32_t)count};
    return why;
}

const char *cr_delta_read_extent(char *into, size_t len) { return read_exactly(into, len); }

void cr_delta_close(void)
{
    free(head);
    head = NULL;
}
