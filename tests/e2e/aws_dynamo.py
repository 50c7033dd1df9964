"""DynamoDB of the door with boto3: as strict as AWS, and what it tells of capacity and size.

aws_dynamo.py ENDPOINT
"""
import sys

import boto3
from botocore.client import Config
from botocore.exceptions import ClientError

D = boto3.client("dynamodb", endpoint_url=sys.argv[1], config=Config(retries={"max_attempts": 1}))
T = {"TableName": "strict"}


def same(a, b):
    if a != b:
        raise AssertionError(f"{a!r} is not {b!r}")


def invalid(words, call, **arguments):
    try:
        call(**T, **arguments)
    except ClientError as error:
        same(error.response["Error"]["Code"], "ValidationException")
        for word in words:
            if word not in str(error):
                raise AssertionError(f"no {word!r} in {error}") from error
        return
    raise AssertionError(f"not refused: {arguments}")


D.create_table(**T, BillingMode="PAY_PER_REQUEST",
               AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("p", "s")],
               KeySchema=[{"AttributeName": "p", "KeyType": "HASH"},
                          {"AttributeName": "s", "KeyType": "RANGE"}])
S = lambda text: {"S": text}
KEY = {"p": S("a"), "s": S("1")}
D.put_item(**T, Item=dict(KEY, status=S("new"), n={"N": "1"}))

# Reserved words, in any case and anywhere in a path; behind a # they are names like others.
for word in ("status", "Name", "SIZE", "ttl", "zone", "abort"):
    invalid(["reserved keyword", word], D.get_item, Key=KEY, ProjectionExpression=word)
invalid(["reserved keyword", "state"], D.update_item, Key=KEY, UpdateExpression="SET a.state = :v",
        ExpressionAttributeValues={":v": S("x")})
invalid(["reserved keyword", "status"], D.put_item, Item=KEY,
        ConditionExpression="attribute_exists(status)")
for word in ("n", "statuses", "a_name", "yes"):
    D.get_item(**T, Key=KEY, ProjectionExpression=word)
same(D.get_item(**T, Key=KEY, ProjectionExpression="#s", ExpressionAttributeNames={"#s": "status"})
     ["Item"], {"status": S("new")})

# What a sort key cannot be asked.
for other in ("attribute_exists(s)", "attribute_type(s, :v)", "s IN (:v)", "s <> :v"):
    invalid(["sort key"], D.query, KeyConditionExpression="p = :v AND " + other,
            ExpressionAttributeValues={":v": S("a")})

# What stands for nothing.
unused = dict(ExpressionAttributeValues={":v": S("x"), ":w": S("y")})
invalid(["ExpressionAttributeValues", "unused", ":w"], D.update_item, Key=KEY,
        UpdateExpression="SET a = :v", **unused)
invalid(["unused", ":v"], D.put_item, Item=KEY, **unused)
invalid(["ExpressionAttributeNames", "unused", "#x"], D.get_item, Key=KEY,
        ProjectionExpression="n", ExpressionAttributeNames={"#x": "y"})
invalid(["unused", "#x"], D.get_item, Key=KEY, ExpressionAttributeNames={"#x": "y"})
invalid(["unused", "#x"], D.scan, ExpressionAttributeNames={"#x": "y"})
same("a" in D.get_item(**T, Key=KEY)["Item"], False)

# Keys in a filter: not of a query, whose key condition they belong to.
query = dict(KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": S("a")})
for text in ("s = :p", "size(s) = :p", "n = :p OR (NOT begins_with(p, :p))"):
    invalid(["non-primary key"], D.query, FilterExpression=text, **query)
same(D.query(**T, FilterExpression="n <> :p", **query)["Count"], 1)
same(D.scan(**T, FilterExpression="s = :p", ExpressionAttributeValues={":p": S("1")})["Count"], 1)

# What an update names is told, whether it is another value now or not; and nothing beside it.
def updated(text, returns, **values):
    reply = D.update_item(**T, Key=UPDATED, UpdateExpression=text, ReturnValues=returns,
                          ExpressionAttributeValues={":" + k: v for k, v in values.items()})
    return reply.get("Attributes")


UPDATED = {"p": S("u"), "s": S("1")}
same(updated("SET c = :z, d = :m", "UPDATED_NEW", z={"N": "0"}, m={"M": {"x": S("1"), "y": S("2")}}),
     {"c": {"N": "0"}, "d": {"M": {"x": S("1"), "y": S("2")}}})
same(updated("SET c = if_not_exists(c, :z)", "UPDATED_NEW", z={"N": "9"}), {"c": {"N": "0"}})
same(updated("SET c = if_not_exists(c, :z)", "UPDATED_OLD", z={"N": "9"}), {"c": {"N": "0"}})
same(updated("SET d.x = :v", "UPDATED_NEW", v=S("3")), {"d": {"M": {"x": S("3")}}})
same(updated("SET d.x = :v, e = :v", "UPDATED_OLD", v=S("4")), {"d": {"M": {"x": S("3")}}})
for text, words in (("SET c = :v, c = :v", ["overlap"]), ("SET d.x = :v ADD d :v", ["overlap"]),
                    ("SET c = :v SET e = :v", ["SET", "once"]), ("SET p = :v", ["p", "key"]),
                    ("SET c = :v ADD s :v", ["s", "key"])):
    invalid(words, D.update_item, Key=UPDATED, UpdateExpression=text,
            ExpressionAttributeValues={":v": S("u")})
invalid(["overlap"], D.get_item, Key=UPDATED, ProjectionExpression="d, d.x")
D.delete_item(**T, Key=UPDATED)

# Capacity, by AWS's rules: 4 KiB of reading, half of it if it may be late; 1 KiB of writing.
D.put_item(**T, Item={"p": S("a"), "s": S("2"), "text": S("x" * 5000)})
asked = dict(T, ReturnConsumedCapacity="TOTAL")
units = lambda reply: reply["ConsumedCapacity"]["CapacityUnits"]
big = {"p": S("a"), "s": S("2")}
same(units(D.get_item(**asked, Key=KEY)), 0.5)
same(units(D.get_item(**asked, Key=KEY, ConsistentRead=True)), 1.0)
same(units(D.get_item(**asked, Key=big, ConsistentRead=True)), 2.0)
same(units(D.put_item(**asked, Item=KEY)), 1.0)
same(units(D.update_item(**asked, Key=big, UpdateExpression="SET n = :n",
                         ExpressionAttributeValues={":n": {"N": "1"}})), 5.0)
same(units(D.query(**asked, **query)), 1.0)
same(units(D.scan(**asked)), 1.0)
batch = {"strict": {"Keys": [KEY, big]}}
same(D.batch_get_item(RequestItems=batch, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"],
     [{"TableName": "strict", "CapacityUnits": 1.5}])
same(D.batch_write_item(RequestItems={"strict": [{"PutRequest": {"Item": KEY}}]},
                        ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"][0]["Table"],
     {"CapacityUnits": 1.0})
same(D.transact_write_items(TransactItems=[{"Put": dict(T, Item=KEY)}],
                            ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"][0]["CapacityUnits"],
     2.0)
same(D.transact_get_items(TransactItems=[{"Get": dict(T, Key=big)}],
                          ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"][0]["CapacityUnits"],
     4.0)
same("ConsumedCapacity" in D.get_item(**T, Key=KEY), False)

# What is asked for and would not be done.
invalid(["ReturnValues"], D.put_item, Item=KEY, ReturnValues="ALL_NEW")
invalid(["ReturnValues"], D.delete_item, Key=KEY, ReturnValues="UPDATED_NEW")
T = {}
invalid(["AttributesToGet"], D.batch_get_item,
        RequestItems={"strict": {"Keys": [KEY], "AttributesToGet": ["n"]}})
T = {"TableName": "strict"}

table = D.describe_table(**T)["Table"]
same(table["ItemCount"], 2)
same(5000 < table["TableSizeBytes"] < 5100, True)
same(D.describe_time_to_live(**T)["TimeToLiveDescription"]["TimeToLiveStatus"], "DISABLED")
invalid(["do not expire"], D.update_time_to_live,
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"})
D.delete_table(**T)
print("passed: dynamo")
