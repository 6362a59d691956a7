/* What a worker of the runner can still do: a build for tests has this file in it, and a program `probe:name` tries it.
   Each probe answers with 0, or the error number that the system gave; a call that kills gives no answer. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner.h"

bool cr_probe(cr_span program);

static long open_a_file(void) { return open("/etc/hostname", O_RDONLY); }

static long look_at_a_file(void)
{
    struct stat found;
    return syscall(SYS_newfstatat, AT_FDCWD, "/etc/hostname", &found, 0);
}

static long write_a_file(void) { return open("/tmp/codemode-probe", O_WRONLY | O_CREAT, 0600); }

static long make_a_socket(void) { return socket(AF_INET, SOCK_STREAM, 0); }

static long make_a_pair(void)
{
    int pair[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static long fork_a_process(void) { return fork(); }

static long run_a_program(void)
{
    char *none[] = {NULL};
    return execve("/bin/true", none, none);
}

static long signal_the_zygote(void) { return kill(getppid(), 0); }

static long signal_everybody(void) { return kill(-1, 0); }

static long trace_the_zygote(void) { return ptrace(PTRACE_ATTACH, 1, NULL, NULL); }

static long map_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long make_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static long map_shared_memory(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long take_more_memory(void)
{
    size_t size = 8ull << 30;
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long raise_a_limit(void)
{
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    return setrlimit(RLIMIT_DATA, &all);
}

static long become_dumpable(void) { return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }

static long pass_a_descriptor(void)
{
    struct msghdr message = {0};
    return sendmsg(1, &message, 0);
}

static long read_a_shared_file(void)
{
    char byte;
    return read(0, &byte, 1);
}

static long make_a_namespace(void) { return syscall(SYS_unshare, 0x10000000); }

static long change_flags(void) { return fcntl(0, F_SETFL, O_NONBLOCK); }

static const struct {
    const char *name;
    long (*act)(void);
} probes[] = {
    {"open a file", open_a_file},
    {"look at a file", look_at_a_file},
    {"write a file", write_a_file},
    {"make a socket", make_a_socket},
    {"make a pair", make_a_pair},
    {"fork a process", fork_a_process},
    {"run a program", run_a_program},
    {"signal the zygote", signal_the_zygote},
    {"signal everybody", signal_everybody},
    {"trace the zygote", trace_the_zygote},
    {"map code", map_code},
    {"make code", make_code},
    {"map shared memory", map_shared_memory},
    {"take more memory", take_more_memory},
    {"raise a limit", raise_a_limit},
    {"become dumpable", become_dumpable},
    {"pass a descriptor", pass_a_descriptor},
    {"read a shared file", read_a_shared_file},
    {"make a namespace", make_a_namespace},
    {"change flags", change_flags},
};

bool cr_probe(cr_span program)
{
    if (program.len < 6 || memcmp(program.data, "probe:", 6))
        return false;
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        if (strlen(probes[i].name) != program.len - 6 || memcmp(probes[i].name, program.data + 6, program.len - 6))
            continue;
        errno = 0;
        long result = probes[i].act();
        cr_head_begin();
        cr_head_text("{\"type\":\"done\",\"messages\":[],\"spent\":{},\"result\":{\"value\":");
        cr_head_uint(result < 0 ? (uint64_t)errno : 0);
        cr_head_text(",\"lossy\":[]}}");
        cr_tail_begin(0);
        cr_frame_end();
        return true;
    }
    cr_die("no such probe");
}
