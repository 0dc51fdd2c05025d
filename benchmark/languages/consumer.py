# python3 consumer.py SERVERS TOPIC COUNT PARSER: reads COUNT messages with confluent-kafka and orjson, or another module that has loads.
import importlib
import json
import os
import sys
import time

from confluent_kafka import Consumer

servers, topic, total = sys.argv[1], sys.argv[2], int(sys.argv[3])
loads = importlib.import_module(sys.argv[4]).loads
goal = total * 9 // 10


def read(data):
    order = loads(data)
    return order["id"] + len(order["status"]) + int(order["total"] * 100 + 0.5) + len(order["customer"]["email"]) + order["items"][0]["quantity"]


consumer = Consumer({"bootstrap.servers": servers, "group.id": f"bench-python-{os.getpid()}", "auto.offset.reset": "earliest",
                     "fetch.wait.max.ms": 50, "queued.max.messages.kbytes": 50000, "fetch.message.max.bytes": 10000000})
consumer.subscribe([topic])
count = total_sum = 0
began = ended = None
while count < total:
    messages = [message for message in consumer.consume(2000, 0.1) if message.error() is None]
    if not messages:
        continue
    began = began or time.monotonic()
    total_sum += sum(read(message.value()) for message in messages)
    count += len(messages)
    if count >= goal:
        ended = ended or time.monotonic()
print(json.dumps({"rate": goal / (ended - began), "sum": total_sum}))
sys.stdout.flush()
os._exit(0)
