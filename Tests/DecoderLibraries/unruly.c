/*
 * A decoder that answers as the first line of the body says, and mostly not as it should. Macros spoil its table.
 */
#include "harebell_decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(literal) ((struct harebell_text){(const uint8_t *)(literal), sizeof(literal) - 1})

#ifndef TABLE_ABI
#define TABLE_ABI HAREBELL_DECODER_ABI
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(struct harebell_format)
#endif
#ifndef TABLE_VERSION
#define TABLE_VERSION "2.3.4"
#endif
#ifndef TABLE_NAME
#define TABLE_NAME "unruly"
#endif
#ifndef TABLE_CREATE
#define TABLE_CREATE create
#endif
#ifndef TABLE_DECODE
#define TABLE_DECODE decode
#endif
#ifndef TABLE_DESTROY
#define TABLE_DESTROY destroy
#endif
#ifndef ENTRY
#define ENTRY harebell_decoder
#endif

static int living;

static int contains(struct harebell_text text, const char *part) {
    size_t size = strlen(part), place;
    for (place = 0; place + size <= text.size; place++) {
        if (memcmp(text.bytes + place, part, size) == 0) return 1;
    }
    return 0;
}

static void *create(const struct harebell_host *host, struct harebell_text options) {
    static int made;
    int *self;
    if (contains(options, "\"nothing\"")) return NULL;
    if (contains(options, "\"once\"") && made++ > 0) return NULL;
    if (contains(options, "\"first\"")) host->report(host->context, TEXT("first: is wrong"));
    if (contains(options, "\"second\"")) host->report(host->context, TEXT("second: is \xff wrong"));
    if (contains(options, "\"mute\"")) host->report(host->context, (struct harebell_text){NULL, 7});
    if (contains(options, "\"endless\"")) {
        int index;
        for (index = 0; index < 100000; index++) host->report(host->context, TEXT("again"));
    }
    self = malloc(sizeof *self);
    *self = ++living;
    return self;
}

static void destroy(void *decoder) {
    living--;
    free(decoder);
}

static int is(struct harebell_text text, const char *word) {
    return text.size == strlen(word) && memcmp(text.bytes, word, text.size) == 0;
}

/* Writes what it sees. */
static void describe(const struct harebell_host *host, const struct harebell_delivery *delivery,
                     struct harebell_answer *answer) {
    char *text = host->allocate(host->context, 4096);
    size_t end = 0, index;
    const struct harebell_text texts[] = {
        delivery->content_type, delivery->content_encoding, delivery->message_id, delivery->correlation_id,
        delivery->reply_to, delivery->type, delivery->app_id, delivery->expiration, delivery->exchange,
        delivery->routing_key,
    };
    if (host->size != sizeof *host || delivery->size != sizeof *delivery || answer->size != sizeof *answer) return;
    for (index = 0; index < sizeof texts / sizeof *texts; index++) {
        end += (size_t)sprintf(text + end, "%.*s|", texts[index].bytes ? (int)texts[index].size : 4,
                               texts[index].bytes ? (const char *)texts[index].bytes : "NULL");
    }
    end += (size_t)sprintf(text + end, "%u %llu %u %lld|", delivery->has_timestamp,
                           (unsigned long long)delivery->timestamp, delivery->redelivered, (long long)delivery->now);
    for (index = 0; index < delivery->header_count; index++) {
        const struct harebell_header *header = &delivery->headers[index];
        end += (size_t)sprintf(text + end, "%.*s=%u,%.*s,%lld,%u,%g|", (int)header->name.size,
                               (const char *)header->name.bytes, header->kind, (int)header->text.size,
                               header->text.bytes ? (const char *)header->text.bytes : "", (long long)header->integer,
                               header->boolean, header->number);
    }
    answer->kind = HAREBELL_IGNORE;
    answer->detail = (struct harebell_text){(const uint8_t *)text, end};
}

/* A future host's notification, of which ours is the beginning. */
struct wide {
    struct harebell_notification notification;
    uint8_t more[64];
};

static void decode(void *decoder, const struct harebell_host *host, const struct harebell_delivery *delivery,
                   struct harebell_answer *answer) {
    static struct wide notifications[501];
    struct harebell_notification *one = &notifications[0].notification;
    struct harebell_text word = delivery->body;
    size_t index;
    (void)decoder;

    if (is(word, "nothing")) return;
    if (is(word, "describe")) {
        describe(host, delivery, answer);
        return;
    }
    if (is(word, "living")) {
        char *text = host->allocate(host->context, 16);
        answer->kind = HAREBELL_IGNORE;
        answer->detail = (struct harebell_text){(const uint8_t *)text, (size_t)sprintf(text, "%d", living)};
        return;
    }
    if (is(word, "memory")) {
        size_t blocks = 0;
        char *text = host->allocate(host->context, 64);
        const char *huge = host->allocate(host->context, SIZE_MAX) ? "some" : "none";
        while (host->allocate(host->context, 1000)) blocks++;
        answer->kind = HAREBELL_IGNORE;
        answer->detail = (struct harebell_text){(const uint8_t *)text, (size_t)sprintf(text, "%zu %s", blocks, huge)};
        return;
    }
    if (is(word, "unknown")) {
        answer->kind = 99;
        return;
    }
    if (is(word, "reject")) {
        answer->kind = HAREBELL_REJECT;
        answer->detail = TEXT("not \xff good");
        answer->key = TEXT("the key");
        return;
    }
    if (is(word, "reject mutely")) {
        answer->kind = HAREBELL_REJECT;
        return;
    }
    if (is(word, "reject at length")) {
        char *text = host->allocate(host->context, 100000);
        memset(text, 'x', 100000);
        answer->kind = HAREBELL_REJECT;
        answer->detail = (struct harebell_text){(const uint8_t *)text, 100000};
        return;
    }
    if (is(word, "later")) {
        answer->kind = HAREBELL_LATER;
        return;
    }
    if (is(word, "much later")) {
        answer->kind = HAREBELL_LATER;
        answer->seconds = UINT64_MAX;
        return;
    }

    memset(notifications, 0, sizeof notifications);
    for (index = 0; index < 501; index++) {
        notifications[index].notification.payload = TEXT("{\"aps\":{\"alert\":\"a\"}}");
        notifications[index].notification.device_token = TEXT("00fc");
    }
    answer->kind = HAREBELL_REQUEST;
    answer->notifications = one;
    answer->notification_count = 1;
    answer->notification_size = sizeof *notifications;
    answer->key = TEXT("the key");

    if (is(word, "all fields")) {
        one->topic = TEXT("com.example.app");
        one->push_type = TEXT("voip");
        one->id = TEXT("0b5bbbb0-7a2f-4f3c-9a4c-7d4a3c2b1a00");
        one->collapse_id = TEXT("c");
        one->environment = TEXT("development");
        one->expiration = 1795300000;
        one->has_expiration = 1;
        one->priority = 5;
    } else if (is(word, "broadcast")) {
        one->device_token.bytes = NULL;
        one->device_token.size = 0;
        one->channel_id = TEXT("dHN0LXNyY2gtY2hubA==");
        one->push_type = TEXT("liveactivity");
    } else if (is(word, "three")) {
        answer->notification_count = 3;
        notifications[1].notification.device_token = TEXT("11fc");
        notifications[1].notification.payload = TEXT("{\"aps\":{\"alert\":\"b\"}}");
        notifications[2].notification.device_token = TEXT("22fc");
    } else if (is(word, "three, one wrong")) {
        answer->notification_count = 3;
        notifications[1].notification.device_token = TEXT("xyz");
    } else if (is(word, "500")) {
        answer->notification_count = 500;
    } else if (is(word, "501")) {
        answer->notification_count = 501;
    } else if (is(word, "no end")) {
        answer->notification_count = SIZE_MAX;
    } else if (is(word, "none")) {
        answer->notification_count = 0;
    } else if (is(word, "nowhere")) {
        answer->notifications = NULL;
    } else if (is(word, "small struct")) {
        answer->notification_size = 8;
    } else if (is(word, "vast struct")) {
        answer->notification_size = SIZE_MAX / 2;
    } else if (is(word, "text at NULL")) {
        one->topic.size = 5;
    } else if (is(word, "endless text")) {
        one->topic = (struct harebell_text){(const uint8_t *)"x", SIZE_MAX};
    } else if (is(word, "key at NULL")) {
        answer->key = (struct harebell_text){NULL, 1};
    } else if (is(word, "no payload")) {
        one->payload = (struct harebell_text){NULL, 0};
    } else if (is(word, "empty payload")) {
        one->payload.size = 0;
    } else if (is(word, "payload that is no UTF-8")) {
        one->payload = TEXT("{\"aps\":{\"alert\":\"\xff\"}}");
    } else if (is(word, "payload that is no JSON")) {
        one->payload = TEXT("{\"aps\":");
    } else if (is(word, "topic that is no header")) {
        one->topic = TEXT("a\r\nb: c");
    } else if (is(word, "priority")) {
        one->priority = 300;
    } else if (is(word, "expiration")) {
        one->expiration = -1;
        one->has_expiration = 1;
    } else {
        /* The body is the payload. */
        one->payload = word;
    }
}

const struct harebell_format *ENTRY(uint32_t abi, const char **error);

const struct harebell_format *ENTRY(uint32_t abi, const char **error) {
    static struct harebell_format format;
    (void)create, (void)decode, (void)destroy;
#ifdef REFUSE
    *error = REFUSE;
    return NULL;
#endif
    (void)error;
    if (abi != 1) return NULL;
    format.size = TABLE_SIZE;
    format.abi = TABLE_ABI;
    format.name = TEXT(TABLE_NAME);
    format.version = TEXT(TABLE_VERSION);
    format.create = TABLE_CREATE;
    format.decode = TABLE_DECODE;
    format.destroy = TABLE_DESTROY;
    return &format;
}
