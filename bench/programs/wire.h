/* What the load generators share: bytes in network order, record batches, sockets. */
#ifndef BARNABAS_BENCH_WIRE_H
#define BARNABAS_BENCH_WIRE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static inline void die(const char *what) {
    perror(what);
    exit(1);
}

static inline double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- bytes ---- */

typedef struct {
    uint8_t *data;
    size_t size, capacity;
} Buffer;

static inline void put(Buffer *b, const void *bytes, size_t n) {
    if (b->size + n > b->capacity) {
        b->capacity = (b->size + n) * 2;
        b->data = realloc(b->data, b->capacity);
        if (!b->data) die("realloc");
    }
    memcpy(b->data + b->size, bytes, n);
    b->size += n;
}

static inline void set_int(uint8_t *p, int64_t value, int width) {
    for (int i = 0; i < width; i++) p[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
}

static inline void put_int(Buffer *b, int64_t value, int width) {
    uint8_t bytes[8];
    set_int(bytes, value, width);
    put(b, bytes, (size_t)width);
}

static inline void put_uvarint(Buffer *b, uint64_t value) {
    do {
        uint8_t byte = value & 0x7f;
        value >>= 7;
        if (value) byte |= 0x80;
        put(b, &byte, 1);
    } while (value);
}

static inline void put_varint(Buffer *b, int64_t value) {
    put_uvarint(b, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static inline int64_t get_int(const uint8_t *p, int width) {
    int64_t value = (int8_t)p[0];
    for (int i = 1; i < width; i++) value = (value << 8) | p[i];
    return value;
}

static inline uint32_t crc32c(const uint8_t *p, size_t n) {
    static uint32_t table[8][256];
    if (!table[0][1])
        for (int row = 0; row < 8; row++)
            for (uint32_t i = 0; i < 256; i++) {
                uint32_t c = row ? table[row - 1][i] : i;
                for (int k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ 0x82F63B78u : c >> 1;
                table[row][i] = c;
            }
    uint32_t crc = 0xFFFFFFFFu;
    for (; n >= 8; p += 8, n -= 8)
        crc = table[7][(crc ^ p[0]) & 0xff] ^ table[6][((crc >> 8) ^ p[1]) & 0xff] ^ table[5][((crc >> 16) ^ p[2]) & 0xff] ^
              table[4][(crc >> 24) ^ p[3]] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    while (n--) crc = (crc >> 8) ^ table[0][(crc ^ *p++) & 0xff];
    return ~crc;
}

/* ---- record batches ---- */

/* A batch of `count` values of `size` bytes, without keys, producer id and compression. */
static inline Buffer record_batch(int count, int size, int attributes) {
    Buffer records = {0}, batch = {0}, checked = {0};
    for (int i = 0; i < count; i++) {
        Buffer body = {0};
        put_int(&body, 0, 1);
        put_varint(&body, 0);
        put_varint(&body, i);
        put_varint(&body, -1);
        put_varint(&body, size);
        for (int k = 0; k < size; k++) put(&body, "x", 1);
        put_varint(&body, 0);
        put_varint(&records, (int64_t)body.size);
        put(&records, body.data, body.size);
        free(body.data);
    }
    int64_t now_ms = (int64_t)time(NULL) * 1000;
    put_int(&checked, attributes, 2);
    put_int(&checked, count - 1, 4);
    put_int(&checked, now_ms, 8);
    put_int(&checked, now_ms, 8);
    put_int(&checked, -1, 8);
    put_int(&checked, -1, 2);
    put_int(&checked, -1, 4);
    put_int(&checked, count, 4);
    put(&checked, records.data, records.size);
    put_int(&batch, 0, 8);
    put_int(&batch, (int64_t)checked.size + 9, 4);
    put_int(&batch, -1, 4);
    put_int(&batch, 2, 1);
    put_int(&batch, crc32c(checked.data, checked.size), 4);
    put(&batch, checked.data, checked.size);
    free(records.data);
    free(checked.data);
    return batch;
}

/* ---- sockets ---- */

static inline int connect_to(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static inline void send_all(int fd, const uint8_t *data, size_t size) {
    while (size) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) die("send");
        data += n;
        size -= (size_t)n;
    }
}

#endif
