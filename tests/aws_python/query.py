"""SQS in its Query protocol, by an SDK that speaks no other: boto3 as Debian 12 has it.

    query.py ENDPOINT

with the keys in the environment. Ends with an error if something is not as it should be.
"""
import hashlib
import struct
import sys
import time

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT = sys.argv[1]
CONFIG = Config(retries={"max_attempts": 1})
sqs = boto3.client("sqs", endpoint_url=ENDPOINT, region_name="eu-north-1", config=CONFIG)
assert sqs.meta.service_model.protocol == "query", "this SDK speaks SQS's JSON protocol"


def fails(code, call, **parameters):
    try:
        call(**parameters)
    except ClientError as error:
        got = error.response["Error"]
        assert got["Code"] == code, got
        assert error.response["ResponseMetadata"]["RequestId"], error.response
        return error
    raise AssertionError(f"{call.__name__} did not fail with {code}")


def md5_of(attributes):
    """As SQS's documentation has it."""
    text = b""
    for name in sorted(attributes):
        kind = attributes[name]["DataType"]
        binary = kind.startswith("Binary")
        value = attributes[name]["BinaryValue"] if binary else attributes[name]["StringValue"].encode()
        for part in (name.encode(), kind.encode()):
            text += struct.pack(">I", len(part)) + part
        text += (b"\2" if binary else b"\1") + struct.pack(">I", len(value)) + value
    return hashlib.md5(text).hexdigest()


def queues():
    url = sqs.create_queue(QueueName="q-1", Attributes={"VisibilityTimeout": "60", "DelaySeconds": "0"},
                           tags={"team": "a&b", "cost": "<7>"})["QueueUrl"]
    assert url == f"{ENDPOINT}/000000000000/q-1", url
    assert sqs.create_queue(QueueName="q-1", Attributes={"VisibilityTimeout": "60"})["QueueUrl"] == url
    error = fails("QueueAlreadyExists", sqs.create_queue, QueueName="q-1", Attributes={"VisibilityTimeout": "61"})
    assert isinstance(error, sqs.exceptions.QueueNameExists)
    assert error.response["Error"]["Type"] == "Sender"
    assert sqs.get_queue_url(QueueName="q-1")["QueueUrl"] == url
    error = fails("AWS.SimpleQueueService.NonExistentQueue", sqs.get_queue_url, QueueName="none")
    assert isinstance(error, sqs.exceptions.QueueDoesNotExist)
    sqs.create_queue(QueueName="q-2")
    assert sqs.list_queues(QueueNamePrefix="q-2")["QueueUrls"] == [url[:-1] + "2"]
    pages = sqs.get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 1})
    assert [u[-3:] for page in pages for u in page.get("QueueUrls", [])] == ["q-1", "q-2"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "120", "DelaySeconds": "1"})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "0"})
    shown = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout", "QueueArn"])["Attributes"]
    assert shown == {"VisibilityTimeout": "120", "QueueArn": "arn:aws:sqs:eu-north-1:000000000000:q-1"}, shown
    sqs.tag_queue(QueueUrl=url, Tags={"more": "ä"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["cost"])
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "a&b", "more": "ä"}
    sqs.delete_queue(QueueUrl=url[:-1] + "2")
    fails("InvalidAction", sqs.add_permission, QueueUrl=url, Label="l", AWSAccountIds=["1"], Actions=["*"])
    return url


def messages(url):
    body = 'eins ✓ <&">\r\n\tzwei + %2B  '
    attributes = {
        "kind.of": {"DataType": "String", "StringValue": "grüße & <mehr>"},
        "size": {"DataType": "Number.int", "StringValue": "17"},
        "raw": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    }
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
    # The SDK compares MD5OfMessageBody with what it has sent and received.
    sent = sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes, MessageSystemAttributes=trace)
    assert sent["MD5OfMessageBody"] == hashlib.md5(body.encode()).hexdigest()
    assert sent["MD5OfMessageAttributes"] == md5_of(attributes)
    assert sent["MD5OfMessageSystemAttributes"] == md5_of(trace)
    receive = {"QueueUrl": url, "AttributeNames": ["All"], "MessageAttributeNames": ["kind.*", "raw"]}
    got = sqs.receive_message(**receive)["Messages"][0]
    assert got["Body"] == body, got
    chosen = {name: attributes[name] for name in ("kind.of", "raw")}
    assert got["MessageAttributes"] == chosen, got
    assert got["MD5OfMessageAttributes"] == md5_of(chosen)
    first = got["Attributes"]
    assert first["AWSTraceHeader"] == trace["AWSTraceHeader"]["StringValue"]
    assert first["ApproximateReceiveCount"] == "1"
    assert abs(int(first["ApproximateFirstReceiveTimestamp"]) / 1000 - time.time()) < 60
    assert "Messages" not in sqs.receive_message(**receive)
    handle = got["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
    again = sqs.receive_message(**receive)["Messages"][0]
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
    assert again["Attributes"]["ApproximateFirstReceiveTimestamp"] == first["ApproximateFirstReceiveTimestamp"]
    fails("AWS.SimpleQueueService.MessageNotInflight", sqs.change_message_visibility,
          QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=1)
    fails("InvalidParameterValue", sqs.change_message_visibility,
          QueueUrl=url, ReceiptHandle=again["ReceiptHandle"], VisibilityTimeout=43201)
    fails("InvalidParameterValue", sqs.receive_message, QueueUrl=url, VisibilityTimeout=43201)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"])
    fails("ReceiptHandleIsInvalid", sqs.delete_message, QueueUrl=url, ReceiptHandle="nonsense")
    fails("InvalidMessageContents", sqs.send_message, QueueUrl=url, MessageBody="a\x01b")
    fails("InvalidParameterValue", sqs.send_message, QueueUrl=url, MessageBody="x" * 262145)
    sqs.send_message(QueueUrl=url, MessageBody="ä" * 131072)  # 256 KiB, three times as much in a form.
    fails("AWS.SimpleQueueService.NonExistentQueue", sqs.send_message, QueueUrl=url + "x", MessageBody="x")


def batches(url):
    sqs.purge_queue(QueueUrl=url)
    entries = [{"Id": f"e{i}", "MessageBody": f"body {i}", "DelaySeconds": 0,
                "MessageAttributes": {f"n{j}": {"DataType": "Number", "StringValue": str(i)} for j in range(10)}}
               for i in range(10)]
    sent = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    assert [s["Id"] for s in sent["Successful"]] == [e["Id"] for e in entries], sent
    assert sent["Successful"][3]["MD5OfMessageAttributes"] == md5_of(entries[3]["MessageAttributes"])
    got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])["Messages"]
    assert [m["Body"] for m in got] == [f"body {i}" for i in range(10)], got
    changed = sqs.change_message_visibility_batch(QueueUrl=url, Entries=[
        {"Id": m["Body"][-1], "ReceiptHandle": m["ReceiptHandle"], "VisibilityTimeout": 90} for m in got])
    assert len(changed["Successful"]) == 10 and not changed.get("Failed"), changed
    done = sqs.delete_message_batch(QueueUrl=url, Entries=[
        *({"Id": m["Body"][-1], "ReceiptHandle": m["ReceiptHandle"]} for m in got[:5]),
        {"Id": "bad", "ReceiptHandle": "x"}])
    assert [d["Id"] for d in done["Successful"]] == ["0", "1", "2", "3", "4"], done
    assert [(f["Id"], f["Code"], f["SenderFault"]) for f in done["Failed"]] == [("bad", "ReceiptHandleIsInvalid", True)]
    fails("AWS.SimpleQueueService.BatchEntryIdsNotDistinct", sqs.send_message_batch, QueueUrl=url, Entries=entries[:1] * 2)
    fails("AWS.SimpleQueueService.TooManyEntriesInBatchRequest", sqs.send_message_batch,
          QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": "x"} for i in range(11)])
    # What is held is counted no more, and does not come back.
    sqs.purge_queue(QueueUrl=url)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    shown = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    assert [shown[name] for name in names] == ["0", "0"], shown


def strangers():
    client = botocore.session.Session().create_client(
        "sqs", endpoint_url=ENDPOINT, region_name="eu-north-1", config=CONFIG,
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE", aws_secret_access_key="wrong")
    fails("InvalidClientTokenId", client.list_queues)


url = queues()
messages(url)
batches(url)
strangers()
print("query: ok")
