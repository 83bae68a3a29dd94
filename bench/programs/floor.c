/* The floor: what the machine takes for a load of `blast`, whatever a broker is written in.
 *
 *   floor --data-dir D        prints "floor ready 127.0.0.1:PORT"
 *
 * One thread makes the system calls that Barnabas makes, in the same order, and does nothing else: it waits for sockets, reads
 * whatever has come, writes each batch to a segment file, and writes the answer. The first answer of a read leaves at once, the
 * others together; a Fetch is one read of the file and one write. What does not go to the kernel whole waits until the socket can
 * be written to, and nothing is read meanwhile.
 *
 * It answers Produce v9 of one partition and Fetch v12, correctly where every batch has the same size. There is one log: a topic
 * that is not the last one begins it anew. No batch is checked, no duplicate looked for, no index written, nothing limited.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "wire.h"

enum { SHARED_BYTES = 64 << 10, EVENTS = 1024, NAME_MAX_BYTES = 249 };

typedef struct {
    int fd;
    Buffer left;   /* the beginning of a frame whose end has not come */
    Buffer unsent; /* answers that the kernel did not take, from `sent` on */
    size_t sent;
} Connection;

static int poll_fd, log_fd;
static int64_t next_offset, log_end;
static int64_t batch_size = 1, batch_records = 1; /* of every batch in the log */
static char topic[NAME_MAX_BYTES + 1];

static uint64_t get_uvarint(const uint8_t **p) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

static void reserve(Buffer *b, size_t n) {
    if (b->size + n <= b->capacity) return;
    b->capacity = b->size + n;
    b->data = realloc(b->data, b->capacity);
    if (!b->data) die("realloc");
}

/* ---- answers: appended to `out`, each with its size in front ---- */

static size_t begin_answer(Buffer *out, const uint8_t *request) {
    size_t start = out->size;
    put_int(out, 0, 4); /* size, patched */
    put(out, request + 4, 4); /* correlation id */
    put_uvarint(out, 0);
    return start;
}

static void end_answer(Buffer *out, size_t start) { set_int(out->data + start, (int64_t)(out->size - start) - 4, 4); }

static void put_topic(Buffer *out, const uint8_t *name, size_t size) {
    put_uvarint(out, 2);
    put_uvarint(out, size + 1);
    put(out, name, size);
    put_uvarint(out, 2);
}

/* The log begins anew with a topic that is not the last one. */
static void choose(const uint8_t *name, size_t size) {
    if (size > NAME_MAX_BYTES) die("a topic's name");
    if (strlen(topic) == size && !memcmp(topic, name, size)) return;
    memcpy(topic, name, size);
    topic[size] = 0;
    next_offset = log_end = 0;
    if (ftruncate(log_fd, 0)) die("ftruncate");
}

static void append(uint8_t *batch, size_t size) {
    set_int(batch, next_offset, 8);
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(log_fd, batch + done, size - done, log_end + (int64_t)done);
        if (n < 0) die("pwrite");
        done += (size_t)n;
    }
    batch_size = (int64_t)size;
    batch_records = get_int(batch + 23, 4) + 1;
    next_offset += batch_records;
    log_end += batch_size;
}

static void answer_produce(Buffer *out, const uint8_t *request, const uint8_t *p) {
    uint64_t id_size = get_uvarint(&p); /* transactional id */
    if (id_size) p += id_size - 1;
    p += 2 + 4; /* acks, timeout */
    get_uvarint(&p);
    size_t name_size = get_uvarint(&p) - 1;
    const uint8_t *name = p;
    p += name_size;
    get_uvarint(&p);
    int64_t partition = get_int(p, 4);
    p += 4;
    size_t size = get_uvarint(&p) - 1;
    choose(name, name_size);
    int64_t base = next_offset;
    append((uint8_t *)p, size);
    size_t start = begin_answer(out, request);
    put_topic(out, name, name_size);
    put_int(out, partition, 4);
    put_int(out, 0, 2); /* error */
    put_int(out, base, 8);
    put_int(out, -1, 8); /* append time */
    put_int(out, 0, 8); /* log start */
    put(out, "\1\0\0\0", 4); /* no record errors, no message; tags of the partition and the topic */
    put_int(out, 0, 4); /* throttle time */
    put_uvarint(out, 0);
    end_answer(out, start);
}

static void answer_fetch(Buffer *out, const uint8_t *request, const uint8_t *p) {
    p += 4 + 4 + 4 + 4 + 1 + 4 + 4; /* replica, wait, bytes at least and at most, isolation, session id and epoch */
    get_uvarint(&p);
    size_t name_size = get_uvarint(&p) - 1;
    const uint8_t *name = p;
    p += name_size;
    get_uvarint(&p);
    int64_t offset = get_int(p + 8, 8), bytes_max = get_int(p + 28, 4);
    int64_t position = offset / batch_records * batch_size, size = log_end - position;
    if (size > bytes_max) size = bytes_max / batch_size * batch_size;
    if (size < 0) size = 0;
    size_t start = begin_answer(out, request);
    put_int(out, 0, 4); /* throttle time */
    put_int(out, 0, 2); /* error */
    put_int(out, 0, 4); /* session */
    put_topic(out, name, name_size);
    put_int(out, get_int(p, 4), 4);
    put_int(out, 0, 2); /* error */
    put_int(out, next_offset, 8); /* high watermark */
    put_int(out, next_offset, 8); /* last stable offset */
    put_int(out, 0, 8); /* log start */
    put_uvarint(out, 0); /* aborted transactions: null */
    put_int(out, -1, 4); /* preferred replica */
    put_uvarint(out, (uint64_t)size + 1);
    reserve(out, (size_t)size + 3);
    if (size && pread(log_fd, out->data + out->size, (size_t)size, position) != size) die("pread");
    out->size += (size_t)size;
    put(out, "\0\0\0", 3); /* tags of the partition, the topic, the response */
    end_answer(out, start);
}

static void answer(Buffer *out, uint8_t *request) {
    int key = (int)get_int(request, 2), version = (int)get_int(request + 2, 2);
    const uint8_t *p = request + 10;
    int64_t client_id = get_int(request + 8, 2);
    if (client_id > 0) p += client_id;
    get_uvarint(&p);
    if (key == 0 && version == 9) answer_produce(out, request, p);
    else if (key == 1 && version == 12) answer_fetch(out, request, p);
    else {
        fprintf(stderr, "floor: API %d, version %d\n", key, version);
        exit(1);
    }
}

/* ---- connections ---- */

static void watch(Connection *c, uint32_t events, int change) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(poll_fd, change, c->fd, &event)) die("epoll_ctl");
}

static void close_connection(Connection *c) {
    close(c->fd);
    free(c->left.data);
    free(c->unsent.data);
    free(c);
}

/* Returns 0 when the peer is gone. Bytes that the kernel does not accept stay: the connection then owns the buffer. */
static int send_answers(Connection *c, Buffer *answers) {
    if (c->unsent.size) return put(&c->unsent, answers->data, answers->size), 1;
    ssize_t n = write(c->fd, answers->data, answers->size);
    if (n < 0 && errno != EAGAIN) return 0;
    size_t sent = n < 0 ? 0 : (size_t)n;
    if (sent < answers->size) {
        Buffer empty = c->unsent;
        c->unsent = *answers;
        c->sent = sent;
        *answers = empty;
        watch(c, EPOLLOUT, EPOLL_CTL_MOD);
    }
    return 1;
}

static int send_unsent(Connection *c) {
    ssize_t n = write(c->fd, c->unsent.data + c->sent, c->unsent.size - c->sent);
    if (n < 0) return errno == EAGAIN;
    c->sent += (size_t)n;
    if (c->sent == c->unsent.size) {
        c->sent = c->unsent.size = 0;
        watch(c, EPOLLIN, EPOLL_CTL_MOD);
    }
    return 1;
}

static int serve(Connection *c) {
    static uint8_t shared[SHARED_BYTES];
    static Buffer first, later;
    uint8_t *input = shared;
    size_t have = c->left.size, room = SHARED_BYTES;
    if (have) {
        reserve(&c->left, SHARED_BYTES);
        input = c->left.data;
        room = c->left.capacity - have;
    }
    ssize_t n = read(c->fd, input + have, room);
    if (n < 0 && errno == EAGAIN) return 1;
    if (n <= 0) return 0;
    have += (size_t)n;
    size_t at = 0;
    int is_first = 1;
    later.size = 0;
    while (have - at >= 4) {
        size_t size = (size_t)get_int(input + at, 4);
        if (have - at < 4 + size) break;
        if (is_first) {
            first.size = 0;
            answer(&first, input + at + 4);
            if (!send_answers(c, &first)) return 0;
            is_first = 0;
        } else {
            answer(&later, input + at + 4);
        }
        at += 4 + size;
    }
    if (later.size && !send_answers(c, &later)) return 0;
    if (input == shared) {
        if (have > at) put(&c->left, input + at, have - at);
    } else {
        memmove(input, input + at, have - at);
        c->left.size = have - at;
    }
    return 1;
}

static void accept_connection(int listening) {
    int one = 1, fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) die("accept4");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    Connection *c = calloc(1, sizeof *c);
    if (!c) die("calloc");
    c->fd = fd;
    watch(c, EPOLLIN, EPOLL_CTL_ADD);
}

static int listen_anywhere(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, 1024)) die("listen");
    if (getsockname(fd, (struct sockaddr *)&address, &size)) die("getsockname");
    printf("floor ready 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 3 || strcmp(argv[1], "--data-dir")) return fprintf(stderr, "usage: floor --data-dir D\n"), 2;
    snprintf(path, sizeof path, "%s/floor.log", argv[2]);
    log_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (log_fd < 0) die(path);
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    int listening = listen_anywhere();
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, listening, &event)) die("epoll_ctl");
    for (;;) {
        int ready = epoll_wait(poll_fd, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            Connection *c = events[i].data.ptr;
            if (!c) accept_connection(listening);
            else if (!(c->unsent.size ? send_unsent(c) : serve(c))) close_connection(c);
        }
    }
}
