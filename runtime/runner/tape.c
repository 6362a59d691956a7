/* What a guest reads of clocks and of randomness: as it is, written down for the host too, or read from what the host
   had written down, so that a program can be run again and see the same.

   Three strips, one for each kind, so that a program that was changed a little still finds times among times. They
   are bounded: a program that looks at the clock in a loop is told of as cut. Static, because a guest's imports must
   not allocate. */
#include <string.h>
#include <time.h>
#include "runner.h"

enum { OFF, RECORD, REPLAY };
enum { WALL, MONOTONIC, RANDOM, STRIPS };
#define STRIP_BYTES (8u << 10)

static struct {
    char data[STRIP_BYTES];
    size_t len, at;
} strips[STRIPS];
static uint8_t mode;
static bool is_cut;
static double last[2];       /* the clocks, where a strip has ended */
static uint64_t more_random; /* goes on with the randomness, always in the same way */

void cr_tape_set(uint8_t wanted, cr_span tail)
{
    mode = wanted;
    is_cut = false;
    if (mode > REPLAY || (mode == REPLAY && tail.len < 4 * STRIPS))
        cr_die("a tape of mode %u and %zu bytes", mode, tail.len);
    const char *at = tail.data + 4 * STRIPS;
    size_t left = mode == REPLAY ? tail.len - 4 * STRIPS : 0;
    for (int i = 0; i < STRIPS; i++) {
        size_t len = mode == REPLAY ? cr_u32(tail.data + 4 * i) : 0;
        if (len > STRIP_BYTES || len > left)
            cr_die("a strip of %zu bytes", len);
        memcpy(strips[i].data, at, len);
        strips[i].len = len;
        strips[i].at = 0;
        at += len;
        left -= len;
    }
    if (mode != REPLAY) {
        last[0] = last[1] = 0;
        more_random = 1;
    }
}

static void note(int which, const void *data, size_t len)
{
    if (len > STRIP_BYTES - strips[which].len) {
        is_cut = true;
        return;
    }
    memcpy(strips[which].data + strips[which].len, data, len);
    strips[which].len += len;
}

static bool take(int which, void *into, size_t len)
{
    if (len > strips[which].len - strips[which].at)
        return false;
    memcpy(into, strips[which].data + strips[which].at, len);
    strips[which].at += len;
    return true;
}

double cr_tape_now(bool monotonic)
{
    if (mode == REPLAY) {
        take(monotonic ? MONOTONIC : WALL, &last[monotonic], sizeof(double));
        return last[monotonic];
    }
    struct timespec time;
    clock_gettime(monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, &time);
    double now = (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
    if (mode == RECORD)
        note(monotonic ? MONOTONIC : WALL, &now, sizeof now);
    return now;
}

void cr_tape_random(void *into, size_t len)
{
    if (mode != REPLAY) {
        cr_random(into, len);
        if (mode == RECORD)
            note(RANDOM, into, len);
        return;
    }
    if (take(RANDOM, into, len))
        return;
    for (size_t i = 0; i < len; i++) {
        more_random = more_random * 6364136223846793005ull + 1442695040888963407ull;
        ((char *)into)[i] = (char)(more_random >> 56);
    }
}

void cr_tape_report(void)
{
    if (mode != RECORD)
        return;
    cr_head_text(is_cut ? ",\"reads_cut\":true,\"reads\":[" : ",\"reads\":[");
    for (int i = 0; i < STRIPS; i++) {
        cr_head_text(i ? ",\"" : "\"");
        for (size_t at = 0; at < strips[i].len; at++) {
            static const char digits[] = "0123456789abcdef";
            uint8_t byte = (uint8_t)strips[i].data[at];
            cr_head_put((char[]){digits[byte >> 4], digits[byte & 15]}, 2);
        }
        cr_head_text("\"");
        strips[i].len = 0;
    }
    cr_head_text("]");
    is_cut = false;
}
