/* The system calls that a zygote and a worker of the runner may still make, as seccomp filters.

   The list is shorter than that of the interpreter (confine/allowlist.py): there are no threads to wake, no files to
   look for, no lazy imports. allow: what guests needed in every way they end (strace). refuse: what honest libraries do
   in passing and survive. Everything else kills the process. */
#include <errno.h>
#include <fcntl.h>
#include "runner.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define OWN_ARCH AUDIT_ARCH_X86_64
#else
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif
#define X32_BIT 0x40000000u /* the x32 calls have x86_64's architecture word, and numbers from here on */
#define MAX_INSTRUCTIONS 256
#define CLONE_NEW_ANY 0x7E020000u /* the flags that make namespaces */

static struct sock_filter code[MAX_INSTRUCTIONS];
static unsigned short used;

static void emit(unsigned short operation, unsigned char if_true, unsigned char if_false, unsigned value)
{
    if (used == MAX_INSTRUCTIONS)
        cr_die("a filter of more than %d instructions", MAX_INSTRUCTIONS);
    code[used++] = (struct sock_filter){operation, if_true, if_false, value};
}

static void load(size_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset); }

static void give(unsigned action) { emit(BPF_RET | BPF_K, 0, 0, action); }

static unsigned refusal(int number) { return SECCOMP_RET_ERRNO | (unsigned)number; }

static size_t argument(int number, bool upper)
{
    return offsetof(struct seccomp_data, args) + 8u * (unsigned)number + (upper ? 4 : 0);
}

static void begin(void)
{
    used = 0;
    load(offsetof(struct seccomp_data, arch));
    emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OWN_ARCH);
    give(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    emit(BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
    give(SECCOMP_RET_KILL_PROCESS);
#endif
}

static void always(long call, unsigned action)
{
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)call);
    give(action);
}

/* Allows the call if no bit of the mask is set in the argument; else the action. */
static void allow_without(long call, int number, unsigned mask, unsigned otherwise)
{
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, (unsigned)call);
    load(argument(number, false));
    emit(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    give(SECCOMP_RET_ALLOW);
    give(otherwise);
}

/* Allows the call if the lower word of the argument is this; else the action. */
static void allow_equal(long call, int number, unsigned value, unsigned otherwise)
{
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (unsigned)call);
    load(argument(number, false));
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    give(SECCOMP_RET_ALLOW);
    give(otherwise);
}

/* Allows the call if the argument, a pointer, is NULL; else the action. */
static void allow_null(long call, int number, unsigned otherwise)
{
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 6, (unsigned)call);
    load(argument(number, false));
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
    load(argument(number, true));
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    give(SECCOMP_RET_ALLOW);
    give(otherwise);
}

/* mmap: nothing executable, and nothing that RLIMIT_DATA does not count (shared and grow-down mappings) */
static void allow_mmap(void)
{
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 8, SYS_mmap);
    load(argument(2, false));
    emit(BPF_ALU | BPF_AND | BPF_K, 0, 0, PROT_EXEC);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, 0);
    load(argument(3, false));
    emit(BPF_ALU | BPF_AND | BPF_K, 0, 0, MAP_SHARED | MAP_GROWSDOWN);
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    give(SECCOMP_RET_ALLOW);
    give(SECCOMP_RET_KILL_PROCESS);
}

/* what both need, the most frequent first */
static void common(void)
{
    always(SYS_recvfrom, SECCOMP_RET_ALLOW);
    allow_null(SYS_sendto, 4, SECCOMP_RET_KILL_PROCESS); /* an address would let a datagram socket reach others */
    always(SYS_setitimer, SECCOMP_RET_ALLOW);
    always(SYS_getrandom, SECCOMP_RET_ALLOW);
    always(SYS_madvise, SECCOMP_RET_ALLOW);
    allow_without(SYS_mprotect, 2, PROT_EXEC, SECCOMP_RET_KILL_PROCESS);
    allow_mmap();
    always(SYS_munmap, SECCOMP_RET_ALLOW);
    always(SYS_mremap, SECCOMP_RET_ALLOW);
    always(SYS_brk, SECCOMP_RET_ALLOW);
    always(SYS_rt_sigreturn, SECCOMP_RET_ALLOW);
    always(SYS_rt_sigaction, SECCOMP_RET_ALLOW);
    always(SYS_rt_sigprocmask, SECCOMP_RET_ALLOW);
    always(SYS_sigaltstack, SECCOMP_RET_ALLOW);
    always(SYS_exit_group, SECCOMP_RET_ALLOW);
    always(SYS_exit, SECCOMP_RET_ALLOW);
    always(SYS_restart_syscall, SECCOMP_RET_ALLOW);
    always(SYS_futex, SECCOMP_RET_ALLOW);         /* locks of malloc and of the engine, which nobody else holds */
    always(SYS_clock_gettime, SECCOMP_RET_ALLOW); /* where the vDSO cannot answer */
    always(SYS_getpid, SECCOMP_RET_ALLOW);
    always(SYS_gettid, SECCOMP_RET_ALLOW);
}

/* what fails and is survived: the answer Landlock gives too, so that the layers look alike from inside */
static void refused(void)
{
    static const long paths[] = {
#ifdef SYS_open
        SYS_open,
#endif
        SYS_openat,
        SYS_newfstatat,
        SYS_readlinkat,
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        always(paths[i], refusal(EACCES));
    always(SYS_write, refusal(EBADF)); /* of a message to standard error, which leads nowhere */
}

static int install(void)
{
    give(SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {used, code};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int cr_filter_worker(pid_t own)
{
    begin();
    common();
    /* abort() and raise() signal the caller: with these a crash keeps its own signal */
    allow_equal(SYS_kill, 0, (unsigned)own, SECCOMP_RET_KILL_PROCESS);
    allow_equal(SYS_tgkill, 0, (unsigned)own, SECCOMP_RET_KILL_PROCESS);
    refused();
    return install();
}

int cr_filter_zygote(void)
{
    begin();
    common();
    always(SYS_pselect6, SECCOMP_RET_ALLOW);
    always(SYS_recvmsg, SECCOMP_RET_ALLOW);
    always(SYS_close, SECCOMP_RET_ALLOW);
    always(SYS_wait4, SECCOMP_RET_ALLOW);
    always(SYS_getppid, SECCOMP_RET_ALLOW);
    always(SYS_set_robust_list, SECCOMP_RET_ALLOW);
    always(SYS_rseq, SECCOMP_RET_ALLOW);
    always(SYS_set_tid_address, SECCOMP_RET_ALLOW);
    always(SYS_read, SECCOMP_RET_ALLOW); /* of what the kernel shows, opened before */
    always(SYS_write, SECCOMP_RET_ALLOW);
    /* the pids of workers are not known yet; Landlock keeps signals inside the family */
    always(SYS_kill, SECCOMP_RET_ALLOW);
    always(SYS_tgkill, SECCOMP_RET_ALLOW);
    allow_without(SYS_clone, 0, CLONE_NEW_ANY, SECCOMP_RET_KILL_PROCESS);
    always(SYS_clone3, refusal(ENOSYS)); /* its flags are behind a pointer; libc then uses clone */
    allow_equal(SYS_prctl, 0, PR_SET_PDEATHSIG, refusal(EPERM));
    always(SYS_prlimit64, SECCOMP_RET_ALLOW);
    allow_equal(SYS_fcntl, 1, F_GETFD, refusal(EPERM)); /* which descriptors are open */
    allow_equal(SYS_seccomp, 0, SECCOMP_SET_MODE_FILTER, SECCOMP_RET_KILL_PROCESS);
    refused();
    return install();
}

#else

int cr_filter_worker(pid_t own)
{
    (void)own;
    errno = ENOSYS;
    return -1;
}

int cr_filter_zygote(void)
{
    errno = ENOSYS;
    return -1;
}

#endif
