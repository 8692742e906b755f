#!/usr/bin/env python3
"""A decoder for Harebell in Python: see docs/produce/decoders/process.md.

It reads orders such as {"user": {"device": "00fc…"}, "title": "Your order", "text": "is ready"}.
What it prints goes to the other side: messages for people go to standard error.
"""

import json
import struct
import sys


def decode(message):
    """One message's answer, without its id."""
    order = json.loads(message["body"])
    if order.get("type", "push") != "push":
        return {"ignore": "not for devices"}
    if "device" not in order.get("user", {}):
        return {"reject": "user.device: missing"}
    alert = {"title": order["title"], "body": order["text"]}
    return {
        "requests": [
            {
                "device-token": order["user"]["device"],
                "apns-topic": "com.example.app",
                "apns-push-type": "alert",
                "payload": {"aps": {"alert": alert}},
            }
        ]
    }


def answer(message):
    try:
        return {"id": message["id"], **decode(message)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        # The kind of error is enough: its text may have a device token in it.
        return {"id": message["id"], "reject": f"not an order: {type(error).__name__}"}


def read_frame(stream):
    """The next frame; None at the end."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    return json.loads(stream.read(struct.unpack(">I", head)[0]))


def write_frame(stream, frame):
    content = json.dumps(frame, separators=(",", ":")).encode()
    stream.write(struct.pack(">I", len(content)) + content)
    stream.flush()


def main():
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    write_frame(answers, {"hello": {"protocol": 1}})
    while (frame := read_frame(requests)) is not None:
        if "messages" in frame:
            write_frame(answers, {"answers": [answer(message) for message in frame["messages"]]})


if __name__ == "__main__":
    main()
