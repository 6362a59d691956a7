/* The zygote: a small, confined process that has loaded everything and forks ripe workers on demand.

   The host starts it with an empty environment and one socket, and hands it a socket for each worker it wants. After
   confinement it runs no guest and reads nothing that a guest wrote. It ends when the host's end of its socket closes,
   for any reason, and ends its workers too. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runner.h"

enum { SETUP = 1, SPAWN, KILL };
enum { CONFINED = 1, FORKS = 2 };
enum { SETUP_BYTES = 8, ORDER_BYTES = 8, FRAME_BYTES = 8 };
#define ROOM (16u << 10)          /* for orders that have arrived; one has eight bytes, but for the first */
#define MAX_DESCRIPTORS 64        /* in one read; more than the host ever has on the way */
#define ROOM_BYTES (256ull << 20) /* for frames in and out and the copies of a capture, beside the guest's memory */
#define COPIES 4
#define LOWEST 3 /* descriptor beside the standard ones */

typedef struct {
    uint32_t token;
    pid_t pid;
} child;

static int control;
static const cr_image *image;
static child *children; /* owned; those that live */
static size_t children_count, children_room;
static int descriptors[MAX_DESCRIPTORS * 2];
static size_t descriptors_count;
static char orders[ROOM];
static size_t orders_len;
static uint32_t memory_bytes;
static uint64_t data_bytes;
static bool is_confined;

static void tell(void)
{
    cr_tail_begin(0);
    cr_frame_end();
}

static void tell_token(const char *type, uint32_t token)
{
    cr_head_begin();
    cr_head_text("{\"type\":\"");
    cr_head_text(type);
    cr_head_text("\",\"token\":");
    cr_head_uint(token);
}

static void tell_compiling(void)
{
    cr_head_begin();
    cr_head_text("{\"type\":\"compiling\"}");
    tell();
}

/* ---- orders ---- */

/* Receives once; false when the host is gone. Descriptors that come along are kept in order. */
static bool receive(void)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * MAX_DESCRIPTORS)];
    } extra;
    struct iovec room = {orders + orders_len, sizeof orders - orders_len};
    struct msghdr message = {
        .msg_iov = &room, .msg_iovlen = 1, .msg_control = extra.bytes, .msg_controllen = sizeof extra.bytes};
    ssize_t got;
    do
        got = recvmsg(control, &message, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    orders_len += (size_t)got;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        if (descriptors_count + count > sizeof descriptors / sizeof *descriptors)
            cr_die("more descriptors than orders");
        memcpy(descriptors + descriptors_count, CMSG_DATA(part), count * sizeof(int));
        descriptors_count += count;
    }
    return true;
}

/* The head of the next whole order; it stays where it is until forget. */
static bool next_order(cr_span *head)
{
    if (orders_len < FRAME_BYTES)
        return false;
    uint32_t len = cr_u32(orders), tail = cr_u32(orders + 4);
    if (tail || len > sizeof orders - FRAME_BYTES)
        cr_die("an order of %u + %u bytes", len, tail);
    *head = (cr_span){orders + FRAME_BYTES, len};
    return orders_len >= FRAME_BYTES + len;
}

static void forget(cr_span head)
{
    size_t size = FRAME_BYTES + head.len;
    memmove(orders, orders + size, orders_len - size);
    orders_len -= size;
}

static int take_descriptor(void)
{
    if (!descriptors_count)
        cr_die("a worker without a socket");
    int first = descriptors[0];
    memmove(descriptors, descriptors + 1, --descriptors_count * sizeof(int));
    return first;
}

/* ---- workers ---- */

/* A worker has its own socket and nothing else that leads anywhere. */
static void keep_only(int connection)
{
    close(control);
    for (size_t i = 0; i < descriptors_count; i++)
        close(descriptors[i]);
    cr_line_use(connection);
}

static void live_as_worker(int connection, pid_t parent)
{
    cr_layers layers = {.count = 0};
    signal(SIGCHLD, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    keep_only(connection);
    if (is_confined)
        cr_confine_worker(&layers, data_bytes, parent);
    else
        cr_only_mortal(&layers, parent);
    cr_guest_warm();
    cr_worker_serve(image, memory_bytes, &layers);
    _exit(0);
}

static void spawn(uint32_t token)
{
    int connection = take_descriptor();
    pid_t own = getpid(), pid = fork();
    if (pid == 0)
        live_as_worker(connection, own);
    int why = errno;
    close(connection);
    if (pid < 0) { /* the system has no room for this one; those that live are not concerned */
        tell_token("notspawned", token);
        cr_head_text(",\"reason\":");
        const char *reason = strerror(why);
        cr_head_string((cr_span){reason, strlen(reason)}, SIZE_MAX);
        cr_head_text("}");
        tell();
        return;
    }
    if (children_count == children_room) {
        children_room = children_room ? 2 * children_room : 64;
        children = realloc(children, children_room * sizeof *children);
        if (!children)
            cr_die("no memory for another worker");
    }
    children[children_count++] = (child){token, pid};
    tell_token("spawned", token);
    cr_head_text(",\"pid\":");
    cr_head_uint((uint64_t)pid);
    cr_head_text("}");
    tell();
}

static void reap(void)
{
    int status;
    pid_t pid;
    while (children_count && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
        size_t i = 0;
        while (i < children_count && children[i].pid != pid)
            i++;
        if (i == children_count)
            continue;
        uint32_t token = children[i].token;
        children[i] = children[--children_count];
        tell_token("exited", token);
        cr_head_text(",\"status\":");
        if (WIFSIGNALED(status)) {
            cr_head_text("-");
            cr_head_uint((uint64_t)WTERMSIG(status));
        } else
            cr_head_uint((uint64_t)WEXITSTATUS(status));
        cr_head_text("}");
        tell();
    }
}

static void end_workers(void)
{
    for (size_t i = 0; i < children_count; i++)
        kill(children[i].pid, SIGKILL);
    for (size_t i = 0; i < children_count; i++)
        waitpid(children[i].pid, NULL, 0);
}

static void obey(cr_span head)
{
    if (head.len != ORDER_BYTES)
        cr_die("an order of %zu bytes", head.len);
    uint32_t token = cr_u32(head.data + 4);
    switch (head.data[0]) {
    case SPAWN:
        forget(head);
        spawn(token);
        return;
    case KILL:
        /* only a parent can be sure whose pid it signals: until it reaps, no other process gets it */
        for (size_t i = 0; i < children_count; i++)
            if (children[i].token == token)
                kill(children[i].pid, SIGKILL);
        forget(head);
        return;
    default:
        cr_die("an order of kind %d", head.data[0]);
    }
}

static void ignore(int number)
{
    (void)number; /* a handler, because an ignored SIGCHLD would not wake the poll and would reap children unseen */
}

static void fork_on_demand(void)
{
    sigset_t blocked, open;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &open);
    signal(SIGCHLD, ignore);
    cr_span head;
    for (;;) {
        fd_set news;
        FD_ZERO(&news);
        FD_SET(control, &news);
        int found = pselect(control + 1, &news, NULL, NULL, NULL, &open); /* SIGCHLD can only arrive here */
        reap();
        if (found <= 0)
            continue;
        if (!receive())
            break;
        while (next_order(&head))
            obey(head);
    }
    end_workers();
}

/* Without fork there is one worker, so its token does not matter: this process ends with it. */
static void become_the_worker(pid_t host)
{
    while (!descriptors_count)
        if (!receive())
            return;
    live_as_worker(take_descriptor(), host);
}

/* ---- from start to end ---- */

static void load(const char *cache, bool trusted)
{
    cr_wasm_open(image);
    cr_compiled_load(image, cache, trusted, tell_compiling);
    cr_wasm_link();
    cr_guest_new(image, memory_bytes);
    cr_guest_find_hot();
    cr_guest_drop();
    data_bytes = cr_writable_bytes() + ROOM_BYTES + COPIES * (uint64_t)memory_bytes;
    cr_guest_new(image, memory_bytes); /* the guest of every worker: each fork has its own copy */
}

void cr_zygote_run(const cr_image *its_image, int its_control, pid_t host)
{
    cr_layers layers = {.count = 0};
    cr_span head;
    control = fcntl(its_control, F_DUPFD_CLOEXEC, LOWEST); /* select takes no high number */
    if (control < 0 || control >= FD_SETSIZE)
        cr_die_errno("the control socket");
    close(its_control);
    image = its_image;
    cr_line_use(control);
    while (!next_order(&head))
        if (!receive())
            return;
    if (head.len < SETUP_BYTES || head.data[0] != SETUP)
        cr_die("the first order is no setup");
    uint8_t flags = (uint8_t)head.data[1];
    is_confined = flags & CONFINED;
    memory_bytes = cr_u32(head.data + 4);
    char *cache = strndup(head.data + SETUP_BYTES, head.len - SETUP_BYTES);
    forget(head);
    bool trusted = cache && *cache && cr_is_private(cache); /* asked first: in our own namespace it cannot be told */
    if (is_confined)
        cr_prepare_zygote(&layers, control, host);
    else
        cr_only_mortal(&layers, host);
    load(cache, trusted);
    /* nothing can be printed afterwards: workers must not hold a descriptor that leads anywhere */
    dup2(0, 1);
    dup2(0, 2);
    if (is_confined)
        cr_confine_zygote(&layers);
    cr_head_begin();
    cr_head_text("{\"type\":\"zygoteready\",\"build_id\":\"");
    for (int i = 0; i < 16; i++) {
        static const char digits[] = "0123456789abcdef";
        char pair[2] = {digits[image->build_id[i] >> 4], digits[image->build_id[i] & 15]};
        cr_head_put(pair, 2);
    }
    cr_head_text("\",\"layers\":");
    cr_head_layers(&layers);
    cr_head_text("}");
    tell();
    if (flags & FORKS)
        fork_on_demand();
    else
        become_the_worker(host);
}
