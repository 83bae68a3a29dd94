/* Raw transactional producers: as little client as can be, so that the broker is measured.
 *
 *   txn --port P --topic T --id PREFIX [--connections 1] [--records 1] [--size 100] [--spread 1] [--partitions 1]
 *       [--abort 0] [--count 0] [--seconds 5] [--add-retry 20] [--retry 100]
 *
 * Each connection is a producer with a transactional id of its own. A transaction is AddPartitionsToTxn v2, one Produce
 * v8 (acks=all) with `records` records to each of `spread` partitions, and EndTxn v2: the older protocol, which every
 * broker speaks. Connection i begins at partition i * spread mod partitions. What a broker asks to be tried again is
 * tried again when Kafka's own clients would: after --add-retry ms where AddPartitionsToTxn was answered with CONCURRENT_TRANSACTIONS,
 * since the transaction before is about to be complete, and after --retry ms otherwise (retry.backoff.ms). --abort 1 aborts every transaction. --count stops each producer after so many.
 * Prints one line of JSON: the time of a whole transaction, and of EndTxn alone.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

enum { INPUT = 1 << 20, TIMES_MAX = 5000000 };
enum { ADD_PARTITIONS = 24, PRODUCE = 0, END_TXN = 26, INIT_PRODUCER_ID = 22 };
enum { CONCURRENT_TRANSACTIONS = 51, IDLE_MS = 1000 };

static struct {
    int port, connections, records, size, spread, partitions, abort, count;
    double seconds, add_retry_ms, retry_ms;
    const char *topic, *id;
} options = {9092, 1, 1, 100, 1, 1, 0, 0, 5.0, 20, 100, "bench", "txn"};

typedef enum { INIT, ADD, WRITE, END, DONE } Step;

typedef struct {
    int fd;
    Step step;
    int64_t producer_id;
    int producer_epoch, sequence, finished;
    Buffer init, add, produce, end;
    size_t *batch_at; /* where each batch begins in `produce` */
    size_t batch_size;
    double begun_at, end_txn_at, retry_at;
    uint8_t *input;
    size_t have;
} Producer;

static float *whole_us, *end_us;
static size_t whole_count, end_count, retry_count;

/* ---- requests ---- */

static void put_string(Buffer *b, const char *text) {
    put_int(b, (int64_t)strlen(text), 2);
    put(b, text, strlen(text));
}

static void begin_request(Buffer *b, int api_key, int version) {
    put_int(b, 0, 4); /* size, set at the end */
    put_int(b, api_key, 2);
    put_int(b, version, 2);
    put_int(b, 1, 4);
    put_string(b, "txn");
}

static void end_request(Buffer *b) { set_int(b->data, (int64_t)b->size - 4, 4); }

static void make_requests(Producer *p, int number) {
    char id[256];
    snprintf(id, sizeof id, "%s-%d", options.id, number);
    begin_request(&p->init, INIT_PRODUCER_ID, 1);
    put_string(&p->init, id);
    put_int(&p->init, 600000, 4);
    end_request(&p->init);

    Buffer batch = record_batch(options.records, options.size, 0x10);
    p->batch_size = batch.size;
    p->batch_at = calloc((size_t)options.spread, sizeof *p->batch_at);
    begin_request(&p->add, ADD_PARTITIONS, 2);
    put_string(&p->add, id);
    put_int(&p->add, 0, 8); /* producer id and epoch: set by know_producer */
    put_int(&p->add, 0, 2);
    put_int(&p->add, 1, 4);
    put_string(&p->add, options.topic);
    put_int(&p->add, options.spread, 4);
    begin_request(&p->produce, PRODUCE, 8);
    put_string(&p->produce, id);
    put_int(&p->produce, -1, 2);
    put_int(&p->produce, 30000, 4);
    put_int(&p->produce, 1, 4);
    put_string(&p->produce, options.topic);
    put_int(&p->produce, options.spread, 4);
    for (int i = 0; i < options.spread; i++) {
        int partition = (number * options.spread + i) % options.partitions;
        put_int(&p->add, partition, 4);
        put_int(&p->produce, partition, 4);
        put_int(&p->produce, (int64_t)batch.size, 4);
        p->batch_at[i] = p->produce.size;
        put(&p->produce, batch.data, batch.size);
    }
    end_request(&p->add);
    end_request(&p->produce);
    begin_request(&p->end, END_TXN, 2);
    put_string(&p->end, id);
    put_int(&p->end, 0, 8);
    put_int(&p->end, 0, 2);
    put_int(&p->end, !options.abort, 1);
    end_request(&p->end);
    free(batch.data);
}

/* Write the producer's id and epoch into its requests. */
static void know_producer(Producer *p) {
    size_t header = 4 + 8 + 2 + 3, id = 2 + (size_t)get_int(p->add.data + header, 2);
    Buffer *both[] = {&p->add, &p->end};
    for (int i = 0; i < 2; i++) {
        set_int(both[i]->data + header + id, p->producer_id, 8);
        set_int(both[i]->data + header + id + 8, p->producer_epoch, 2);
    }
}

/* Give every batch its sequence number, and the CRC that belongs to it. */
static void number_batches(Producer *p) {
    for (int i = 0; i < options.spread; i++) {
        uint8_t *batch = p->produce.data + p->batch_at[i];
        set_int(batch + 43, p->producer_id, 8);
        set_int(batch + 51, p->producer_epoch, 2);
        set_int(batch + 53, p->sequence, 4);
        set_int(batch + 17, crc32c(batch + 21, p->batch_size - 21), 4);
    }
}

/* ---- answers: the first error in it ---- */

static int error_in(Step step, const uint8_t *p) {
    p += 4; /* correlation id */
    if (step == INIT || step == END) return (int)get_int(p + 4, 2);
    if (step == ADD) p += 4; /* throttle time */
    int worst = 0;
    for (int64_t topics = get_int(p, 4), t = (p += 4, 0); t < topics; t++) {
        p += 2 + get_int(p, 2);
        int64_t partitions = get_int(p, 4);
        p += 4;
        for (int64_t i = 0; i < partitions; i++) {
            int error = (int)get_int(p + 4, 2);
            if (error && !worst) worst = error;
            p += 6;
            if (step == WRITE) {
                p += 24;
                if (get_int(p, 4) > 0) return worst ? worst : -1; /* record errors: no need to look on */
                p += 4;
                p += get_int(p, 2) < 0 ? 2 : 2 + get_int(p, 2);
            }
        }
    }
    return worst;
}

static int may_pass(int error) {
    return error == 51 || error == 14 || error == 15 || error == 16 || error == 19 || error == 3 || error == 5 || error == 6;
}

/* ---- the course of a producer ---- */

static void ask(Producer *p) {
    Buffer *request = p->step == INIT ? &p->init : p->step == ADD ? &p->add : p->step == WRITE ? &p->produce : &p->end;
    p->end_txn_at = now_s();
    p->retry_at = 0;
    send_all(p->fd, request->data, request->size);
}

static void begin(Producer *p, double stop) {
    if (now_s() >= stop || (options.count && p->finished == options.count)) {
        p->step = DONE;
        return;
    }
    p->step = ADD;
    p->begun_at = now_s();
    number_batches(p);
    ask(p);
}

static void answered(Producer *p, const uint8_t *answer, double stop) {
    static const char *const names[] = {"InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn"};
    int error = error_in(p->step, answer);
    if (error) {
        if (!may_pass(error)) {
            fprintf(stderr, "%s answered %d\n", names[p->step], error);
            exit(1);
        }
        if (p->step != INIT) retry_count++;
        int is_next = p->step == ADD && error == CONCURRENT_TRANSACTIONS;
        p->retry_at = now_s() + (is_next ? options.add_retry_ms : options.retry_ms) / 1000;
        return;
    }
    double now = now_s();
    switch (p->step) {
    case INIT:
        p->producer_id = get_int(answer + 10, 8);
        p->producer_epoch = (int)get_int(answer + 18, 2);
        know_producer(p);
        p->step = DONE; /* until all are ready */
        break;
    case ADD:
        p->step = WRITE;
        ask(p);
        break;
    case WRITE:
        p->sequence += options.records;
        p->step = END;
        ask(p);
        break;
    case END:
        if (end_count < TIMES_MAX) end_us[end_count++] = (float)((now - p->end_txn_at) * 1e6);
        if (whole_count < TIMES_MAX) whole_us[whole_count++] = (float)((now - p->begun_at) * 1e6);
        p->finished++;
        begin(p, stop);
        break;
    case DONE: break;
    }
}

static void receive(Producer *p, double stop) {
    ssize_t n = recv(p->fd, p->input + p->have, INPUT - p->have, 0);
    if (n <= 0) die("the broker closed a connection");
    p->have += (size_t)n;
    while (p->have >= 4) {
        size_t size = (size_t)get_int(p->input, 4);
        if (p->have < 4 + size) break;
        answered(p, p->input + 4, stop);
        p->have -= 4 + size;
        memmove(p->input, p->input + 4 + size, p->have);
    }
}

/* Run until every producer is DONE. */
static void run(Producer *producers, int poll, double stop) {
    struct epoll_event events[256];
    for (;;) {
        int active = 0, wait_ms = IDLE_MS;
        double now = now_s();
        for (int i = 0; i < options.connections; i++) {
            Producer *p = &producers[i];
            if (p->step != DONE) active++;
            if (p->retry_at && p->retry_at <= now) ask(p);
            if (p->retry_at && (p->retry_at - now) * 1000 < wait_ms) wait_ms = (int)((p->retry_at - now) * 1000) + 1;
        }
        if (!active) return;
        int ready = epoll_wait(poll, events, 256, wait_ms);
        for (int i = 0; i < ready; i++) receive(events[i].data.ptr, stop);
    }
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int report(double elapsed) {
    if (!whole_count) return fprintf(stderr, "no transaction ended\n"), 1;
    qsort(whole_us, whole_count, sizeof *whole_us, compare_floats);
    qsort(end_us, end_count, sizeof *end_us, compare_floats);
    printf("{\"transactions\": %zu, \"seconds\": %.3f, \"per_second\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
           "\"commit_p50_us\": %.1f, \"commit_p99_us\": %.1f, \"retries_per_transaction\": %.3f}\n",
           whole_count, elapsed, (double)whole_count / elapsed, whole_us[whole_count / 2], whole_us[whole_count * 99 / 100],
           end_us[end_count / 2], end_us[end_count * 99 / 100], (double)retry_count / (double)whole_count);
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--port")) options.port = atoi(value);
        else if (!strcmp(name, "--topic")) options.topic = value;
        else if (!strcmp(name, "--id")) options.id = value;
        else if (!strcmp(name, "--connections")) options.connections = atoi(value);
        else if (!strcmp(name, "--records")) options.records = atoi(value);
        else if (!strcmp(name, "--size")) options.size = atoi(value);
        else if (!strcmp(name, "--spread")) options.spread = atoi(value);
        else if (!strcmp(name, "--partitions")) options.partitions = atoi(value);
        else if (!strcmp(name, "--abort")) options.abort = atoi(value);
        else if (!strcmp(name, "--count")) options.count = atoi(value);
        else if (!strcmp(name, "--seconds")) options.seconds = atof(value);
        else if (!strcmp(name, "--add-retry")) options.add_retry_ms = atof(value);
        else if (!strcmp(name, "--retry")) options.retry_ms = atof(value);
        else return fprintf(stderr, "txn: unknown option %s\n", name), 2;
    }
    whole_us = malloc(TIMES_MAX * sizeof *whole_us);
    end_us = malloc(TIMES_MAX * sizeof *end_us);
    Producer *producers = calloc((size_t)options.connections, sizeof *producers);
    int poll = epoll_create1(0);
    for (int i = 0; i < options.connections; i++) {
        Producer *p = &producers[i];
        make_requests(p, i);
        p->fd = connect_to(options.port);
        p->input = malloc(INPUT);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
        epoll_ctl(poll, EPOLL_CTL_ADD, p->fd, &event);
        p->step = INIT;
        ask(p);
    }
    run(producers, poll, now_s() + 3600);
    double start = now_s(), stop = start + options.seconds;
    for (int i = 0; i < options.connections; i++) begin(&producers[i], stop);
    run(producers, poll, stop);
    return report(now_s() - start);
}
