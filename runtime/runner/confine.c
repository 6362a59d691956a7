/* Confinement of zygote and workers: defence in depth behind WebAssembly, without root. The layers, their names and
   their order are those of codemode_runtime/confine; each is applied where the system has it and reported by name, and
   what the kernel shows of a process is looked at afterwards. A gap is visible and never a failure. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "runner.h"
#ifdef __linux__
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* Of all mappings, so that page tables are bounded: a guest reserves 4 GiB and what guards it, and the next may come
   before it has gone. A worker that its supervisor forgot ends by itself after ten times the longest leg. */
#define MAX_ADDRESS_BYTES (32ull << 30)
#define MAX_STACK_BYTES (96ull << 20)
#define CPU_SECONDS 600u

extern char **environ;

static void add(cr_layers *out, const char *name, bool is_active, const char *format, ...)
{
    int number = errno;
    if (out->count == CR_MAX_LAYERS)
        cr_die("more than %d layers", CR_MAX_LAYERS);
    cr_layer *layer = &out->items[out->count++];
    bool absent = number == ENOSYS || number == EOPNOTSUPP || number == EINVAL;
    layer->name = name;
    layer->status = is_active ? "active" : absent ? "missing" : "failed";
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(layer->detail, sizeof layer->detail, format, arguments);
    va_end(arguments);
    if (!is_active && len >= 0 && (size_t)len < sizeof layer->detail)
        snprintf(layer->detail + len, sizeof layer->detail - (size_t)len, ": %s", strerror(number));
}

void cr_head_layers(const cr_layers *layers)
{
    cr_head_text("[");
    for (size_t i = 0; i < layers->count; i++) {
        const cr_layer *layer = &layers->items[i];
        cr_head_text(i ? ",{\"name\":\"" : "{\"name\":\"");
        cr_head_text(layer->name);
        cr_head_text("\",\"status\":\"");
        cr_head_text(layer->status);
        cr_head_text("\",\"detail\":");
        cr_head_string((cr_span){layer->detail, strlen(layer->detail)}, SIZE_MAX);
        cr_head_text("}");
    }
    cr_head_text("]");
}

/* ---- limits ---- */

typedef struct {
    const char *name;
    int which;
    uint64_t most;
} limit;

/* Lowers soft and hard limit, unless they are lower; one that cannot be lowered does not stop the others. */
static void apply_limits(cr_layers *out, const limit *limits, size_t count)
{
    char held[180] = "", refused[180] = "";
    size_t held_len = 0, refused_len = 0;
    int why = 0;
    for (size_t i = 0; i < count; i++) {
        struct rlimit now;
        int failed = getrlimit(limits[i].which, &now);
        rlim_t lowered = now.rlim_max == RLIM_INFINITY || now.rlim_max > limits[i].most ? limits[i].most : now.rlim_max;
        now.rlim_cur = now.rlim_max = lowered;
        if (!failed)
            failed = setrlimit(limits[i].which, &now);
        if (failed) {
            why = errno;
            refused_len += (size_t)snprintf(refused + refused_len, sizeof refused - refused_len, "%s%s",
                                            refused_len ? ", " : "", limits[i].name);
        } else
            held_len += (size_t)snprintf(held + held_len, sizeof held - held_len, "%s%s %llu", held_len ? ", " : "",
                                         limits[i].name, (unsigned long long)lowered);
    }
    errno = why;
    add(out, "limits", !why, "%s", why ? refused : held);
}

uint64_t cr_writable_bytes(void)
{
    unsigned long long fields[6] = {0};
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm)
        return 0;
    int got = 0;
    while (got < 6 && fscanf(statm, "%llu", &fields[got]) == 1)
        got++;
    fclose(statm);
    return fields[5] * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* How many descriptors from 0 on are open without a gap: with this limit none can be opened. */
static uint64_t leading_descriptors(void)
{
    int count = 0;
    while (fcntl(count, F_GETFD) >= 0)
        count++;
    return (uint64_t)count;
}

/* ---- measures ---- */

static void death_signal(cr_layers *out, pid_t parent)
{
#ifdef __linux__
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)) {
        add(out, "death_signal", false, "prctl");
        return;
    }
    if (getppid() != parent)
        kill(getpid(), SIGKILL);
    add(out, "death_signal", true, "SIGKILL when the parent ends");
#else
    (void)parent;
    errno = ENOSYS;
    add(out, "death_signal", false, "not Linux");
#endif
}

void cr_only_mortal(cr_layers *out, pid_t parent) { death_signal(out, parent); }

#ifdef __linux__

static void close_descriptors(cr_layers *out, int keep)
{
    bool done = keep > 2 && (keep == 3 || !syscall(SYS_close_range, 3, keep - 1, 0)) &&
                !syscall(SYS_close_range, keep + 1, ~0u, 0);
    add(out, "descriptors", done, done ? "all but 0, 1, 2, %d closed" : "close_range around %d", keep);
}

static void check_environment(cr_layers *out)
{
    size_t count = 0;
    while (environ[count])
        count++;
    errno = EEXIST;
    if (count)
        add(out, "environment", false, "the parent passed %zu environment variables", count);
    else
        add(out, "environment", true, "empty");
}

static void namespaces(cr_layers *out)
{
    int own = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    if (!unshare(CLONE_NEWUSER | own)) {
        add(out, "namespaces", true, "own user, network, ipc and uts namespaces");
        return;
    }
    int why = errno;
    /* where user namespaces are switched off, a privileged process can still make the others */
    if (!unshare(own)) {
        add(out, "namespaces", true, "own network, ipc and uts namespaces");
        return;
    }
    errno = why;
    add(out, "namespaces", false, "unshare");
}

void cr_prepare_zygote(cr_layers *out, int keep, pid_t parent)
{
    close_descriptors(out, keep);
    check_environment(out);
    bool privs = !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    add(out, "no_new_privs", privs, privs ? "no program this process starts can gain privileges" : "prctl");
    namespaces(out);
    /* after the namespaces: a change of credentials can disarm it */
    death_signal(out, parent);
}

/* so many mappings that are writable and executable; -1 without /proc */
static int writable_code(int maps)
{
    static char text[256 << 10];
    size_t len = 0;
    ssize_t got;
    while (len < sizeof text - 1 && (got = read(maps, text + len, sizeof text - 1 - len)) > 0)
        len += (size_t)got;
    if (!len)
        return -1;
    text[len] = 0;
    int count = 0;
    for (char *row = text; row && *row; row = strchr(row, '\n'), row += row != NULL) {
        char *rights = strchr(row, ' ');
        if (rights && rights[2] == 'w' && rights[3] == 'x')
            count++;
    }
    return count;
}

static void no_new_code(cr_layers *out)
{
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
    bool done = !prctl(PR_SET_MDWE, 1, 0, 0, 0);
    add(out, "no_new_code", done, done ? "no memory is writable and executable, and none can become so" : "prctl");
}

static void landlock(cr_layers *out)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    if (abi < 0) {
        add(out, "landlock", false, "landlock_create_ruleset");
        return;
    }
    /* thirteen rights at first; then moving between directories, truncating, ioctl; TCP; signals and abstract sockets */
    uint64_t files =
        ((1u << 13) - 1) | (abi >= 2 ? 1u << 13 : 0) | (abi >= 3 ? 1u << 14 : 0) | (abi >= 5 ? 1u << 15 : 0);
    uint64_t ruleset[3] = {files, abi >= 4 ? 3 : 0, abi >= 6 ? 3 : 0};
    int rules = (int)syscall(SYS_landlock_create_ruleset, ruleset, sizeof ruleset, 0);
    bool done = rules >= 0 && !syscall(SYS_landlock_restrict_self, rules, 0);
    int why = errno;
    if (rules >= 0)
        close(rules);
    errno = why;
    if (done)
        add(out, "landlock", true, "ABI %ld: no path%s%s", abi, abi >= 4 ? ", no TCP" : "",
            abi >= 6 ? ", no signal to outside" : "");
    else
        add(out, "landlock", false, "landlock_restrict_self");
}

static void drop_capabilities(cr_layers *out)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    bool done = !syscall(SYS_capset, &header, none);
    add(out, "capabilities", done, done ? "none left" : "capset");
}

static void fail(cr_layers *out, const char *name, const char *why)
{
    for (size_t i = 0; i < out->count; i++) {
        cr_layer *layer = &out->items[i];
        if (!strcmp(layer->name, name) && !strcmp(layer->status, "active")) {
            layer->status = "failed";
            snprintf(layer->detail, sizeof layer->detail, "%s", why);
        }
    }
}

/* A layer is reported by looking, not by having tried. The files were opened before, when that was possible. */
static void look(cr_layers *out, int status, int maps)
{
    static const struct {
        const char *layer, *row;
    } shown[] = {
        {"no_new_privs", "NoNewPrivs:\t1"},
        {"capabilities", "CapPrm:\t0000000000000000"},
        {"capabilities", "CapEff:\t0000000000000000"},
        {"seccomp", "Seccomp:\t2"},
    };
    char text[8192], name[32], said[80];
    ssize_t len = status >= 0 ? read(status, text, sizeof text - 1) : 0;
    text[len > 0 ? len : 0] = 0;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        size_t key = (size_t)(strchr(shown[i].row, '\t') - shown[i].row);
        snprintf(name, sizeof name, "\n%.*s", (int)key, shown[i].row);
        char *row = strstr(text, name);
        if (!row || !strncmp(row + 1, shown[i].row, strlen(shown[i].row)))
            continue;
        snprintf(said, sizeof said, "the kernel shows %.*s", (int)strcspn(row + 1, "\n"), row + 1);
        fail(out, shown[i].layer, said);
    }
    int writable = maps >= 0 ? writable_code(maps) : -1;
    if (writable > 0) {
        snprintf(said, sizeof said, "%d mappings are writable and executable", writable);
        fail(out, "no_new_code", said);
    }
}

void cr_confine_zygote(cr_layers *out)
{
    static const limit limits[] = {
        {"core", RLIMIT_CORE, 0},
        {"fsize", RLIMIT_FSIZE, 0},
        {"memlock", RLIMIT_MEMLOCK, 0},
        {"msgqueue", RLIMIT_MSGQUEUE, 0},
    };
    int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC), maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    no_new_code(out);
    bool done = !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    add(out, "not_dumpable", done, done ? "no core dump, no tracing by other processes" : "prctl");
    landlock(out);
    drop_capabilities(out);
    apply_limits(out, limits, sizeof limits / sizeof *limits);
    /* last, because the filter does not allow the measures above */
    done = !cr_filter_zygote();
    add(out, "seccomp", done, done ? "what is not on the list kills the process" : "seccomp");
    look(out, status, maps);
    close(status);
    close(maps);
}

#else

void cr_prepare_zygote(cr_layers *out, int keep, pid_t parent)
{
    (void)keep;
    death_signal(out, parent);
}

void cr_confine_zygote(cr_layers *out)
{
    static const limit limits[] = {{"core", RLIMIT_CORE, 0}, {"fsize", RLIMIT_FSIZE, 0}};
    apply_limits(out, limits, sizeof limits / sizeof *limits);
}

#endif

void cr_confine_worker(cr_layers *out, uint64_t data_bytes, pid_t parent)
{
    /* no further process or descriptor; the memory that a guest reserves counts for the address space only */
    const limit limits[] = {
        {"data", RLIMIT_DATA, data_bytes},
        {"as", RLIMIT_AS, MAX_ADDRESS_BYTES},
        {"stack", RLIMIT_STACK, MAX_STACK_BYTES},
        {"cpu", RLIMIT_CPU, CPU_SECONDS},
        {"nproc", RLIMIT_NPROC, 0},
        {"nofile", RLIMIT_NOFILE, leading_descriptors()},
    };
    death_signal(out, parent);
    apply_limits(out, limits, sizeof limits / sizeof *limits);
    bool done = !cr_filter_worker(getpid());
    add(out, "seccomp", done, done ? "what is not on the list kills the process" : "seccomp");
}
