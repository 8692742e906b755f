"""Holds the schemas of docs/reference/schemas and the worker together, in both directions.

schemas.py --worker BROKER KIND    BROKER has a worker with the queues push.requests and push.dead and an app
                                   com.example.app; KIND says what a message holds: result, or results where the worker
                                   has results.per: request
schemas.py --interface ASYNCAPI    ASYNCAPI is the document that the binary prints

- Requests, generated and damaged at random: a worker accepts exactly those that the schema accepts.
- Each result, each array of results and the headers of each dead letter are valid.
- The AsyncAPI document is valid, its references lead somewhere, and its examples are valid.
"""

import copy
import functools
import json
import operator
import pathlib
import random
import re
import sys

import jsonschema
import pika

FOLDER = pathlib.Path("docs/reference/schemas")
REQUESTS = 400
ABSENT = object()


def load(name, part=None):
    """The schema of a file, or of one of its definitions."""
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator({**schema["$defs"][part], "$defs": schema["$defs"]} if part else schema)


def check(validator, instance, what):
    for error in validator.iter_errors(instance):
        sys.exit(f"schemas: {what} is not valid: {error.message}: {json.dumps(instance)[:2000]}")


# Requests

# What may stand in the place of a value; which of it is valid is for schema and worker to say.
VALUES = {
    "device-token": ["", "0", "zz", "0x00", 1, ["00"], {}, "ab" * 513, " 00"],
    "device-tokens": [[], "00", {}, 1, ["00", "zz"], ["00", 1], [None], ["00"] * 501, ["00", "01"]],
    "apns-channel-id": ["", "a b", 1, "a" * 257, "dHN0", {}],
    "apns-topic": ["", "a b", "com.example.\u00e4", 1, "x" * 256, [], {}],
    "apns-push-type": ["alert", "background", "complication", "fileprovider", "location", "voip", "liveactivity", "",
                       "alarm", 1, True, []],
    "apns-id": ["123E4567-E89B-12D3-A456-426655440000", "", "x", 1, "123e4567e89b12d3a456426655440000", []],
    "apns-request-id": ["123e4567-e89b-12d3-a456-426655440001"],
    "apns-priority": [1, 5, 10, 10.0, 0, 7, -5, 255, "10", 1.5, 10.5, True],
    "apns-expiration": [0, 1000000000, 4102444800, 4102444800.0, 99999999999, -1, 1.5, "1", True, [], 1, 999999999,
                        100000000000, 2**63 - 1, 2**63],
    # Times that have passed: a request does not wait for them.
    "not-before": [0, 1000000000, 1700000000, -1, 1.5, "1", True, [], 1, 999999999, 100000000000, 2**63],
    "apns-collapse-id": ["a", "score 42", "x" * 64, "\u00e9", "", " a", "a ", "a\tb", "x" * 65, "\u007f", 1, []],
    "environment": ["production", "staging", "Production", 1, [], ""],
    "payload": [{"aps": {"alert": {"title": "A", "body": "B"}, "sound": "default"}, "custom": [1, {"x": None}]},
                {"aps": {"badge": 0}}, {"aps": {"event": "update", "content-state": {"a": 1}, "timestamp": 1}},
                {}, [], "x", 1, True, {"aps": {}}, {"aps": 1}, {"aps": {"alert": None}}, {"x": 1},
                {"aps": {"event": "end"}}, {"aps": {"event": 1}}, {"aps": {"event": None, "alert": "x"}}],
    "channel": [
        {"operation": "create", "message-storage-policy": 0}, {"operation": "list"}, {"operation": "read"},
        {"operation": "read", "apns-channel-id": "dHN0"}, {"operation": "delete", "apns-channel-id": "dHN0"},
        {}, [], 1, {"operation": "create"}, {"operation": "create", "message-storage-policy": 2}, {"operation": "make"},
        {"operation": "create", "message-storage-policy": "1"}, {"operation": "delete", "apns-channel-id": "a b"},
        {"operation": 1}, {"operation": "list", "more": 1},
    ],
    "unknown": [1, {"a": []}],
}


def device_token(source):
    """One that is used once: APNs throttles a device. The simulator has outcomes for those that begin with a word."""
    token = f"{source.getrandbits(128):032x}"
    return source.choice(["00", "00", "00", "dead", "bad0", "0" * 992]) + source.choice([token, token, token.upper()])


def generated(source, examples):
    """An example with other device tokens, and with other values at up to three places."""
    request = copy.deepcopy(source.choice(examples))
    if "device-token" in request:
        request["device-token"] = device_token(source)
    if "device-tokens" in request:
        request["device-tokens"] = [device_token(source) for _ in range(source.choice([1, 2, 5]))]
    for name in source.sample(list(VALUES), source.choice([0, 1, 1, 2, 3])):
        value = source.choice(VALUES[name] + [None, ABSENT])
        if value is ABSENT:
            request.pop(name, None)
        else:
            request[name] = copy.deepcopy(value)
    if request.get("apns-topic") is None:
        # Whether it may be missing depends on the configuration, not on the request.
        request["apns-topic"] = "com.example.app"
    return request


def ask(broker, requests):
    """Publishes the requests and returns the bodies of each one's result messages, and the dead letters' headers."""
    bodies = [[] for _ in requests]
    with pika.BlockingConnection(pika.URLParameters(broker)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        replies = channel.queue_declare("", exclusive=True).method.queue
        for index, request in enumerate(requests):
            channel.basic_publish(
                "", "push.requests", json.dumps(request), mandatory=True,
                properties=pika.BasicProperties(
                    content_type="application/vnd.harebell.request+json", message_id=f"{index}",
                    correlation_id=f"{index}", reply_to=replies))
        for _, properties, body in channel.consume(replies, auto_ack=True, inactivity_timeout=10):
            if properties is None:
                break
            bodies[int(properties.correlation_id)].append(json.loads(body))
        channel.cancel()
        for request, answers in zip(requests, bodies):
            if not answers:
                sys.exit(f"schemas: no result for {request}")
        headers = []
        while True:
            method, properties, _ = channel.basic_get("push.dead", auto_ack=True)
            if method is None:
                return bodies, headers
            headers.append(properties.headers)


def check_requests(broker, kind):
    seed = random.randrange(2**32)
    source = random.Random(seed)
    validator, dead_letter_schema = load("request"), load("dead-letter")
    body_schemas = [load("result"), load("result", kind)]
    examples = validator.schema["examples"]
    for example in examples:
        check(validator, example, "an example")
    requests = examples + [generated(source, examples) for _ in range(REQUESTS)]
    bodies, dead_letters = ask(broker, requests)
    counts = {True: 0, False: 0}
    outcomes = set()
    lengths = set()
    for request, answers in zip(requests, bodies):
        for answer in answers:
            for schema in body_schemas:
                check(schema, answer, f"seed {seed}: the body of a message")
        results = answers if kind == "result" else [result for answer in answers for result in answer]
        is_valid = validator.is_valid(request)
        counts[is_valid] += 1
        is_accepted = all(result["outcome"] != "invalid" for result in results)
        if is_valid != is_accepted:
            sys.exit(
                f"schemas: seed {seed}: the schema {'accepts' if is_valid else 'refuses'} and the worker does not: "
                f"{json.dumps(request)[:2000]}: {[result['detail'] for result in results]}")
        lengths.add(len(results))
        outcomes.update(result["outcome"] for result in results)
    for headers in dead_letters:
        check(dead_letter_schema, headers, "the headers of a dead letter")
    if min(counts.values()) < REQUESTS / 10 or not dead_letters or max(lengths) < 5:
        sys.exit(f"schemas: seed {seed}: the requests are too much alike: {counts}, {len(dead_letters)} dead letters")
    print(f"schemas: a message has the {kind}: {counts[True]} valid and {counts[False]} invalid requests, "
          f"outcomes {', '.join(sorted(outcomes))}, {len(dead_letters)} dead letters")


# The interface

def check_asyncapi(path):
    from asyncapi3 import AsyncAPI3

    document = json.loads(pathlib.Path(path).read_text())
    AsyncAPI3.model_validate(document)
    for reference in re.findall(r'"\$ref": "#/([^"]*)"', json.dumps(document)):
        functools.reduce(operator.getitem, reference.split("/"), document)
    count = 0
    for message in document["components"]["messages"].values():
        for part in ("payload", "headers"):
            schema = message.get(part, {})
            validator = jsonschema.Draft202012Validator(
                {**schema.get("schema", schema), "components": document["components"]})
            for example in message["examples"]:
                if part in example:
                    check(validator, example[part], f"an example of {message['name']}")
                    count += 1
    print(f"schemas: the AsyncAPI document is valid, and so are {count} examples in it")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--interface", document]:
            for example in load("result").schema["examples"]:
                check(load("result"), example, "an example of results")
            check_asyncapi(document)
        case ["--worker", broker, kind]:
            check_requests(broker, kind)
        case _:
            sys.exit(__doc__)
