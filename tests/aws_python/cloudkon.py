"""CloudKon's way to use SQS and DynamoDB, small: a client pushes tasks to a request queue; workers
receive them, write each result into a table, once, and delete the message.

    cloudkon.py ENDPOINT TASKS WORKERS

One worker dies with messages in its hands: others do their tasks.
"""
import hashlib
import json
import multiprocessing
import os
import sys

import boto3
from botocore.exceptions import ClientError

ENDPOINT, TASKS, WORKERS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
HOLD_S = 3


def connect():
    at = {"endpoint_url": ENDPOINT, "region_name": "eu-north-1"}
    return boto3.resource("sqs", **at), boto3.resource("dynamodb", **at).Table("results")


def execute(task):
    return hashlib.sha256(str(task["n"] ** 3).encode()).hexdigest()


def work(number, dies):
    sqs, results = connect()
    queue = sqs.get_queue_by_name(QueueName="requests")
    while True:
        messages = queue.receive_messages(MaxNumberOfMessages=5, WaitTimeSeconds=1, VisibilityTimeout=HOLD_S)
        if dies and messages:
            os._exit(9)
        for message in messages:
            task = json.loads(message.body)
            try:
                results.put_item(Item={"task": task["n"], "result": execute(task), "worker": number},
                                 ConditionExpression="attribute_not_exists(task)")
            except ClientError as error:
                assert error.response["Error"]["Code"] == "ConditionalCheckFailedException", error
            message.delete()
        if not messages and results.scan(Select="COUNT")["Count"] == TASKS:
            return


def main():
    sqs, results = connect()
    queue = sqs.create_queue(QueueName="requests")
    results.meta.client.create_table(
        TableName="results", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "task", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "task", "AttributeType": "N"}])
    results.wait_until_exists()
    for start in range(0, TASKS, 10):
        sent = queue.send_messages(Entries=[{"Id": str(n), "MessageBody": json.dumps({"n": n})}
                                            for n in range(start, min(start + 10, TASKS))])
        assert not sent.get("Failed"), sent
    dead = multiprocessing.Process(target=work, args=(0, True))
    dead.start()
    dead.join()
    assert dead.exitcode == 9, dead.exitcode
    workers = [multiprocessing.Process(target=work, args=(i + 1, False)) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0, worker.exitcode
    items = results.scan()["Items"]
    assert sorted(int(item["task"]) for item in items) == list(range(TASKS))
    assert all(item["result"] == execute({"n": int(item["task"])}) for item in items)
    queue.reload()
    left = [queue.attributes[f"ApproximateNumberOfMessages{which}"] for which in ("", "NotVisible")]
    assert left == ["0", "0"], left
    print(f"cloudkon: ok, {TASKS} tasks, a worker died")


main()
