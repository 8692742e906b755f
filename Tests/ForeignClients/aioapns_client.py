"""Sends notifications by aioapns, which shares no code with Harebell, and prints its view of the responses.

Usage: aioapns_client.py PLAN

PLAN is a JSON file: {"port", "ca", "key", "key_id", "team_id", "topic", "steps"}. "steps" is an array of arrays of
requests; those of one step are sent at once. A request has "token", "payload" and whatever else a NotificationRequest
takes. Each result is a line of JSON, in the order of the requests.
"""

import asyncio
import json
import logging
import ssl
import sys

import aioapns


async def send(client, fields):
    if "push_type" in fields:
        fields["push_type"] = aioapns.PushType(fields["push_type"])
    notification = aioapns.NotificationRequest(
        device_token=fields.pop("token"), message=fields.pop("payload", {"aps": {"alert": "Hello"}}), **fields)
    try:
        result = await asyncio.wait_for(client.send_notification(notification), 20)
    except (aioapns.exceptions.MaxAttemptsExceeded, asyncio.TimeoutError) as error:
        return {"exception": type(error).__name__}
    if result.notification_id != notification.notification_id:
        return {"exception": "the result is of another notification"}
    return {"status": result.status, "description": result.description, "timestamp": result.timestamp}


async def main(plan):
    with open(plan["key"]) as file:
        key = file.read()
    client = aioapns.APNs(
        key=key,
        key_id=plan["key_id"],
        team_id=plan["team_id"],
        topic=plan["topic"],
        ssl_context=ssl.create_default_context(cafile=plan["ca"]),
    )

    class Protocol(client.pool.protocol_class):
        APNS_SERVER = "localhost"
        APNS_PORT = plan["port"]

    client.pool.protocol_class = Protocol
    for step in plan["steps"]:
        for result in await asyncio.gather(*(send(client, fields) for fields in step)):
            print(json.dumps(result, sort_keys=True), flush=True)
    client.pool.close()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with open(sys.argv[1]) as file:
        asyncio.run(main(json.load(file)))
