"""Publishes one request and prints its result; exit status 0 if APNs accepted it, else 65.

pip install pika
python publish.py amqp://guest:guest@127.0.0.1:5672/%2f push.requests com.example.app 00fc13adff785122
"""

import json
import sys
import time
import uuid

import pika

url, queue, topic, device_token = sys.argv[1:]
request_id = str(uuid.uuid4())
request = {
    "device-token": device_token,
    "apns-topic": topic,
    "apns-push-type": "alert",
    "payload": {"aps": {"alert": {"title": "Hello", "body": "from Python"}}},
}

with pika.BlockingConnection(pika.URLParameters(url)) as connection:
    channel = connection.channel()
    # From here on a publish raises if no queue takes it or the broker refuses it.
    channel.confirm_delivery()
    # A service has one durable queue for all of its results; this one goes with the connection.
    replies = channel.queue_declare("", exclusive=True).method.queue
    channel.basic_publish(
        exchange="",
        routing_key=queue,
        mandatory=True,
        body=json.dumps(request),
        properties=pika.BasicProperties(
            content_type="application/json",
            delivery_mode=2,
            message_id=request_id,
            correlation_id=request_id,
            reply_to=replies,
            timestamp=int(time.time()),
        ),
    )
    for method, properties, body in channel.consume(replies, inactivity_timeout=30):
        if method is None:
            sys.exit("no result within 30 s")
        channel.basic_ack(method.delivery_tag)
        if properties.correlation_id == request_id:
            break

result = json.loads(body)
print(json.dumps(result, indent=2))
sys.exit(0 if result["outcome"] == "accepted" else 65)
