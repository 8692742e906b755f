"""Publishes requests with clients that teams use, as the pages for producers show it. Prints a line for each expected
result: its correlation ID, if the client shows it.

    producers.py URL QUEUE REPLIES TOPIC CLIENT...    CLIENT: pika, aio-pika, kombu, php, celery, proton

The snippets of docs/produce run as they stand there: only addresses, names and IDs are replaced.
"""

import asyncio
import datetime
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from urllib.parse import urlsplit

url, queue, replies, topic, *clients = sys.argv[1:]
pages = Path(__file__).resolve().parents[2] / "docs" / "produce"
token = "7" + "0" * 63
payload = {"aps": {"alert": "Größe 📏"}}
request = {"device-token": token, "apns-topic": topic, "payload": payload}


def snippet(page, language, after):
    """The first block of a language after a text, with this run's names."""
    text = (pages / page).read_text()
    block = re.search(rf"```{language}\n(.*?)```", text[text.index(after):], re.DOTALL).group(1)
    for shown, own in {
        "push.requests": queue,
        "celery-push": queue,
        "shop.results": replies,
        "com.example.app": topic,
        "00fc…": token,
        "countdown=60": "countdown=1",
    }.items():
        block = block.replace(shown, own)
    return re.sub(r"amqp://guest:guest@127\.0\.0\.1:5672/+(%2f)?", url, block)


def own_id(block, name):
    print(name)
    return block.replace("order-1", name)


def run_pika():
    import pika

    exec(own_id(snippet("clients.md", "python", "## Python: pika"), "pika"), {"pika": pika, "json": json, "request": request})


def run_aio_pika():
    import aio_pika

    block = own_id(snippet("clients.md", "python", "## Python: aio-pika"), "aio-pika")
    body = "".join(f"    {line}\n" for line in block.splitlines())
    names = {"aio_pika": aio_pika, "json": json, "request": request}
    exec(f"async def publish():\n{body}    await connection.close()\n", names)
    asyncio.run(names["publish"]())


def run_kombu():
    import kombu

    with kombu.Connection(url) as connection:
        connection.Producer().publish(
            request, routing_key=queue, correlation_id="kombu", reply_to=replies, retry=False)
    print("kombu")


def run_php():
    block = own_id(snippet("clients.md", "php", "## PHP: php-amqplib"), "php")
    place = urlsplit(url)
    block = block.replace("'127.0.0.1', 5672, 'guest', 'guest'", f"'{place.hostname}', {place.port}, '{place.username}', '{place.password}'")
    names = "use PhpAmqpLib\\Connection\\AMQPStreamConnection; use PhpAmqpLib\\Message\\AMQPMessage;"
    program = f"require 'PhpAmqpLib/autoload.php'; {names} $request = json_decode($argv[1]); {block}"
    subprocess.run(["php", "-r", program, json.dumps(request)], check=True, stdout=sys.stderr)


def run_celery():
    """The page's own call, then each other way that Celery has to delay a task or to let it expire, without a result
    backend and with replies by RPC: Celery sets a reply address in both cases."""
    now = datetime.datetime.now(datetime.timezone.utc)
    soon = now + datetime.timedelta(seconds=1)
    ways = [
        {},
        {"countdown": 1},
        {"expires": 3600},
        {"expires": now + datetime.timedelta(hours=1)},
        {"eta": soon},
        {"eta": soon.astimezone(datetime.timezone(datetime.timedelta(hours=5)))},
        {"eta": soon.replace(tzinfo=None)},
        {"countdown": 1, "expires": 60, "priority": 3, "headers": {"shop": "north"}},
    ]
    page = snippet("decoders/celery.md", "python", "```yaml")
    for application in ('Celery("shop"', 'Celery("shop", backend="rpc://"'):
        names = {}
        exec(page.replace('Celery("shop"', application), names)
        push = names["push"]
        # kombu wraps the UUID.
        tasks = [push.delay(request=request), push.delay(request={**request, "apns-id": uuid.uuid4()})]
        tasks += [push.apply_async(kwargs={"request": request}, **way) for way in ways]
        print("the task of the page", *(task.id for task in tasks), sep="\n")


def run_proton():
    """AMQP 1.0: a data section, and value sections with text and with binary."""
    from proton import Message, symbol
    from proton.utils import BlockingConnection

    place = urlsplit(url)
    connection = BlockingConnection(f"amqp://{place.hostname}:{place.port}", user=place.username, password=place.password)
    sender = connection.create_sender(f"/queues/{queue}")
    text = json.dumps(request)
    messages = {
        "proton-data": Message(text.encode(), inferred=True, content_type=symbol("application/json")),
        "proton-text": Message(text),
        "proton-binary": Message(text.encode()),
    }
    for name, message in messages.items():
        message.id = name
        message.durable = True
        message.reply_to = f"/queues/{replies}"
        sender.send(message)
        print(name)
    connection.close()


for client in clients:
    globals()["run_" + client.replace("-", "_")]()
