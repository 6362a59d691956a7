/* Small things that every part needs: time, entropy, and the one way to give up. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#else
#include <sys/random.h>
#endif
#include "runner.h"

void cr_die(const char *format, ...)
{
    char said[600];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(said, sizeof said - 1, format, arguments);
    va_end(arguments);
    if (len > (int)sizeof said - 2)
        len = sizeof said - 2;
    said[len++] = '\n';
    ssize_t ignored = write(2, said, len);
    (void)ignored; /* a confined process has nowhere to write */
    _exit(1);
}

void cr_die_errno(const char *what) { cr_die("%s: %s", what, strerror(errno)); }

uint32_t cr_u32(const void *at)
{
    const uint8_t *b = at;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t cr_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void cr_random(void *into, size_t len)
{
    char *at = into;
    while (len) {
        size_t step = len < 256 ? len : 256;
#ifdef __linux__
        long got = syscall(SYS_getrandom, at, step, 0);
#else
        long got = getentropy(at, step) ? -1 : (long)step;
#endif
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            cr_die_errno("getrandom");
        at += got;
        len -= (size_t)got;
    }
}
