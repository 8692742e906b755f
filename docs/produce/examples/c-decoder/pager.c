/*
 * A decoder in C: pages as plain text. The first line has device tokens with commas between them, the second one is the
 * title, and what follows is the text.
 *
 *     00fc13adff785122,11fc13adff785122
 *     Disk full
 *     db-3 has 2 % left.
 *
 * A header not-before (seconds since 1970) puts a page off. The options are {"topic":"BUNDLE ID"}.
 */
#include "harebell_decoder.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}

struct pager {
    size_t topic_size;
    uint8_t topic[255];
};

static int equals(struct harebell_text text, const char *other) {
    return text.bytes != NULL && text.size == strlen(other) && memcmp(text.bytes, other, text.size) == 0;
}

static int is_space(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

static size_t skip_spaces(struct harebell_text text, size_t place) {
    while (place < text.size && is_space(text.bytes[place])) place++;
    return place;
}

/* Makes do with one key and a text without escapes: that they are JSON has been checked. */
static struct harebell_text topic_of(struct harebell_text options) {
    static const char key[] = "\"topic\"";
    struct harebell_text none = {NULL, 0};
    size_t place = skip_spaces(options, 1), start;
    if (options.size - place < sizeof key || memcmp(options.bytes + place, key, sizeof key - 1) != 0) return none;
    place = skip_spaces(options, place + sizeof key - 1);
    if (place >= options.size || options.bytes[place] != ':') return none;
    place = skip_spaces(options, place + 1);
    if (place >= options.size || options.bytes[place] != '"') return none;
    start = ++place;
    while (place < options.size && options.bytes[place] != '"' && options.bytes[place] != '\\') place++;
    if (place >= options.size || options.bytes[place] != '"') return none;
    return (struct harebell_text){options.bytes + start, place - start};
}

static void *create(const struct harebell_host *host, struct harebell_text options) {
    static const struct harebell_text problem =
        TEXT("topic: expected a bundle ID of 1 to 255 bytes, and no other key before it");
    struct harebell_text topic = topic_of(options);
    struct pager *pager;
    if (topic.size == 0 || topic.size > sizeof pager->topic) {
        host->report(host->context, problem);
        return NULL;
    }
    pager = malloc(sizeof *pager);
    if (pager == NULL) return NULL;
    pager->topic_size = topic.size;
    memcpy(pager->topic, topic.bytes, topic.size);
    return pager;
}

static void destroy(void *decoder) { free(decoder); }

/* Takes a line off the text. */
static struct harebell_text next_line(struct harebell_text *text) {
    const uint8_t *end = text->size ? memchr(text->bytes, '\n', text->size) : NULL;
    struct harebell_text line = {text->bytes, end ? (size_t)(end - text->bytes) : text->size};
    size_t taken = line.size + (end ? 1 : 0);
    text->bytes += taken;
    text->size -= taken;
    return line;
}

/* Appends a JSON string. There is room: no byte becomes more than six. */
static uint8_t *put_string(uint8_t *place, struct harebell_text text) {
    static const char digits[] = "0123456789abcdef";
    size_t index;
    *place++ = '"';
    for (index = 0; index < text.size; index++) {
        uint8_t byte = text.bytes[index];
        if (byte == '"' || byte == '\\') {
            *place++ = '\\';
            *place++ = byte;
        } else if (byte < 0x20) {
            memcpy(place, "\\u00", 4);
            place[4] = (uint8_t)digits[byte >> 4];
            place[5] = (uint8_t)digits[byte & 15];
            place += 6;
        } else {
            *place++ = byte;
        }
    }
    *place++ = '"';
    return place;
}

static uint8_t *put(uint8_t *place, const char *text) {
    size_t size = strlen(text);
    memcpy(place, text, size);
    return place + size;
}

static struct harebell_text payload(const struct harebell_host *host, struct harebell_text title,
                                    struct harebell_text text) {
    struct harebell_text payload = {NULL, 0};
    uint8_t *start = host->allocate(host->context, 6 * (title.size + text.size) + 64), *end;
    if (start == NULL) return payload;
    end = put(start, "{\"aps\":{\"alert\":{\"title\":");
    end = put_string(end, title);
    end = put(end, ",\"body\":");
    end = put_string(end, text);
    end = put(end, "}}}");
    payload.bytes = start;
    payload.size = (size_t)(end - start);
    return payload;
}

static void reject(struct harebell_answer *answer, const char *detail) {
    answer->kind = HAREBELL_REJECT;
    answer->detail = (struct harebell_text){(const uint8_t *)detail, strlen(detail)};
}

/* How many seconds the message is still to wait. */
static int64_t wait_of(const struct harebell_delivery *delivery) {
    size_t index;
    for (index = 0; index < delivery->header_count; index++) {
        const struct harebell_header *header = &delivery->headers[index];
        if (equals(header->name, "not-before") && header->kind == HAREBELL_VALUE_INTEGER) {
            return header->integer - delivery->now / 1000;
        }
    }
    return 0;
}

static void decode(void *decoder, const struct harebell_host *host, const struct harebell_delivery *delivery,
                   struct harebell_answer *answer) {
    static const struct harebell_text nobody = TEXT("an empty page");
    static const struct harebell_text alert = TEXT("alert");
    const struct pager *pager = decoder;
    struct harebell_text rest = delivery->body, tokens, title, json;
    struct harebell_notification *notifications;
    size_t count = 1, index;
    int64_t wait = wait_of(delivery);

    if (rest.size == 0) {
        answer->kind = HAREBELL_IGNORE;
        answer->detail = nobody;
        return;
    }
    if (wait > 0) {
        answer->kind = HAREBELL_LATER;
        answer->seconds = (uint64_t)wait;
        return;
    }
    tokens = next_line(&rest);
    title = next_line(&rest);
    if (title.size == 0) {
        reject(answer, "line 2: expected a title");
        return;
    }
    for (index = 0; index < tokens.size; index++) count += tokens.bytes[index] == ',';
    if (count > HAREBELL_MAXIMUM_NOTIFICATIONS) {
        reject(answer, "line 1: too many device tokens");
        return;
    }
    notifications = host->allocate(host->context, count * sizeof *notifications);
    json = payload(host, title, rest);
    if (notifications == NULL || json.bytes == NULL) {
        reject(answer, "the page is too large");
        return;
    }
    memset(notifications, 0, count * sizeof *notifications);
    for (index = 0; index < count; index++) {
        const uint8_t *end = tokens.size ? memchr(tokens.bytes, ',', tokens.size) : NULL;
        size_t size = end ? (size_t)(end - tokens.bytes) : tokens.size;
        notifications[index].payload = json;
        notifications[index].push_type = alert;
        notifications[index].topic = (struct harebell_text){pager->topic, pager->topic_size};
        /* It lies in the message: Harebell copies nothing. */
        notifications[index].device_token = (struct harebell_text){tokens.bytes, size};
        tokens.bytes += size + (end ? 1 : 0);
        tokens.size -= size + (end ? 1 : 0);
    }
    answer->kind = HAREBELL_REQUEST;
    answer->notifications = notifications;
    answer->notification_count = count;
    answer->notification_size = sizeof *notifications;
}

const struct harebell_format *harebell_decoder(uint32_t abi, const char **error) {
    static const struct harebell_format format = {
        .size = sizeof format,
        .abi = HAREBELL_DECODER_ABI,
        .name = TEXT("pager"),
        .version = TEXT("1.0.0"),
        .create = create,
        .decode = decode,
        .destroy = destroy,
    };
    if (abi != HAREBELL_DECODER_ABI) {
        *error = "pager knows interface 1 alone";
        return NULL;
    }
    return &format;
}
