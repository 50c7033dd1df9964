// Drives the AWS-compatible door of a hub with the unmodified SDK of AWS.
//
//   node door.mjs ENDPOINT PART...
//
// with the keys in the environment. Each part ends with an error if something is not as it should be.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import * as dynamo from '@aws-sdk/client-dynamodb';
import * as s3 from '@aws-sdk/client-s3';
import * as sqs from '@aws-sdk/client-sqs';
import { Upload } from '@aws-sdk/lib-storage';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';

const endpoint = process.argv[2];
const common = { endpoint, region: 'eu-north-1', maxAttempts: 2 };
const client = (Kind, more = {}) => new Kind({ ...common, ...more });
const Q = client(sqs.SQSClient);
const D = client(dynamo.DynamoDBClient);
const S = client(s3.S3Client, { forcePathStyle: true });

const md5 = (bytes) => createHash('md5').update(bytes).digest('hex');
const fails = async (promise, name) => {
  const error = await promise.then(() => assert.fail(`no ${name}`), (e) => e);
  assert.equal(error.name, name, `${error.name} instead of ${name}: ${error.message}`);
  return error;
};
const send = (to, command) => to.send(command);

// --- SQS ---

async function queue_life() {
  const attributes = { VisibilityTimeout: '60' };
  const made = await send(Q, new sqs.CreateQueueCommand({ QueueName: 'work', Attributes: attributes }));
  const QueueUrl = made.QueueUrl;
  assert.match(QueueUrl, /\/000000000000\/work$/);
  await send(Q, new sqs.CreateQueueCommand({ QueueName: 'work', Attributes: attributes }));
  const other = { VisibilityTimeout: '61' };
  await fails(send(Q, new sqs.CreateQueueCommand({ QueueName: 'work', Attributes: other })), 'QueueNameExists');
  const long = 'l'.repeat(80);
  await send(Q, new sqs.CreateQueueCommand({ QueueName: long }));
  const url = await send(Q, new sqs.GetQueueUrlCommand({ QueueName: 'work' }));
  assert.equal(url.QueueUrl, QueueUrl);
  const list = await send(Q, new sqs.ListQueuesCommand({}));
  assert.deepEqual(list.QueueUrls.map((u) => u.split('/').pop()).sort(), [long, 'work'].sort());
  const gone = await fails(send(Q, new sqs.GetQueueUrlCommand({ QueueName: 'none' })), 'QueueDoesNotExist');
  assert.ok(gone instanceof sqs.QueueDoesNotExist);
  await send(Q, new sqs.SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout: '120' } }));
  const shown = await send(Q, new sqs.GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
  assert.equal(shown.Attributes.VisibilityTimeout, '120');
  assert.match(shown.Attributes.QueueArn, /:work$/);
  await send(Q, new sqs.DeleteQueueCommand({ QueueUrl: QueueUrl.replace('work', long) }));
  await fails(send(Q, new sqs.CreateQueueCommand({ QueueName: 'x.fifo', Attributes: { FifoQueue: 'true' } })),
    'UnsupportedOperation');
  await send(Q, new sqs.TagQueueCommand({ QueueUrl, Tags: { team: 'ours' } }));
  assert.deepEqual((await send(Q, new sqs.ListQueueTagsCommand({ QueueUrl }))).Tags, { team: 'ours' });
  await fails(send(Q, new sqs.ListDeadLetterSourceQueuesCommand({ QueueUrl })), 'UnknownOperationException');
  return QueueUrl;
}

async function messages(QueueUrl) {
  const attributes = {
    kind: { DataType: 'String', StringValue: 'grüße' },
    size: { DataType: 'Number', StringValue: '17' },
    raw: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 1, 255]) },
  };
  // The SDK checks MD5OfMessageBody itself.
  const sent = await send(Q, new sqs.SendMessageCommand({ QueueUrl, MessageBody: 'eins ✓', MessageAttributes: attributes,
    MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1-2-3' } } }));
  assert.equal(sent.MD5OfMessageBody, md5('eins ✓'));
  const first = await send(Q, new sqs.ReceiveMessageCommand(
    { QueueUrl, MessageAttributeNames: ['All'], MessageSystemAttributeNames: ['All'], WaitTimeSeconds: 1 }));
  const got = first.Messages[0];
  assert.equal(got.Body, 'eins ✓');
  assert.equal(got.MessageId, sent.MessageId);
  assert.equal(got.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
  assert.equal(got.MessageAttributes.kind.StringValue, 'grüße');
  assert.deepEqual([...got.MessageAttributes.raw.BinaryValue], [0, 1, 255]);
  assert.equal(got.Attributes.ApproximateReceiveCount, '1');
  assert.equal(got.Attributes.AWSTraceHeader, 'Root=1-2-3');
  assert.ok(Number(got.Attributes.ApproximateFirstReceiveTimestamp) >= Number(got.Attributes.SentTimestamp));
  assert.ok(Math.abs(Number(got.Attributes.SentTimestamp) - Date.now()) < 60_000);
  const { ReceiptHandle } = got;
  await send(Q, new sqs.ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
  const again = await send(Q, new sqs.ReceiveMessageCommand({ QueueUrl, AttributeNames: ['ApproximateReceiveCount'] }));
  assert.equal(again.Messages[0].Attributes.ApproximateReceiveCount, '2');
  await fails(send(Q, new sqs.ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 9 })),
    'MessageNotInflight');
  await send(Q, new sqs.DeleteMessageCommand({ QueueUrl, ReceiptHandle: again.Messages[0].ReceiptHandle }));
  await fails(send(Q, new sqs.DeleteMessageCommand({ QueueUrl, ReceiptHandle: 'nonsense' })), 'ReceiptHandleIsInvalid');
}

async function batches(QueueUrl) {
  const Entries = [...Array(10).keys()].map((i) => ({ Id: `e${i}`, MessageBody: `body ${i}` }));
  const sent = await send(Q, new sqs.SendMessageBatchCommand({ QueueUrl, Entries }));
  assert.equal(sent.Successful.length, 10);
  const depth = async () => {
    const shown = await send(Q, new sqs.GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
    return [shown.Attributes.ApproximateNumberOfMessages, shown.Attributes.ApproximateNumberOfMessagesNotVisible];
  };
  assert.deepEqual(await depth(), ['10', '0']);
  const got = await send(Q, new sqs.ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
  assert.deepEqual(got.Messages.map((m) => m.Body), Entries.map((e) => e.MessageBody));
  assert.deepEqual(await depth(), ['0', '10']);
  const half = got.Messages.slice(0, 5).map((m, i) => ({ Id: `c${i}`, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0 }));
  const changed = await send(Q, new sqs.ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries: half }));
  assert.equal(changed.Successful.length, 5);
  const rest = got.Messages.slice(5).map((m, i) => ({ Id: `d${i}`, ReceiptHandle: m.ReceiptHandle }));
  const deleted = await send(Q, new sqs.DeleteMessageBatchCommand(
    { QueueUrl, Entries: [...rest, { Id: 'bad', ReceiptHandle: 'x' }] }));
  assert.equal(deleted.Successful.length, 5);
  assert.equal(deleted.Failed[0].Code, 'ReceiptHandleIsInvalid');
  await fails(send(Q, new sqs.SendMessageBatchCommand({ QueueUrl, Entries: [...Entries, { Id: 'x', MessageBody: 'x' }] })),
    'TooManyEntriesInBatchRequest');
  await send(Q, new sqs.PurgeQueueCommand({ QueueUrl }));
  assert.deepEqual(await depth(), ['0', '0']);
}

async function long_poll(QueueUrl) {
  const waiting = send(Q, new sqs.ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
  await send(client(sqs.SQSClient), new sqs.SendMessageCommand({ QueueUrl, MessageBody: 'late' }));
  const got = await waiting;
  assert.equal(got.Messages[0].Body, 'late');
  await send(Q, new sqs.DeleteMessageCommand({ QueueUrl, ReceiptHandle: got.Messages[0].ReceiptHandle }));
  await send(Q, new sqs.SendMessageCommand({ QueueUrl, MessageBody: 'delayed', DelaySeconds: 1 }));
  assert.equal((await send(Q, new sqs.ReceiveMessageCommand({ QueueUrl }))).Messages, undefined);
  const delayed = await send(Q, new sqs.ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
  assert.equal(delayed.Messages[0].Body, 'delayed');
  await send(Q, new sqs.DeleteMessageCommand({ QueueUrl, ReceiptHandle: delayed.Messages[0].ReceiptHandle }));
  const none = await send(Q, new sqs.ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1 }));
  assert.equal(none.Messages, undefined);
  await send(Q, new sqs.SendMessageCommand({ QueueUrl, MessageBody: 'kept' }));
}

// --- DynamoDB ---

const TableName = 'things.of-mine';
const N = (n) => ({ N: String(n) });
const T = (s) => ({ S: s });

async function tables() {
  const schema = {
    TableName,
    KeySchema: [{ AttributeName: 'who', KeyType: 'HASH' }, { AttributeName: 'when', KeyType: 'RANGE' }],
    AttributeDefinitions: [{ AttributeName: 'who', AttributeType: 'S' }, { AttributeName: 'when', AttributeType: 'N' }],
    BillingMode: 'PAY_PER_REQUEST',
  };
  await send(D, new dynamo.CreateTableCommand(schema));
  await fails(send(D, new dynamo.CreateTableCommand(schema)), 'ResourceInUseException');
  await dynamo.waitUntilTableExists({ client: D, maxWaitTime: 60 }, { TableName });
  const described = await send(D, new dynamo.DescribeTableCommand({ TableName }));
  assert.equal(described.Table.TableStatus, 'ACTIVE');
  assert.ok(described.Table.CreationDateTime instanceof Date);
  const list = await send(D, new dynamo.ListTablesCommand({}));
  assert.deepEqual(list.TableNames, [TableName]);
  await fails(send(D, new dynamo.DescribeTableCommand({ TableName: 'none' })), 'ResourceNotFoundException');
  await fails(send(D, new dynamo.DescribeLimitsCommand({})), 'UnknownOperationException');
}

async function items() {
  const Item = {
    who: T('ann'), when: N('1.50'), tags: { SS: ['b', 'a'] }, map: { M: { list: { L: [T('x'), N(2)] } } },
    raw: { B: new Uint8Array([1, 2]) }, no: { NULL: true }, yes: { BOOL: true },
  };
  const Key = { who: T('ann'), when: N('1.5') };
  await send(D, new dynamo.PutItemCommand({ TableName, Item, ConditionExpression: 'attribute_not_exists(who)' }));
  const refused = await fails(send(D, new dynamo.PutItemCommand({
    TableName, Item, ConditionExpression: 'attribute_not_exists(who)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  })), 'ConditionalCheckFailedException');
  assert.equal(refused.Item.when.N, '1.5');
  const got = await send(D, new dynamo.GetItemCommand({ TableName, Key, ConsistentRead: true }));
  assert.deepEqual(got.Item, { ...Item, when: N('1.5'), tags: { SS: ['a', 'b'] } });
  const part = await send(D, new dynamo.GetItemCommand(
    { TableName, Key, ProjectionExpression: '#m.#l[1], yes', ExpressionAttributeNames: { '#m': 'map', '#l': 'list' } }));
  assert.deepEqual(part.Item, { map: { M: { list: { L: [N(2)] } } }, yes: { BOOL: true } });
  const updated = await send(D, new dynamo.UpdateItemCommand({
    TableName, Key, ReturnValues: 'ALL_NEW',
    UpdateExpression: 'SET #c = if_not_exists(#c, :zero) + :one, #m.#l = list_append(#m.#l, :more) REMOVE #no ADD tags :tag, #t :n',
    ConditionExpression: '(yes = :true AND NOT attribute_exists(lost)) OR begins_with(who, :b)',
    ExpressionAttributeNames: { '#c': 'count', '#m': 'map', '#l': 'list', '#no': 'no', '#t': 'total' },
    ExpressionAttributeValues: {
      ':zero': N(0), ':one': N(1), ':more': { L: [T('y')] }, ':tag': { SS: ['c'] }, ':n': N('0.1'),
      ':true': { BOOL: true }, ':b': T('zz'),
    },
  }));
  assert.deepEqual(updated.Attributes.count, N(1));
  assert.deepEqual(updated.Attributes.map.M.list.L, [T('x'), N(2), T('y')]);
  assert.deepEqual(updated.Attributes.tags.SS, ['a', 'b', 'c']);
  assert.equal(updated.Attributes.no, undefined);
  const adding = () => send(D, new dynamo.UpdateItemCommand({
    TableName, Key, UpdateExpression: 'ADD #c :one', ExpressionAttributeNames: { '#c': 'count' },
    ExpressionAttributeValues: { ':one': N(1) },
  }));
  await Promise.all([...Array(40)].map(adding));
  const old = await send(D, new dynamo.DeleteItemCommand({
    TableName, Key, ReturnValues: 'ALL_OLD', ConditionExpression: '#c > :n',
    ExpressionAttributeNames: { '#c': 'count' }, ExpressionAttributeValues: { ':n': N(9) },
  }));
  assert.deepEqual(old.Attributes.count, N(41));
  assert.equal((await send(D, new dynamo.GetItemCommand({ TableName, Key }))).Item, undefined);
  await fails(send(D, new dynamo.GetItemCommand({ TableName, Key: { who: T('ann') } })), 'ValidationException');
  await fails(send(D, new dynamo.PutItemCommand({ TableName, Item, ConditionExpression: 'who = ' })), 'ValidationException');
}

async function queries() {
  const numbers = [-100.5, -1, 0, 0.25, 1, 2, 10, 11, 1e10];
  const put = (who, n) => ({ PutRequest: { Item: { who: T(who), when: N(n), even: { BOOL: n % 2 === 0 } } } });
  const written = await send(D, new dynamo.BatchWriteItemCommand(
    { RequestItems: { [TableName]: [...numbers.map((n) => put('bo', n)), put('bo!', 5), put('b', 5)] } }));
  assert.deepEqual(written.UnprocessedItems, {});
  const query = async (condition, values, more = {}) => {
    const out = await send(D, new dynamo.QueryCommand({
      TableName, KeyConditionExpression: `who = :w${condition}`, ExpressionAttributeNames: condition ? { '#n': 'when' } : undefined,
      ExpressionAttributeValues: { ':w': T('bo'), ...values }, ...more,
    }));
    return { ...out, numbers: out.Items?.map((i) => Number(i.when.N)) };
  };
  assert.deepEqual((await query('', {})).numbers, numbers);
  assert.deepEqual((await query('', {}, { ScanIndexForward: false, Limit: 3 })).numbers, [1e10, 11, 10]);
  assert.deepEqual((await query(' AND #n >= :a', { ':a': N(1) })).numbers, [1, 2, 10, 11, 1e10]);
  assert.deepEqual((await query(' AND #n > :a', { ':a': N(1) })).numbers, [2, 10, 11, 1e10]);
  assert.deepEqual((await query(' AND #n < :a', { ':a': N(0) })).numbers, [-100.5, -1]);
  assert.deepEqual((await query(' AND #n <= :a', { ':a': N(0) })).numbers, [-100.5, -1, 0]);
  assert.deepEqual((await query(' AND #n BETWEEN :a AND :b', { ':a': N(-1), ':b': N(2) })).numbers, [-1, 0, 0.25, 1, 2]);
  assert.deepEqual((await query(' AND #n = :a', { ':a': N('0.250') })).numbers, [0.25]);
  const counted = await query('', { ':y': { BOOL: true } }, { FilterExpression: 'even = :y', Select: 'COUNT' });
  assert.deepEqual([counted.Count, counted.ScannedCount, counted.Items], [4, 9, undefined]);
  for (const ScanIndexForward of [true, false]) {
    const seen = [];
    const pages = dynamo.paginateQuery({ client: D, pageSize: 2 }, {
      TableName, ScanIndexForward, KeyConditionExpression: 'who = :w', ExpressionAttributeValues: { ':w': T('bo') },
    });
    for await (const page of pages) seen.push(...page.Items.map((i) => Number(i.when.N)));
    assert.deepEqual(seen, ScanIndexForward ? numbers : [...numbers].reverse());
  }
  let scanned = 0;
  for await (const page of dynamo.paginateScan({ client: D, pageSize: 4 }, { TableName })) scanned += page.Items.length;
  assert.equal(scanned, numbers.length + 2);
  const both = await Promise.all([0, 1].map((Segment) => send(D, new dynamo.ScanCommand({ TableName, Segment, TotalSegments: 2 }))));
  assert.equal(both[0].Count + both[1].Count, numbers.length + 2);
  const keys = [...numbers, 77].map((n) => ({ who: T('bo'), when: N(n) }));
  const many = await send(D, new dynamo.BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: keys } } }));
  assert.equal(many.Responses[TableName].length, numbers.length);
}

async function transactions() {
  const Key = (n) => ({ who: T('tx'), when: N(n) });
  const put = (n) => ({ Put: { TableName, Item: Key(n), ConditionExpression: 'attribute_not_exists(who)' } });
  await send(D, new dynamo.TransactWriteItemsCommand({ TransactItems: [
    put(1), put(2),
    { ConditionCheck: { TableName, Key: Key(3), ConditionExpression: 'attribute_not_exists(who)' } },
    { Update: { TableName, Key: Key(4), UpdateExpression: 'SET a = :v', ExpressionAttributeValues: { ':v': T('x') } } },
  ] }));
  const refused = await fails(send(D, new dynamo.TransactWriteItemsCommand({ TransactItems: [put(5), put(1)] })),
    'TransactionCanceledException');
  assert.deepEqual(refused.CancellationReasons.map((r) => r.Code), ['None', 'ConditionalCheckFailed']);
  const got = await send(D, new dynamo.TransactGetItemsCommand(
    { TransactItems: [1, 4, 5].map((n) => ({ Get: { TableName, Key: Key(n) } })) }));
  assert.deepEqual(got.Responses.map((r) => r.Item), [Key(1), { ...Key(4), a: T('x') }, undefined]);
  await send(D, new dynamo.TransactWriteItemsCommand(
    { TransactItems: [{ Delete: { TableName, Key: Key(1) } }, { Delete: { TableName, Key: Key(2) } }] }));
}

// --- S3 ---

const Bucket = 'bucket-of.mine';
const text_of = async (out) => out.Body.transformToString();

async function buckets() {
  await send(S, new s3.CreateBucketCommand({ Bucket }));
  await fails(send(S, new s3.CreateBucketCommand({ Bucket })), 'BucketAlreadyOwnedByYou');
  await send(S, new s3.HeadBucketCommand({ Bucket }));
  const list = await send(S, new s3.ListBucketsCommand({}));
  assert.deepEqual(list.Buckets.map((b) => b.Name), [Bucket]);
  await fails(send(S, new s3.HeadBucketCommand({ Bucket: 'none' })), 'NotFound');
  await fails(send(S, new s3.ListObjectsV2Command({ Bucket: 'none' })), 'NoSuchBucket');
  await fails(send(S, new s3.GetBucketPolicyCommand({ Bucket })), 'NoSuchBucketPolicy');
  await fails(send(S, new s3.DeleteBucketWebsiteCommand({ Bucket })), 'NotImplemented');
}

async function objects() {
  const Key = 'folder one/ä+b&c<d>%.txt';
  const put = await send(S, new s3.PutObjectCommand(
    { Bucket, Key, Body: 'hello world', ContentType: 'text/plain', Metadata: { colour: 'blue' }, CacheControl: 'no-cache' }));
  assert.equal(put.ETag, `"${md5('hello world')}"`);
  const got = await send(S, new s3.GetObjectCommand({ Bucket, Key }));
  assert.equal(await text_of(got), 'hello world');
  assert.deepEqual([got.ContentType, got.Metadata.colour, got.CacheControl], ['text/plain', 'blue', 'no-cache']);
  const head = await send(S, new s3.HeadObjectCommand({ Bucket, Key }));
  assert.equal(head.ContentLength, 11);
  const range = async (Range) => text_of(await send(S, new s3.GetObjectCommand({ Bucket, Key, Range })));
  assert.equal(await range('bytes=0-4'), 'hello');
  assert.equal(await range('bytes=6-'), 'world');
  assert.equal(await range('bytes=-3'), 'rld');
  await fails(send(S, new s3.GetObjectCommand({ Bucket, Key, Range: 'bytes=11-' })), 'InvalidRange');
  await fails(send(S, new s3.PutObjectCommand({ Bucket, Key, Body: 'x', IfNoneMatch: '*' })), 'PreconditionFailed');
  await send(S, new s3.PutObjectCommand({ Bucket, Key, Body: 'replaced' }));
  assert.equal(await text_of(await send(S, new s3.GetObjectCommand({ Bucket, Key }))), 'replaced');
  await fails(send(S, new s3.GetObjectCommand({ Bucket, Key, IfMatch: put.ETag })), 'PreconditionFailed');
  await send(S, new s3.PutObjectCommand({ Bucket, Key: 'empty', Body: '' }));
  assert.equal(await text_of(await send(S, new s3.GetObjectCommand({ Bucket, Key: 'empty' }))), '');
  await send(S, new s3.CopyObjectCommand({ Bucket, Key: 'copy', CopySource: encodeURI(`${Bucket}/${Key}`).replace('+', '%2B').replace('&', '%26') }));
  assert.equal(await text_of(await send(S, new s3.GetObjectCommand({ Bucket, Key: 'copy' }))), 'replaced');
  await fails(send(S, new s3.GetObjectCommand({ Bucket, Key: 'none' })), 'NoSuchKey');
  await fails(send(S, new s3.HeadObjectCommand({ Bucket, Key: 'none' })), 'NotFound');
  await fails(send(S, new s3.PutObjectCommand({ Bucket, Key: 'k'.repeat(600), Body: 'x' })), 'KeyTooLongError');
  assert.deepEqual((await send(S, new s3.GetObjectTaggingCommand({ Bucket, Key }))).TagSet, []);
  await fails(send(S, new s3.PutObjectCommand({ Bucket, Key, Body: 'x', ServerSideEncryption: 'AES256' })), 'NotImplemented');
  await send(S, new s3.DeleteObjectCommand({ Bucket, Key: 'copy' }));
  await fails(send(S, new s3.GetObjectCommand({ Bucket, Key: 'copy' })), 'NoSuchKey');
}

async function streams() {
  const bytes = Buffer.alloc(3_500_000, 'stream of bytes, ');
  const chunks = () => Readable.from([bytes.subarray(0, 70_000), bytes.subarray(70_000)]);
  // A stream of unknown hash goes as aws-chunked with a checksum behind it.
  const put = await send(S, new s3.PutObjectCommand({ Bucket, Key: 'stream', Body: chunks(), ContentLength: bytes.length }));
  assert.equal(put.ETag, `"${md5(bytes)}"`);
  const got = await send(S, new s3.GetObjectCommand({ Bucket, Key: 'stream' }));
  assert.equal(md5(await got.Body.transformToByteArray()), md5(bytes));
  assert.equal(got.ContentEncoding, undefined);
}

async function listings() {
  for (const Key of ['a/1', 'a/2', 'a/b/3', 'b', 'c/1', 'd', 'é']) {
    await send(S, new s3.PutObjectCommand({ Bucket, Key: `list/${Key}`, Body: Key }));
  }
  const list = async (more) => {
    const out = await send(S, new s3.ListObjectsV2Command({ Bucket, Prefix: 'list/', ...more }));
    const cut = (x) => x?.slice(5);
    return [out.Contents?.map((o) => cut(o.Key)), out.CommonPrefixes?.map((p) => cut(p.Prefix)), out];
  };
  assert.deepEqual((await list({}))[0], ['a/1', 'a/2', 'a/b/3', 'b', 'c/1', 'd', 'é']);
  assert.deepEqual((await list({ Delimiter: '/' })).slice(0, 2), [['b', 'd', 'é'], ['a/', 'c/']]);
  assert.deepEqual((await list({ StartAfter: 'list/c' }))[0], ['c/1', 'd', 'é']);
  const seen = [];
  for await (const page of s3.paginateListObjectsV2({ client: S, pageSize: 1 }, { Bucket, Prefix: 'list/', Delimiter: '/' })) {
    seen.push(...(page.Contents ?? []).map((o) => o.Key), ...(page.CommonPrefixes ?? []).map((p) => p.Prefix));
  }
  assert.deepEqual(seen, ['list/a/', 'list/b', 'list/c/', 'list/d', 'list/é']);
  const first = await send(S, new s3.ListObjectsCommand({ Bucket, Prefix: 'list/', Delimiter: '/', MaxKeys: 1 }));
  assert.equal(first.NextMarker, 'list/a/');
  const second = await send(S, new s3.ListObjectsCommand({ Bucket, Prefix: 'list/', Delimiter: '/', MaxKeys: 1, Marker: first.NextMarker }));
  assert.equal(second.Contents[0].Key, 'list/b');
  const Objects = ['a/1', 'a/2', 'a/b/3', 'b', 'c/1', 'd', 'é', 'none'].map((k) => ({ Key: `list/${k}` }));
  const deleted = await send(S, new s3.DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
  assert.equal(deleted.Deleted.length, 8);
  assert.equal((await list({}))[2].KeyCount, 0);
}

async function multipart() {
  const bytes = Buffer.alloc(12 << 20, 'parts of a whole; ');
  const upload = new Upload({ client: S, params: { Bucket, Key: 'whole', Body: Readable.from([bytes]) }, partSize: 5 << 20 });
  const done = await upload.done();
  assert.match(done.ETag, /^"[0-9a-f]{32}-3"$/);
  const got = await send(S, new s3.GetObjectCommand({ Bucket, Key: 'whole' }));
  assert.equal(md5(await got.Body.transformToByteArray()), md5(bytes));
  const Range = `bytes=${(5 << 20) - 3}-${(5 << 20) + 3}`;
  const across = await text_of(await send(S, new s3.GetObjectCommand({ Bucket, Key: 'whole', Range })));
  assert.equal(across, bytes.subarray((5 << 20) - 3, (5 << 20) + 4).toString());
  const { UploadId } = await send(S, new s3.CreateMultipartUploadCommand({ Bucket, Key: 'half' }));
  const part = await send(S, new s3.UploadPartCommand({ Bucket, Key: 'half', UploadId, PartNumber: 2, Body: 'x' }));
  const parts = await send(S, new s3.ListPartsCommand({ Bucket, Key: 'half', UploadId }));
  assert.deepEqual(parts.Parts.map((p) => [p.PartNumber, p.Size, p.ETag]), [[2, 1, part.ETag]]);
  const uploads = await send(S, new s3.ListMultipartUploadsCommand({ Bucket }));
  assert.deepEqual(uploads.Uploads.map((u) => [u.Key, u.UploadId]), [['half', UploadId]]);
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag: part.ETag }] };
  await fails(send(S, new s3.CompleteMultipartUploadCommand({ Bucket, Key: 'half', UploadId, MultipartUpload })), 'InvalidPart');
  await send(S, new s3.AbortMultipartUploadCommand({ Bucket, Key: 'half', UploadId }));
  await fails(send(S, new s3.ListPartsCommand({ Bucket, Key: 'half', UploadId })), 'NoSuchUpload');
}

async function presigned() {
  const Key = 'signed url';
  const put = await fetch(await getSignedUrl(S, new s3.PutObjectCommand({ Bucket, Key })), { method: 'PUT', body: 'by url' });
  assert.equal(put.status, 200, await put.text());
  const url = await getSignedUrl(S, new s3.GetObjectCommand({ Bucket, Key }), { expiresIn: 60 });
  assert.equal(await (await fetch(url)).text(), 'by url');
  const other = await fetch(url.replace('signed%20url', 'stream'));
  assert.equal(other.status, 403);
  assert.match(await other.text(), /SignatureDoesNotMatch/);
  const past = await getSignedUrl(S, new s3.GetObjectCommand({ Bucket, Key }),
    { expiresIn: 60, signingDate: new Date(Date.now() - 120_000) });
  assert.match(await (await fetch(past)).text(), /AccessDenied/);
}

// --- Who may ---

async function strangers() {
  const { AWS_ACCESS_KEY_ID: accessKeyId } = process.env;
  const bad = { credentials: { accessKeyId, secretAccessKey: 'wrong' } };
  const unknown = { credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wrong' } };
  const list = [
    [sqs.SQSClient, () => new sqs.ListQueuesCommand({}), 'InvalidSignatureException', 'UnrecognizedClientException'],
    [dynamo.DynamoDBClient, () => new dynamo.ListTablesCommand({}), 'InvalidSignatureException', 'UnrecognizedClientException'],
    [s3.S3Client, () => new s3.ListBucketsCommand({}), 'SignatureDoesNotMatch', 'InvalidAccessKeyId'],
  ];
  for (const [Kind, command, mismatch, stranger] of list) {
    await fails(send(client(Kind, bad), command()), mismatch);
    await fails(send(client(Kind, unknown), command()), stranger);
  }
  const slow = client(s3.S3Client, { systemClockOffset: -3600_000, maxAttempts: 1, forcePathStyle: true });
  await fails(send(slow, new s3.GetObjectCommand({ Bucket: 'none', Key: 'x' })), 'RequestTimeTooSkewed');
  // One that may try again sets its clock by the reply.
  const corrected = client(s3.S3Client, { systemClockOffset: -3600_000, forcePathStyle: true });
  await fails(send(corrected, new s3.GetObjectCommand({ Bucket: 'none', Key: 'x' })), 'NoSuchBucket');
  const bare = await fetch(`${endpoint}/${Bucket}/x`);
  assert.equal(bare.status, 403);
  assert.match(await bare.text(), /AccessDenied/);
}

// With a key that may only read.
async function reader() {
  const QueueUrl = `${endpoint}/000000000000/work`;
  await send(Q, new sqs.GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
  await fails(send(Q, new sqs.SendMessageCommand({ QueueUrl, MessageBody: 'x' })), 'AccessDeniedException');
  await fails(send(D, new dynamo.PutItemCommand({ TableName, Item: { who: T('x'), when: N(1) } })), 'AccessDeniedException');
  await fails(send(S, new s3.PutObjectCommand({ Bucket, Key: 'x', Body: 'x' })), 'AccessDenied');
}

async function still_there() {
  const QueueUrl = `${endpoint}/000000000000/work`;
  const got = await send(Q, new sqs.ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1 }));
  assert.equal(got.Messages[0].Body, 'kept');
  await send(Q, new sqs.DeleteMessageCommand({ QueueUrl, ReceiptHandle: got.Messages[0].ReceiptHandle }));
  const query = await send(D, new dynamo.QueryCommand(
    { TableName, KeyConditionExpression: 'who = :w', ExpressionAttributeValues: { ':w': T('bo') } }));
  assert.equal(query.Count, 9);
  const whole = await send(S, new s3.GetObjectCommand({ Bucket, Key: 'whole' }));
  assert.equal((await whole.Body.transformToByteArray()).length, 12 << 20);
}

async function remove_objects() {
  await fails(send(S, new s3.DeleteBucketCommand({ Bucket })), 'BucketNotEmpty');
  const { Contents } = await send(S, new s3.ListObjectsV2Command({ Bucket }));
  await send(S, new s3.DeleteObjectsCommand({ Bucket, Delete: { Quiet: true, Objects: Contents.map(({ Key }) => ({ Key })) } }));
  await send(S, new s3.DeleteBucketCommand({ Bucket }));
}

async function remove_all() {
  await remove_objects();
  await send(D, new dynamo.DeleteTableCommand({ TableName }));
  await dynamo.waitUntilTableNotExists({ client: D, maxWaitTime: 60 }, { TableName });
  await send(Q, new sqs.DeleteQueueCommand({ QueueUrl: `${endpoint}/000000000000/work` }));
}

const parts = {
  sqs: async () => {
    const url = await queue_life();
    await messages(url);
    await batches(url);
    await long_poll(url);
  },
  dynamo: async () => {
    await tables();
    await items();
    await queries();
    await transactions();
  },
  s3: async () => {
    await buckets();
    await objects();
    await streams();
    await listings();
    await multipart();
    await presigned();
  },
  strangers, reader, still_there, remove_objects, remove_all,
};
for (const part of process.argv.slice(3)) {
  await parts[part]();
  console.log(`${part}: ok`);
}
