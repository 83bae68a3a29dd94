/* A connection to a broker, as the raw load generator uses it: plain, over TLS, with SASL/PLAIN over either.
 *
 * Built without TLS unless WITH_TLS is defined (then with -lssl -lcrypto). The broker's certificate is not checked: what is
 * measured is the broker, and that costs the client only. No TLS session is resumed: each connection makes a whole handshake.
 */
#ifndef BARNABAS_BENCH_STREAM_H
#define BARNABAS_BENCH_STREAM_H

#include <unistd.h>

#include "wire.h"
#ifdef WITH_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

typedef struct {
    int fd;
#ifdef WITH_TLS
    SSL *tls; /* NULL where the connection is plain */
#endif
} Stream;

/* Up to `size` bytes; one call of it leaves nothing decrypted behind only if `has_more` says so. */
static inline ssize_t stream_receive(Stream *s, uint8_t *data, size_t size) {
#ifdef WITH_TLS
    if (s->tls) return SSL_read(s->tls, data, size > INT32_MAX ? INT32_MAX : (int)size);
#endif
    return recv(s->fd, data, size, 0);
}

/* Whether bytes wait in this process, of which the kernel says nothing. */
static inline int stream_has_more(Stream *s) {
#ifdef WITH_TLS
    if (s->tls) return SSL_pending(s->tls) > 0;
#endif
    (void)s;
    return 0;
}

static inline void stream_send(Stream *s, const uint8_t *data, size_t size) {
#ifdef WITH_TLS
    if (s->tls) {
        if (size && SSL_write(s->tls, data, (int)size) != (int)size) die("SSL_write");
        return;
    }
#endif
    send_all(s->fd, data, size);
}

static inline void stream_close(Stream *s) {
#ifdef WITH_TLS
    if (s->tls) SSL_free(s->tls); /* without a closing alert, as a client that goes away */
#endif
    close(s->fd);
}

static inline void send_sasl(Stream *s, int api_key, int version, const Buffer *body) {
    Buffer b = {0};
    uint8_t size[4], answer[4096];
    put_int(&b, 8 + 2 + 5 + (int64_t)body->size, 4);
    put_int(&b, api_key, 2);
    put_int(&b, version, 2);
    put_int(&b, 0, 4);
    put_int(&b, 5, 2);
    put(&b, "blast", 5);
    put(&b, body->data, body->size);
    stream_send(s, b.data, b.size);
    free(b.data);
    for (size_t have = 0; have < 4;) {
        ssize_t n = stream_receive(s, size + have, 4 - have);
        if (n <= 0) die("no answer while authenticating");
        have += (size_t)n;
    }
    size_t wanted = (size_t)get_int(size, 4);
    if (wanted > sizeof answer) die("a long answer while authenticating");
    for (size_t have = 0; have < wanted;) {
        ssize_t n = stream_receive(s, answer + have, wanted - have);
        if (n <= 0) die("half an answer while authenticating");
        have += (size_t)n;
    }
    if (wanted < 6 || get_int(answer + 4, 2)) {
        fprintf(stderr, "API %d while authenticating: error %d\n", api_key, wanted < 6 ? -1 : (int)get_int(answer + 4, 2));
        exit(1);
    }
}

/* SaslHandshake v1 and SaslAuthenticate v1; `user` is NAME:PASSWORD. */
static inline void authenticate(Stream *s, const char *user) {
    Buffer body = {0};
    put_int(&body, 5, 2);
    put(&body, "PLAIN", 5);
    send_sasl(s, 17, 1, &body);
    body.size = 0;
    size_t size = strlen(user) + 1; /* a NUL before the name, and one in place of the colon */
    put_int(&body, (int64_t)size, 4);
    put(&body, "", 1);
    put(&body, user, size - 1);
    uint8_t *colon = memchr(body.data + 5, ':', size - 1);
    if (!colon) die("--user NAME:PASSWORD");
    *colon = 0;
    send_sasl(s, 36, 1, &body);
    free(body.data);
}

/* with_tls: whether TLS is spoken. user: NAME:PASSWORD for SASL/PLAIN, or NULL. */
static inline Stream open_stream(int port, int with_tls, const char *user) {
    Stream s = {.fd = connect_to(port)};
    if (with_tls) {
#ifdef WITH_TLS
        static SSL_CTX *context;
        if (!context) {
            context = SSL_CTX_new(TLS_client_method());
            SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
            SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY);
        }
        s.tls = SSL_new(context);
        SSL_set_fd(s.tls, s.fd);
        if (SSL_connect(s.tls) != 1) {
            ERR_print_errors_fp(stderr);
            die("SSL_connect");
        }
#else
        fprintf(stderr, "built without TLS\n");
        exit(2);
#endif
    }
    if (user) authenticate(&s, user);
    return s;
}

#endif
