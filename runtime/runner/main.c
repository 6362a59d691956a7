/* The runner: `codemode-runner control-fd host-pid library image suffix build-id sha256 block memory scratch scratch-len`.
   The host starts it, with an empty environment (codemode/workers/head_start.py). Everything else comes by the socket. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner.h"

static uint32_t number(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (!*text || *end || value > UINT32_MAX)
        cr_die("no number: %s", text);
    return (uint32_t)value;
}

static void read_hex(const char *text, uint8_t *out, size_t len)
{
    if (strlen(text) != 2 * len)
        cr_die("no hash: %s", text);
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            cr_die("no hash: %s", text);
        out[i] = (uint8_t)byte;
    }
}

int main(int count, char **arguments)
{
    if (count != 12)
        cr_die("codemode-runner is started by codemode; it has no use by itself");
    static cr_image image;
    image.library = arguments[3];
    image.wasm = arguments[4];
    image.suffix = arguments[5];
    read_hex(arguments[6], image.build_id, sizeof image.build_id);
    read_hex(arguments[7], image.sha256, sizeof image.sha256);
    image.block = number(arguments[8]);
    image.memory_bytes = number(arguments[9]);
    image.scratch = number(arguments[10]);
    image.scratch_bytes = number(arguments[11]);
    cr_zygote_run(&image, (int)number(arguments[1]), (pid_t)number(arguments[2]));
    _exit(0);
}
