/* Frames on the worker's socket: two 32-bit lengths, a head and a tail, as in frames.py.

   Waking costs both sides tens of microseconds, more than answering a quick tool call. So a worker that expects an
   answer looks for it for a moment before it sleeps, as long as that pays (docs/decisions/0004). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "runner.h"

#define CHUNK (64u << 10)
#define HEADER 8u
#define MAX_HEAD (64u << 20)
#define MAX_TAIL (320u << 20)
#define LOOK_US 500u
#define HEAD_ROOM (1u << 20) /* the host takes no longer head */

static int line = -1;
static uint64_t look_until;
static bool is_quick = true;

/* ---- in ---- */

static char chunk[CHUNK];
static size_t chunk_at, chunk_len; /* what was received and not yet handed out */
static char *large;                /* owned; the bytes of a frame that does not fit the chunk */

void cr_line_use(int descriptor) { line = descriptor; }

void cr_line_attend(void)
{
    is_quick = true;
    look_until = cr_now_us() + LOOK_US;
}

/* so many bytes that are there now, or -1 */
static ssize_t look(char *into, size_t room)
{
    while (cr_now_us() < look_until) {
        ssize_t got = recv(line, into, room, MSG_DONTWAIT);
        if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return got;
    }
    return -1;
}

/* at least one byte; false at the end */
static bool receive_some(char *into, size_t room, size_t *got, bool soon)
{
    ssize_t count = soon && is_quick ? look(into, room) : -1;
    while (count < 0) {
        count = recv(line, into, room, 0);
        if (count < 0 && errno != EINTR)
            return false;
    }
    *got = (size_t)count;
    return count > 0;
}

static bool fill_chunk(size_t want, bool soon)
{
    if (chunk_at && chunk_at + want > CHUNK) {
        memmove(chunk, chunk + chunk_at, chunk_len - chunk_at);
        chunk_len -= chunk_at;
        chunk_at = 0;
    }
    bool first = true;
    while (chunk_len - chunk_at < want) {
        size_t got;
        if (!receive_some(chunk + chunk_len, CHUNK - chunk_len, &got, soon && first))
            return false;
        if (first)
            is_quick = cr_now_us() < look_until;
        first = false;
        chunk_len += got;
    }
    return true;
}

bool cr_line_receive(cr_frame *out, bool soon)
{
    free(large);
    large = NULL;
    if (chunk_at == chunk_len)
        chunk_at = chunk_len = 0;
    if (!fill_chunk(HEADER, soon))
        return false;
    size_t head = cr_u32(chunk + chunk_at), tail = cr_u32(chunk + chunk_at + 4);
    if (head > MAX_HEAD || tail > MAX_TAIL)
        cr_die("a frame of %zu + %zu bytes was announced", head, tail);
    char *bytes;
    if (HEADER + head + tail <= CHUNK) {
        if (!fill_chunk(HEADER + head + tail, false))
            return false;
        bytes = chunk + chunk_at + HEADER;
        chunk_at += HEADER + head + tail;
    } else {
        bytes = large = malloc(head + tail);
        if (!large)
            cr_die("no memory for a frame of %zu bytes", head + tail);
        chunk_at += HEADER;
        size_t have = chunk_len - chunk_at;
        memcpy(large, chunk + chunk_at, have); /* less than the frame, which does not fit the chunk */
        chunk_at = chunk_len = 0;
        while (have < head + tail) {
            size_t got;
            if (!receive_some(large + have, head + tail - have, &got, false))
                return false;
            have += got;
        }
    }
    out->head = (cr_span){bytes, head};
    out->tail = (cr_span){bytes + head, tail};
    return true;
}

/* ---- out ---- */

static char head_bytes[HEADER + HEAD_ROOM + CHUNK]; /* a small tail goes with it, in one send */
static size_t head_len, put_len, tail_left;
static volatile bool is_busy;

bool cr_line_is_busy(void) { return is_busy; }

static void send_all(const char *data, size_t len)
{
    while (len) {
        ssize_t sent = send(line, data, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            cr_die("the host is gone");
        data += sent;
        len -= (size_t)sent;
    }
}

void cr_head_begin(void)
{
    is_busy = true;
    head_len = 0;
}

void cr_head_put(const void *data, size_t len)
{
    if (len > HEAD_ROOM - head_len)
        cr_die("a head of more than %u bytes", HEAD_ROOM);
    memcpy(head_bytes + HEADER + head_len, data, len);
    head_len += len;
}

void cr_head_text(const char *text) { cr_head_put(text, strlen(text)); }

void cr_head_uint(uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    cr_head_put(digits + at, sizeof digits - at);
}

/* bytes of the valid character at the start, 0 if there is none */
static size_t character(const uint8_t *s, size_t len)
{
    if (s[0] < 0x80)
        return 1;
    size_t size = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || size > len)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return size;
}

void cr_head_string(cr_span utf8, size_t most)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = (const uint8_t *)utf8.data, *end = at + utf8.len;
    cr_head_put("\"", 1);
    for (; at < end && most; most--) {
        size_t size = character(at, (size_t)(end - at));
        if (!size) {
            cr_head_put("\xEF\xBF\xBD", 3);
            at++;
        } else if (*at == '"' || *at == '\\') {
            char escaped[2] = {'\\', (char)*at++};
            cr_head_put(escaped, 2);
        } else if (*at < 0x20) {
            char escaped[6] = {'\\', 'u', '0', '0', digits[*at >> 4], digits[*at & 15]};
            cr_head_put(escaped, 6);
            at++;
        } else {
            cr_head_put(at, size);
            at += size;
        }
    }
    cr_head_put("\"", 1);
}

void cr_tail_begin(size_t len)
{
    if (len > MAX_TAIL)
        cr_die("a tail of %zu bytes", len);
    for (int i = 0; i < 4; i++) {
        head_bytes[i] = (char)(head_len >> 8 * i);
        head_bytes[4 + i] = (char)(len >> 8 * i);
    }
    put_len = HEADER + head_len;
    tail_left = len;
}

void cr_tail_put(const void *data, size_t len)
{
    if (len > tail_left)
        cr_die("more came than was announced");
    tail_left -= len;
    if (len <= sizeof head_bytes - put_len && len < CHUNK) {
        memcpy(head_bytes + put_len, data, len);
        put_len += len;
        return;
    }
    send_all(head_bytes, put_len);
    put_len = 0;
    if (len < CHUNK) {
        memcpy(head_bytes, data, len);
        put_len = len;
    } else
        send_all(data, len);
}

void cr_frame_end(void)
{
    if (tail_left)
        cr_die("less came than was announced");
    send_all(head_bytes, put_len);
    look_until = cr_now_us() + LOOK_US;
    is_busy = false;
}
