// A decoder for tests: takes each body for an envelope and gives it back, unless the body says otherwise.
//
// It reads what Harebell writes, key by key in that order, and no other JSON. A body that begins with "crash", "hang",
// "garbage", "oversize", "unknown" or "silence" has it do that, and one with "dump" is refused with the environment.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *input, *output;
static size_t used, space;

static void put(const char *bytes, size_t count) {
    while (used + count > space) output = realloc(output, space = space ? 2 * space : 65536);
    memcpy(output + used, bytes, count);
    used += count;
}

static void text(const char *bytes) { put(bytes, strlen(bytes)); }

static void send_frame(void) {
    uint32_t length = (uint32_t)used;
    unsigned char head[4] = {length >> 24, length >> 16, length >> 8, length};
    size_t sent = 0;
    if (write(1, head, 4) != 4) exit(1);
    while (sent < used) {
        ssize_t count = write(1, output + sent, used - sent);
        if (count <= 0) exit(1);
        sent += count;
    }
    used = 0;
}

static int fill(char *bytes, size_t count) {
    for (size_t got = 0; got < count;) {
        ssize_t more = read(0, bytes + got, count - got);
        if (more <= 0) return 0;
        got += more;
    }
    return 1;
}

// Behind the opening quote; appends the text and returns what follows the closing one.
static char *string(char *at, int keeps) {
    for (; *at != '"'; at++) {
        char byte = *at;
        if (byte == '\\') {
            byte = *++at;
            if (byte == 'n') byte = '\n';
            if (byte == 't') byte = '\t';
            if (byte == 'r') byte = '\r';
        }
        if (keeps) put(&byte, 1);
    }
    return at + 1;
}

// Behind an object's opening bracket; returns what follows the closing one.
static char *skip(char *at) {
    for (int depth = 1; depth > 0; at++) {
        if (*at == '"') at = string(at + 1, 0) - 1;
        if (*at == '{') depth++;
        if (*at == '}') depth--;
    }
    return at;
}

static void misbehave(const char *body) {
    if (strncmp(body, "crash", 5) == 0) {
        fprintf(stderr, "this body is too much\n");
        fflush(stderr);
        // A sanitizer would make a report of it.
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    if (strncmp(body, "hang", 4) == 0) {
        signal(SIGTERM, SIG_IGN);
        for (;;) pause();
    }
    if (strncmp(body, "garbage", 7) == 0) text("\"not an object"), send_frame();
    if (strncmp(body, "oversize", 8) == 0) {
        if (write(1, "\x7f\xff\xff\xff", 4) != 4) exit(1);
        for (;;) pause();
    }
    if (strncmp(body, "unknown", 7) == 0) text("{\"answers\":[{\"id\":999999999,\"ignore\":\"\"}]}"), send_frame();
    if (strncmp(body, "silence", 7) == 0) {
        close(0), close(1);
        for (;;) pause();
    }
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "--mute") == 0) pause();
    if (count > 1 && strcmp(arguments[1], "--slow") == 0) sleep(1);
    unsigned char head[4];
    size_t room = 0;
    text("{\"hello\":{\"protocol\":1,\"more\":[{}]}}");
    send_frame();
    while (fill((char *)head, 4)) {
        size_t length = (size_t)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
        if (length + 1 > room) input = realloc(input, room = length + 1);
        if (!fill(input, length)) break;
        input[length] = 0;
        char *at = strstr(input, "\"messages\":[");
        if (at == NULL) continue;
        text("{\"answers\":[");
        for (at += 12; *at == '{';) {
            char *body = strstr(at, ",\"body\":\"");
            put(at, body - at);
            at = body + 9;
            misbehave(at);
            if (strncmp(at, "dump", 4) == 0) {
                extern char **environ;
                text(",\"reject\":\"");
                for (char **variable = environ; *variable; variable++) text(*variable), text("\\n");
                text("\"");
                at = string(at, 0);
            } else if (*at == '{') {
                text(",\"requests\":[");
                at = string(at, 1);
                text("]");
            } else {
                text(",\"ignore\":\"no envelope\"");
                at = string(at, 0);
            }
            text("}");
            at = skip(at);
            if (*at == ',') text(","), at++;
        }
        text("]}");
        send_frame();
    }
    return 0;
}
