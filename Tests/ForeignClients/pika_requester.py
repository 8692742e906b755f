"""Sends requests that ask for a direct reply, each line of a file one, and prints the replies, one in each line.

    pika_requester.py URL QUEUE FILE wait     prints as many replies as there are requests, and what else comes in a
                                              second
    pika_requester.py URL QUEUE FILE leave    disconnects once the requests are in the queue

Source: https://www.rabbitmq.com/docs/direct-reply-to
"""

import sys
from pathlib import Path

import pika

url, queue, file, mode = sys.argv[1:]
bodies = Path(file).read_text().splitlines()
connection = pika.BlockingConnection(pika.URLParameters(url))
channel = connection.channel()
replies = []
channel.basic_consume(
    "amq.rabbitmq.reply-to", lambda _channel, _method, _properties, body: replies.append(body), auto_ack=True)
if mode == "leave":
    # Returns from each publish only when the broker has confirmed it.
    channel.confirm_delivery()
for index, body in enumerate(bodies):
    properties = pika.BasicProperties(
        reply_to="amq.rabbitmq.reply-to", message_id=f"direct-{index}", content_type="application/json"
    )
    channel.basic_publish("", queue, body, properties)
if mode == "wait":
    for _ in range(60):
        if len(replies) >= len(bodies):
            break
        connection.process_data_events(time_limit=1)
    connection.process_data_events(time_limit=1)
    print("\n".join(reply.decode() for reply in replies))
connection.close()
