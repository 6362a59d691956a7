/* Loads the compiled guest from a private, verified cache of machine code, because compiling takes a second. The same
   files as compiled.py: a compiled module has no integrity check of its own, so the folder must belong to the user
   alone, and each file is compared with its hash before it is mapped. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner.h"

#define MAX_PATH 4096

bool cr_is_private(const char *folder)
{
    struct stat found;
    if (stat(folder, &found))
        return errno == ENOENT;
    return found.st_uid == getuid() && !(found.st_mode & 077);
}

/* The bytes of a file, mapped: never freed, nobody keeps two. False if it cannot be read. */
static bool map_file(const char *path, cr_span *out)
{
    struct stat found;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    void *bytes = MAP_FAILED;
    if (!fstat(file, &found) && found.st_size > 0)
        bytes = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    *out = (cr_span){bytes, (size_t)found.st_size};
    return true;
}

static void unmap(cr_span file) { munmap((void *)file.data, file.len); }

static void to_hex(const uint8_t *bytes, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void path_of(const cr_image *image, const char *folder, const char *ending, char out[MAX_PATH])
{
    char build[33];
    to_hex(image->build_id, 16, build);
    if (snprintf(out, MAX_PATH, "%s/%s-%s.%s", folder, build, image->suffix, ending) >= MAX_PATH)
        cr_die("the name of the cache folder is too long");
}

static bool is_intact(const cr_image *image, const char *folder)
{
    char path[MAX_PATH], wanted[65];
    uint8_t digest[32];
    cr_span code, hash;
    path_of(image, folder, "hash", path);
    if (!map_file(path, &hash))
        return false;
    path_of(image, folder, "cwasm", path);
    bool intact = map_file(path, &code);
    if (intact) {
        cr_blake2b(code, digest);
        to_hex(digest, 32, wanted);
        intact = hash.len == 64 && !memcmp(hash.data, wanted, 64);
        unmap(code);
    }
    unmap(hash);
    return intact;
}

static bool load_cached(const cr_image *image, const char *folder)
{
    char path[MAX_PATH];
    if (!cr_is_private(folder) || !is_intact(image, folder))
        return false;
    path_of(image, folder, "cwasm", path);
    return cr_wasm_load(path);
}

/* Others see the old file or the new one, never a part. A read-only home only costs a second at each start. */
static void store(const char *folder, const char *path, const char *data, size_t len)
{
    char temporary[MAX_PATH];
    if (snprintf(temporary, sizeof temporary, "%s/.%d", folder, (int)getpid()) >= (int)sizeof temporary)
        return;
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    size_t done = 0;
    while (done < len) {
        ssize_t put = write(file, data + done, len - done);
        if (put <= 0)
            break;
        done += (size_t)put;
    }
    if (close(file) || done < len || rename(temporary, path))
        unlink(temporary);
}

static void make_folders(const char *folder)
{
    char path[MAX_PATH];
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path)
        return;
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(path, 0755);
        *at = '/';
    }
    mkdir(path, 0700);
}

static cr_span read_image(const cr_image *image)
{
    cr_span wasm;
    uint8_t digest[32];
    if (!map_file(image->wasm, &wasm))
        cr_die("the guest image cannot be read: %s", strerror(errno));
    cr_sha256(wasm, digest);
    if (memcmp(digest, image->sha256, 32))
        cr_die("the guest image is damaged (its hash differs from its manifest): build it again");
    return wasm;
}

/* In a child, because compiling starts threads, which would escape confinement and not survive a fork. */
static void compile_apart(const cr_image *image, const char *folder, cr_span wasm)
{
    pid_t child = fork();
    if (child == 0) {
        cr_layers ignored = {.count = 0};
        cr_only_mortal(&ignored, getppid());
        char *code, path[MAX_PATH], hex[65];
        uint8_t digest[32];
        size_t len;
        make_folders(folder);
        if (cr_is_private(folder) && cr_wasm_compile(wasm, false, &code, &len)) {
            path_of(image, folder, "cwasm", path);
            store(folder, path, code, len);
            cr_blake2b((cr_span){code, len}, digest);
            to_hex(digest, 32, hex);
            path_of(image, folder, "hash", path);
            store(folder, path, hex, 64);
        }
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

void cr_compiled_load(const cr_image *image, const char *folder, bool trusted, void (*on_compile)(void))
{
    if (trusted && load_cached(image, folder))
        return;
    on_compile();
    cr_span wasm = read_image(image);
    if (trusted) {
        compile_apart(image, folder, wasm);
        if (load_cached(image, folder))
            return;
    }
    cr_wasm_compile(wasm, true, NULL, NULL);
}
