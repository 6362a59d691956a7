/* Calls single functions of the runner for tests: reads "function length\n" and that many bytes, answers with a line.
   It is linked with the runner's other files, in place of main.c. Built by tests/harness/runner.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runner.h"
#include "wasmtime_api.h"

static void put_hex(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        printf("%02x", bytes[i]);
}

/* chunks as offset:length:is_list, then how it ended */
static void split(cr_span text)
{
    static const char *const ends[] = {"", "end", "torn", "too much"};
    cr_batch batch = cr_batch_of(text);
    cr_chunk chunk;
    enum cr_batch_step step;
    while ((step = cr_batch_next(&batch, &chunk)) == CR_BATCH_CHUNK)
        printf("%zu:%zu:%d ", (size_t)(chunk.bytes.data - text.data), chunk.bytes.len, chunk.is_list);
    printf("%s", ends[step]);
}

/* the delta's memory, patch and pages, or why it is none; the build id is its first sixteen bytes */
static void open_delta(cr_span text)
{
    cr_delta delta;
    if (text.len < 16) {
        printf("short");
        return;
    }
    cr_span data = {text.data + 16, text.len - 16};
    const char *why = cr_delta_open(&delta, data, (const uint8_t *)text.data);
    uint8_t digest[32];
    if (!why)
        printf("%llu ", (unsigned long long)delta.memory_bytes);
    for (uint32_t i = 0; !why && i < delta.count; i++) {
        size_t len = (size_t)delta.extents[i].pages * CR_PAGE;
        char *pages = malloc(len);
        why = cr_delta_read_extent(pages, len);
        if (!why) {
            cr_sha256((cr_span){pages, len}, digest);
            printf("%u:%u:", delta.extents[i].first, delta.extents[i].pages);
            put_hex(digest, 8);
            printf(" ");
        }
        free(pages);
    }
    if (!why) {
        cr_sha256(delta.patch, digest);
        put_hex(digest, 8);
    } else
        printf("refused: %s", why);
    cr_delta_close();
}

static void never(void) { cr_die("it was overdue"); }

/* An alarm that was set for an earlier deadline: it must not reach the guest (there is none here). */
static void watch(void)
{
    cr_watchdog_start(never);
    cr_watchdog_arm(cr_now_us() + 1000);
    cr_watchdog_enter();
    uint64_t began = cr_now_us();
    cr_watchdog_arm(began + 3600000000ull);
    while (cr_now_us() < began + 20000)
        ;
    cr_watchdog_leave();
    printf("went on");
}

static void answer(const char *function, cr_span text)
{
    uint8_t digest[32];
    if (!strcmp(function, "parts"))
        printf("%llu", (unsigned long long)cr_json_parts(text));
    else if (!strcmp(function, "layouts"))
        printf("%zu %zu %zu %zu %zu %zu %zu", sizeof(wasmtime_func_t), sizeof(wasmtime_memory_t),
               sizeof(wasmtime_instance_t), sizeof(wasmtime_extern_t), offsetof(wasmtime_extern_t, of),
               sizeof(wasmtime_val_raw_t), sizeof(wasm_byte_vec_t));
    else if (!strcmp(function, "watch"))
        watch();
    else if (!strcmp(function, "split"))
        split(text);
    else if (!strcmp(function, "doubtful"))
        printf("%d", cr_source_is_doubtful(text));
    else if (!strcmp(function, "delta"))
        open_delta(text);
    else if (!strcmp(function, "blake2b")) {
        cr_blake2b(text, digest);
        put_hex(digest, 32);
    } else if (!strcmp(function, "sha256")) {
        cr_sha256(text, digest);
        put_hex(digest, 32);
    } else
        exit(2);
    printf("\n");
    fflush(stdout);
}

int main(void)
{
    char function[16];
    size_t len;
    while (scanf("%15s %zu", function, &len) == 2 && getchar() == '\n') {
        char *text = malloc(len ? len : 1); /* exactly so many, so that a sanitizer sees one more */
        if (fread(text, 1, len, stdin) != len)
            return 3;
        answer(function, (cr_span){text, len});
        free(text);
    }
    return 0;
}
