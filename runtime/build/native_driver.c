/* The guest as a native program, for sanitizers: the four imports, and a loop that obeys sanitize.py.

   Boots once; for each program a fork starts from that state, as a guest starts from the image. Orders
   come in on fd 0, answers go out on fd 3: stdout and stderr belong to the sanitizers. An order is a letter, a
   32-bit length and that many bytes:
     R           fork; the child obeys until it ends, then the parent answers X and its wait status
     S ms text   (child) start: milliseconds until the interruption, bytes of heap, bytes of output, the text
     D records   (child) deliver
     C           (child) do what each sanitizer must report
   The child answers O, its status, and the outbox and result, each with its length. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "shim.h"

enum { ANSWERS = 3, EXIT_STOPPED = 100, EXIT_OVERDUE = 99, EXIT_BROKEN = 98 };
#define OVERDUE_SECONDS 10 /* from the interruption to the end of a native loop that does not poll */

/* ---- imports ----------------------------------------------------------------------------------- */

double cm_import_now(int32_t clock)
{
    struct timespec t;
    clock_gettime(clock ? CLOCK_MONOTONIC : CLOCK_REALTIME, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void cm_import_random(void *ptr, uint32_t len)
{
    for (uint32_t at = 0; at < len;) {
        ssize_t n = getrandom((char *)ptr + at, len - at, 0);
        at += n > 0 ? (uint32_t)n : 0;
    }
}

static const char *answer;

/* The tools of the hostile programs; there is no MCP server and no namespace. */
int32_t cm_import_lookup(int32_t kind, const char *key, uint32_t key_len)
{
    static char id[64];
    static const char *const names[] = {"echo", "fail", "nasty"};
    answer = NULL;
    if (kind == CM_LOOKUP_ALL_TOOLS)
        answer = "[{\"id\":\"openclaw:core:echo\",\"name\":\"echo\",\"description\":\"\",\"source\":\"openclaw\"}]";
    if (kind == CM_LOOKUP_TOOL_NAMES)
        answer = "{\"echo\":\"openclaw:core:echo\",\"fail\":\"openclaw:core:fail\",\"nasty\":\"openclaw:core:nasty\"}";
    for (int i = 0; kind == CM_LOOKUP_TOOL && i < 3; i++)
        if (key_len == strlen(names[i]) && !memcmp(key, names[i], key_len)) {
            snprintf(id, sizeof id, "\"openclaw:core:%s\"", names[i]);
            answer = id;
        }
    return answer ? (int32_t)strlen(answer) : -1;
}

void cm_import_lookup_read(void *ptr) { memcpy(ptr, answer, strlen(answer)); }

/* ---- limits: what WebAssembly and the watchdog do for a guest ----------------------------------------- */

static size_t heap_used, heap_limit;

#ifdef __SANITIZE_ADDRESS__
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t), void (*)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *);

static void on_malloc(const volatile void *p, size_t size)
{
    heap_used += p ? size : 0;
    if (heap_limit && heap_used > heap_limit) {
        heap_limit = 0;
        cm_stop(CM_STOP_MEMORY);
    }
}

static void on_free(const volatile void *p)
{
    size_t size = p ? __sanitizer_get_allocated_size(p) : 0;
    heap_used -= size < heap_used ? size : heap_used;
}
#endif

static void on_trap(int signal)
{
    (void)signal;
    _exit(EXIT_STOPPED + (int)cm_shared.stop);
}

static void on_alarm(int signal)
{
    (void)signal;
    if (cm_shared.interrupt)
        _exit(EXIT_OVERDUE);
    cm_shared.interrupt = 1;
    struct itimerval more = {.it_value = {.tv_sec = OVERDUE_SECONDS}};
    setitimer(ITIMER_REAL, &more, NULL);
}

/* ---- orders --------------------------------------------------------------------------------------------- */

static bool read_all(void *to, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = read(0, (char *)to + at, len - at);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static void write_all(const void *from, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(ANSWERS, (const char *)from + at, len - at);
        if (n <= 0)
            _exit(EXIT_BROKEN);
        at += (size_t)n;
    }
}

/* One order: its letter, or 0 at the end. *body is owned and zero-terminated. */
static char next_order(char **body, uint32_t *len)
{
    char letter;
    if (!read_all(&letter, 1) || !read_all(len, sizeof *len))
        return 0;
    *body = malloc((size_t)*len + 1);
    (*body)[*len] = 0;
    return read_all(*body, *len) ? letter : 0;
}

static void answer_outcome(int32_t status)
{
    bool ended = status == CM_DONE || status == CM_FAILED;
    uint32_t sizes[] = {cm_shared.out_len, ended ? cm_shared.result_len : 0};
    write_all("O", 1);
    write_all(&status, sizeof status);
    write_all(sizes, sizeof sizes);
    write_all((const char *)cm_shared.out_ptr, sizes[0]);
    write_all((const char *)cm_shared.result_ptr, sizes[1]);
}

static int32_t start(const char *body, uint32_t len)
{
    uint32_t limits[3]; /* milliseconds, heap, output */
    memcpy(limits, body, sizeof limits);
    cm_shared.memory_limit = limits[1];
    cm_shared.output_limit = limits[2];
    cm_shared.call_limit = 16;
    cm_shared.message_limit = 16u << 20;
    heap_used = 0;
    heap_limit = limits[1];
    struct itimerval budget = {.it_value = {limits[0] / 1000, (limits[0] % 1000) * 1000}};
    setitimer(ITIMER_REAL, &budget, NULL);
    return cm_start(body + sizeof limits, len - sizeof limits, 0, 42);
}

/* Without a report of both, a clean run would mean nothing. */
static void be_caught(uint32_t len)
{
    volatile int number = INT32_MAX;
    number += 1 + (int)len;
    volatile char *block = malloc(8);
    block[8 + len] = (char)number;
}

static _Noreturn void obey(void)
{
    char *body;
    uint32_t len;
    signal(SIGALRM, on_alarm);
    signal(SIGILL, on_trap);
    for (;;) {
        char letter = next_order(&body, &len);
        if (letter == 'S')
            answer_outcome(start(body, len));
        else if (letter == 'D')
            answer_outcome(cm_deliver(body, len));
        else if (letter == 'C')
            be_caught(len);
        else
            _exit(0);
        free(body);
    }
}

/* ---- boot ------------------------------------------------------------------------------------------------- */

static bool evaluate(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t len = (size_t)snprintf(text, sizeof text, "(function (internal) { 'use strict'; ");
    len += fread(text + len, 1, sizeof text - len - 8, file);
    fclose(file);
    memcpy(text + len, "\n})", 4);
    return cm_prelude(text, (uint32_t)len + 3, path) == 0;
}

int main(int argc, char **argv)
{
    if (cm_boot())
        return EXIT_BROKEN;
    for (int i = 1; i < argc; i++)
        if (!evaluate(argv[i]))
            return EXIT_BROKEN;
    cm_seal();
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
#endif
    char *body;
    uint32_t len;
    while (next_order(&body, &len) == 'R') {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            obey();
        waitpid(child, &status, 0);
        write_all("X", 1);
        write_all(&status, sizeof status);
        free(body);
    }
    return 0;
}
