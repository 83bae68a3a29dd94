/* A raw Kafka load generator: as little client as can be, so that the broker is what is measured.
 *
 *   blast produce --port P --topic T [--connections 1] [--depth 1] [--size 100] [--records 1] [--seconds 5] [--partitions 1]
 *                 [--count 0]
 *   blast repeat  --port P --frames F [--connections 1] [--depth 1] [--seconds 5]
 *   blast fetch   --port P --topic T [--max-bytes 1048576] [--seconds 5]
 *   blast handshake --port P [--seconds 5]
 *
 * Each also with --tls 1 (blast-tls only) and --user NAME:PASSWORD (SASL/PLAIN).
 *
 * produce: every connection keeps `depth` Produce v9 requests (acks=1, no producer id) in flight; connection i writes to
 * partition i mod partitions; it ends when `count` requests are answered, unless that is 0. repeat: the same with requests of any
 * kind: F holds pairs of a request and the answer it must get (without its correlation id), each preceded by its size as an int32;
 * connection i sends request i mod their number. Every connection has had one answer before the clock starts. fetch: one connection
 * reads partition 0 from offset 0 to its end with Fetch v12, again and again, until the time is up. handshake: one connection
 * after the other is opened, authenticated and closed.
 * Prints one line of JSON. It knows one request and one response of each kind and checks only their error codes.
 */
#define _GNU_SOURCE
#include <sys/epoll.h>

#include "stream.h"

enum { MAX_DEPTH = 256, RESPONSE_MAX = 64 << 20, INPUT_MAX = 2 << 20, LATENCIES_MAX = 20000000 };

static struct {
    int port, connections, depth, size, records, partitions;
    size_t count;
    double seconds;
    int max_bytes;
    const char *topic, *frames, *user;
    int tls;
} options = {9092, 1, 1, 100, 1, 1, 0, 5.0, 1 << 20, "bench", NULL, NULL, 0};

static void put_compact_string(Buffer *b, const char *text) {
    put_uvarint(b, strlen(text) + 1);
    put(b, text, strlen(text));
}

static uint64_t get_uvarint(const uint8_t **p) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

/* ---- requests ---- */

static void put_request_header(Buffer *b, int api_key, int version) {
    put_int(b, 0, 4); /* size, patched */
    put_int(b, api_key, 2);
    put_int(b, version, 2);
    put_int(b, 0, 4); /* correlation id at 8 */
    put_int(b, 5, 2);
    put(b, "blast", 5);
    put_uvarint(b, 0);
}

static void finish_request(Buffer *b) { set_int(b->data, (int64_t)b->size - 4, 4); }

static Buffer produce_request(int partition) {
    Buffer b = {0}, batch = record_batch(options.records, options.size, 0);
    put_request_header(&b, 0, 9);
    put_uvarint(&b, 0); /* transactional id: null */
    put_int(&b, 1, 2);
    put_int(&b, 30000, 4);
    put_uvarint(&b, 2);
    put_compact_string(&b, options.topic);
    put_uvarint(&b, 2);
    put_int(&b, partition, 4);
    put_uvarint(&b, batch.size + 1);
    put(&b, batch.data, batch.size);
    put(&b, "\0\0\0", 3); /* three empty tag sections: partition, topic, request */
    finish_request(&b);
    free(batch.data);
    return b;
}

static Buffer fetch_request(int64_t offset) {
    Buffer b = {0};
    put_request_header(&b, 1, 12);
    put_int(&b, -1, 4);
    put_int(&b, 500, 4);
    put_int(&b, 1, 4);
    put_int(&b, options.max_bytes, 4);
    put_int(&b, 0, 1);
    put_int(&b, 0, 4);
    put_int(&b, -1, 4);
    put_uvarint(&b, 2);
    put_compact_string(&b, options.topic);
    put_uvarint(&b, 2);
    put_int(&b, 0, 4);
    put_int(&b, -1, 4);
    put_int(&b, offset, 8);
    put_int(&b, -1, 4);
    put_int(&b, -1, 8);
    put_int(&b, options.max_bytes, 4);
    put(&b, "\0\0", 2);
    put_uvarint(&b, 1); /* forgotten topics: none */
    put_uvarint(&b, 1); /* rack: "" */
    put_uvarint(&b, 0);
    finish_request(&b);
    return b;
}

/* ---- responses: the error code of the one partition asked about ---- */

static int produce_error(const uint8_t *p) {
    p += 4; /* correlation id */
    get_uvarint(&p); /* header tags */
    get_uvarint(&p); /* topics */
    p += get_uvarint(&p) - 1;
    get_uvarint(&p); /* partitions */
    return (int)get_int(p + 4, 2);
}

/* Returns the partition's error; sets *next to the offset after the last whole batch, *got to the record bytes of whole batches,
 * *end to the high watermark. */
static int fetch_error(const uint8_t *p, int64_t *next, size_t *got, int64_t *end) {
    p += 4;
    get_uvarint(&p);
    p += 4; /* throttle time */
    int error = (int)get_int(p, 2);
    if (error) return error;
    p += 6;
    if (get_uvarint(&p) != 2) return -2;
    p += get_uvarint(&p) - 1;
    get_uvarint(&p);
    error = (int)get_int(p + 4, 2);
    if (error) return error;
    *end = get_int(p + 6, 8);
    p += 4 + 2 + 24;
    uint64_t aborted = get_uvarint(&p);
    if (aborted > 1) return -3;
    p += 4;
    int64_t size = (int64_t)get_uvarint(&p) - 1;
    *got = 0;
    while (size >= 61) {
        int64_t whole = 12 + get_int(p + 8, 4);
        if (whole > size) break;
        *next = get_int(p, 8) + get_int(p + 23, 4) + 1;
        *got += (size_t)whole;
        p += whole;
        size -= whole;
    }
    return 0;
}

/* ---- connections ---- */

typedef struct {
    Stream stream;
    int in_flight, head;
    double sent_at[MAX_DEPTH];
    Buffer request, answer; /* answer: what has to come, where it is known */
    uint8_t *input;
    size_t have;
    int32_t correlation_id;
} Connection;

static void open_connection(Connection *c) {
    c->stream = open_stream(options.port, options.tls, options.user);
    c->input = malloc(INPUT_MAX);
}

static size_t sent_count, answered_count;

static int is_over(size_t so_far) { return options.count && so_far >= options.count; }

/* Tops the connection up to `depth` requests with one send per request burst. */
static void top_up(Connection *c, int depth) {
    static Buffer burst;
    burst.size = 0;
    double now = now_s();
    while (c->in_flight < depth && !is_over(sent_count)) {
        sent_count++;
        set_int(c->request.data + 8, c->correlation_id++, 4);
        put(&burst, c->request.data, c->request.size);
        c->sent_at[(c->head + c->in_flight) % MAX_DEPTH] = now;
        c->in_flight++;
    }
    stream_send(&c->stream, burst.data, burst.size);
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float *latencies;
static size_t latency_count, error_count;

static int is_bad(const Connection *c, const uint8_t *answer, size_t size) {
    if (!c->answer.data) return produce_error(answer);
    return size != 4 + c->answer.size || memcmp(answer + 4, c->answer.data, c->answer.size);
}

static void receive(Connection *c) {
    ssize_t n = stream_receive(&c->stream, c->input + c->have, INPUT_MAX - c->have);
    if (n <= 0) die("the broker closed a connection");
    c->have += (size_t)n;
    size_t at = 0;
    double now = now_s();
    while (c->have - at >= 4) {
        size_t size = (size_t)get_int(c->input + at, 4);
        if (c->have - at < 4 + size) break;
        answered_count++;
        if (is_bad(c, c->input + at + 4, size)) error_count++;
        if (latency_count < LATENCIES_MAX) latencies[latency_count++] = (float)((now - c->sent_at[c->head]) * 1e6);
        c->head = (c->head + 1) % MAX_DEPTH;
        c->in_flight--;
        at += 4 + size;
    }
    memmove(c->input, c->input + at, c->have - at);
    c->have -= at;
}

/* One round trip on every connection: what a broker does for a new one, and for a topic's first write, is no part of the load. */
static void greet(Connection *connections) {
    for (int i = 0; i < options.connections; i++) top_up(&connections[i], 1);
    for (int i = 0; i < options.connections; i++)
        while (connections[i].in_flight) receive(&connections[i]);
    latency_count = 0;
}

/* Every connection keeps `depth` of its requests in flight for the time given. */
static int load(Connection *connections) {
    latencies = malloc(LATENCIES_MAX * sizeof *latencies);
    int poll = epoll_create1(0);
    for (int i = 0; i < options.connections; i++) {
        open_connection(&connections[i]);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].stream.fd, &event);
    }
    greet(connections);
    double start = now_s(), stop = start + options.seconds;
    for (int i = 0; i < options.connections; i++) top_up(&connections[i], options.depth);
    struct epoll_event events[256];
    while (now_s() < stop && !is_over(answered_count)) {
        int ready = epoll_wait(poll, events, 256, 1000);
        for (int i = 0; i < ready; i++) {
            Connection *c = events[i].data.ptr;
            do receive(c);
            while (stream_has_more(&c->stream));
            top_up(c, options.depth);
        }
    }
    double elapsed = now_s() - start;
    qsort(latencies, latency_count, sizeof *latencies, compare_floats);
    if (!latency_count) return fprintf(stderr, "no answer came\n"), 1;
    printf("{\"requests\": %zu, \"per_second\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"errors\": %zu}\n", latency_count,
           (double)latency_count / elapsed, latencies[latency_count / 2], latencies[latency_count * 99 / 100], error_count);
    return error_count != 0;
}

static int produce(void) {
    Connection *connections = calloc((size_t)options.connections, sizeof *connections);
    for (int i = 0; i < options.connections; i++) connections[i].request = produce_request(i % options.partitions);
    return load(connections);
}

static int read_frame(FILE *file, Buffer *b) {
    uint8_t size[4];
    b->size = 0;
    if (fread(size, 1, 4, file) != 4) return 0;
    size_t wanted = (size_t)get_int(size, 4);
    uint8_t *bytes = malloc(wanted + 1);
    if (!bytes || fread(bytes, 1, wanted, file) != wanted) die("--frames");
    put(b, bytes, wanted);
    free(bytes);
    return 1;
}

static int repeat(void) {
    FILE *file = options.frames ? fopen(options.frames, "rb") : NULL;
    if (!file) die("--frames");
    Connection *connections = calloc((size_t)options.connections, sizeof *connections);
    int pairs = 0;
    for (; pairs < options.connections; pairs++) {
        Buffer request = {0};
        if (!read_frame(file, &request)) break;
        put_int(&connections[pairs].request, (int64_t)request.size, 4);
        put(&connections[pairs].request, request.data, request.size);
        if (!read_frame(file, &connections[pairs].answer)) return fprintf(stderr, "a request without its answer\n"), 1;
    }
    if (!pairs) return fprintf(stderr, "no requests\n"), 1;
    for (int i = pairs; i < options.connections; i++) {
        put(&connections[i].request, connections[i % pairs].request.data, connections[i % pairs].request.size);
        connections[i].answer = connections[i % pairs].answer;
    }
    return load(connections);
}

static int fetch(void) {
    Connection c = {0};
    open_connection(&c);
    uint8_t *response = malloc(RESPONSE_MAX);
    int64_t offset = 0, end = 0;
    double start = now_s(), total = 0;
    size_t requests = 0;
    while (now_s() - start < options.seconds) {
        Buffer request = fetch_request(offset);
        stream_send(&c.stream, request.data, request.size);
        free(request.data);
        size_t want = 4, have = 0;
        while (have < want) {
            ssize_t n = stream_receive(&c.stream, response + have, (want == 4 ? 4 : want) - have);
            if (n <= 0) die("the broker closed the connection");
            have += (size_t)n;
            if (have == 4 && want == 4) want = 4 + (size_t)get_int(response, 4);
            if (want > RESPONSE_MAX) return fprintf(stderr, "a response of %zu bytes\n", want), 1;
        }
        size_t got = 0;
        int error = fetch_error(response + 4, &offset, &got, &end);
        if (error) return fprintf(stderr, "fetch error %d\n", error), 1;
        if (!got) return fprintf(stderr, "a fetch before the end of the log brought nothing\n"), 1;
        total += (double)got;
        requests++;
        if (offset >= end) offset = 0; /* a fetch at the end would wait there */
    }
    double elapsed = now_s() - start;
    printf("{\"requests\": %zu, \"megabytes\": %.1f, \"mb_per_second\": %.1f}\n", requests, total / 1e6, total / 1e6 / elapsed);
    return 0;
}

/* Connections that are opened, authenticated and closed, one after the other. */
static int handshake(void) {
    size_t count = 0;
    double start = now_s();
    for (; now_s() - start < options.seconds; count++) {
        Stream s = open_stream(options.port, options.tls, options.user);
        stream_close(&s);
    }
    double elapsed = now_s() - start;
    printf("{\"requests\": %zu, \"per_second\": %.1f}\n", count, (double)count / elapsed);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: blast produce|repeat|fetch|handshake [--option value]...\n"), 2;
    for (int i = 2; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--port")) options.port = atoi(value);
        else if (!strcmp(name, "--topic")) options.topic = value;
        else if (!strcmp(name, "--frames")) options.frames = value;
        else if (!strcmp(name, "--user")) options.user = value;
        else if (!strcmp(name, "--tls")) options.tls = atoi(value);
        else if (!strcmp(name, "--connections")) options.connections = atoi(value);
        else if (!strcmp(name, "--depth")) options.depth = atoi(value);
        else if (!strcmp(name, "--size")) options.size = atoi(value);
        else if (!strcmp(name, "--records")) options.records = atoi(value);
        else if (!strcmp(name, "--partitions")) options.partitions = atoi(value);
        else if (!strcmp(name, "--count")) options.count = (size_t)atoll(value);
        else if (!strcmp(name, "--seconds")) options.seconds = atof(value);
        else if (!strcmp(name, "--max-bytes")) options.max_bytes = atoi(value);
        else return fprintf(stderr, "blast: unknown option %s\n", name), 2;
    }
    if (options.depth < 1 || options.depth > MAX_DEPTH) return fprintf(stderr, "blast: depth is 1 to %d\n", MAX_DEPTH), 2;
    if (!strcmp(argv[1], "produce")) return produce();
    if (!strcmp(argv[1], "repeat")) return repeat();
    if (!strcmp(argv[1], "fetch")) return fetch();
    if (!strcmp(argv[1], "handshake")) return handshake();
    return fprintf(stderr, "blast: produce, repeat, fetch or handshake\n"), 2;
}
