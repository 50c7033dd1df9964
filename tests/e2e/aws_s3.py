"""S3 of the door with boto3: checksums, copies of parts, and what is refused by its name.

aws_s3.py ENDPOINT
"""
import base64
import hashlib
import io
import os
import sys
import urllib.error
import urllib.request
import zlib

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.client import Config
from botocore.exceptions import ClientError

BUCKET = "clients"
MIB = 1 << 20
S3 = boto3.client("s3", endpoint_url=sys.argv[1],
                  config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}))


def same(a, b):
    if a != b:
        raise AssertionError(f"{a!r} is not {b!r}")


def base64_of(digest):
    return base64.b64encode(digest).decode()


def refused(status, words, call, **arguments):
    """The call fails with this status, and says each of the words."""
    try:
        call(**arguments)
    except ClientError as error:
        said = str(error)
        same((error.response["ResponseMetadata"]["HTTPStatusCode"], said), (status, said))
        for word in words:
            if word not in said:
                raise AssertionError(f"no {word!r} in {said}") from error
        return
    raise AssertionError(f"not refused: {arguments}")


def with_headers(operation, headers, call, **arguments):
    """The call with headers of which this boto3 knows nothing."""
    def add(request, **_):
        for name, value in headers.items():
            request.headers[name] = value
    S3.meta.events.register(f"before-sign.s3.{operation}", add)
    try:
        return call(Bucket=BUCKET, **arguments)
    finally:
        S3.meta.events.unregister(f"before-sign.s3.{operation}", add)


SUMS = {
    "CRC32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
    "SHA1": lambda data: hashlib.sha1(data).digest(),
    "SHA256": lambda data: hashlib.sha256(data).digest(),
}


def checksums():
    for name, sum_of in SUMS.items():
        good, wrong = base64_of(sum_of(b"hello")), base64_of(sum_of(b""))
        argument = "Checksum" + name
        refused(400, ["BadDigest", name], S3.put_object, Bucket=BUCKET, Key="sum", Body=b"hello",
                **{argument: wrong})
        refused(404, [], S3.head_object, Bucket=BUCKET, Key="sum")
        reply = S3.put_object(Bucket=BUCKET, Key="sum", Body=b"hello", **{argument: good})
        same(reply[argument], good)
        got = S3.get_object(Bucket=BUCKET, Key="sum", ChecksumMode="ENABLED")
        same(got["Body"].read(), b"hello")
        same(got[argument], good)
        same(argument in S3.head_object(Bucket=BUCKET, Key="sum"), False)
        # Behind the body.
        reply = S3.put_object(Bucket=BUCKET, Key="sum", Body=io.BytesIO(b"hello"),
                              ChecksumAlgorithm=name)
        same(reply[argument], good)
        S3.delete_object(Bucket=BUCKET, Key="sum")
    # 'hello' by tables of others; this boto3 cannot compute these.
    for header, good in (("x-amz-checksum-crc32c", "mnG7TA=="),
                         ("x-amz-checksum-crc64nvme", "M3eFcAZSQlc=")):
        wrong = base64_of(bytes(len(base64.b64decode(good))))
        put = dict(Key="sum", Body=b"hello")
        refused(400, ["BadDigest"], lambda: with_headers(
            "PutObject", {header: wrong}, S3.put_object, **put))
        reply = with_headers("PutObject", {header: good}, S3.put_object, **put)
        same(reply["ResponseMetadata"]["HTTPHeaders"][header], good)
    refused(400, ["InvalidRequest"], lambda: with_headers(
        "PutObject", {"x-amz-checksum-crc32": "x"}, S3.put_object, Key="sum", Body=b"hello"))
    refused(400, ["InvalidRequest", "more than one"], S3.put_object, Bucket=BUCKET, Key="sum",
            Body=b"hello", ChecksumSHA1=base64_of(hashlib.sha1(b"hello").digest()),
            ChecksumSHA256=base64_of(hashlib.sha256(b"hello").digest()))
    refused(501, ["x-amz-checksum-md4"], lambda: with_headers(
        "PutObject", {"x-amz-checksum-md4": "x"}, S3.put_object, Key="sum", Body=b"hello"))
    # What is not said is computed as S3 does it; a copy has another kind if it is asked for.
    S3.put_object(Bucket=BUCKET, Key="sum", Body=b"hello")
    headers = S3.head_object(Bucket=BUCKET, Key="sum",
                             ChecksumMode="ENABLED")["ResponseMetadata"]["HTTPHeaders"]
    same(headers["x-amz-checksum-crc64nvme"], "M3eFcAZSQlc=")
    copied = S3.copy_object(Bucket=BUCKET, Key="copy", CopySource=f"{BUCKET}/sum",
                            ChecksumAlgorithm="SHA256")["CopyObjectResult"]
    same(copied["ChecksumSHA256"], base64_of(hashlib.sha256(b"hello").digest()))
    refused(400, ["BadDigest"], lambda: with_headers(
        "DeleteObjects", {"x-amz-checksum-crc32": "AAAAAA=="}, S3.delete_objects,
        Delete={"Objects": [{"Key": "copy"}]}))
    S3.head_object(Bucket=BUCKET, Key="copy")


def parts_with_checksums():
    data = os.urandom(5 * MIB) + b"the end"
    pieces = [data[:5 * MIB], data[5 * MIB:]]
    for name in ("SHA256", "CRC32"):
        field, sums = "Checksum" + name, [SUMS[name](piece) for piece in pieces]
        key = dict(Bucket=BUCKET, Key="parts")
        upload = S3.create_multipart_upload(ChecksumAlgorithm=name, **key)
        same(upload["ChecksumAlgorithm"], name)
        key["UploadId"] = upload["UploadId"]
        refused(400, ["BadDigest"], S3.upload_part, PartNumber=1, Body=b"x", **key,
                **{field: base64_of(sums[0])})
        refused(400, ["InvalidRequest", name], S3.upload_part, PartNumber=1, Body=b"x",
                ChecksumSHA1=base64_of(hashlib.sha1(b"x").digest()), **key)
        parts = []
        for number, piece in enumerate(pieces, 1):
            reply = S3.upload_part(PartNumber=number, Body=piece, ChecksumAlgorithm=name, **key)
            same(reply[field], base64_of(sums[number - 1]))
            parts.append({"PartNumber": number, "ETag": reply["ETag"], field: reply[field]})
        same([part[field] for part in S3.list_parts(**key)["Parts"]], [base64_of(s) for s in sums])
        bare = [{"PartNumber": p["PartNumber"], "ETag": p["ETag"]} for p in parts]
        refused(400, ["InvalidRequest", field], S3.complete_multipart_upload,
                MultipartUpload={"Parts": bare}, **key)
        wrong = [dict(parts[0], **{field: parts[1][field]}), parts[1]]
        refused(400, ["InvalidPart"], S3.complete_multipart_upload,
                MultipartUpload={"Parts": wrong}, **key)
        done = S3.complete_multipart_upload(MultipartUpload={"Parts": parts}, **key)
        whole = base64_of(SUMS[name](b"".join(sums))) + "-2"
        same(done[field], whole)
        got = S3.get_object(Bucket=BUCKET, Key="parts", ChecksumMode="ENABLED")
        same((got["Body"].read(), got[field]), (data, whole))
    # All of it, which is what a CRC can also be of.
    full = {"x-amz-checksum-algorithm": "CRC32", "x-amz-checksum-type": "FULL_OBJECT"}
    upload = with_headers("CreateMultipartUpload", full, S3.create_multipart_upload, Key="parts")
    key = dict(Key="parts", UploadId=upload["UploadId"])
    parts = [{"PartNumber": n, "ETag": S3.upload_part(Bucket=BUCKET, PartNumber=n, Body=p,
                                                      **key)["ETag"]}
             for n, p in enumerate(pieces, 1)]
    crc = base64_of(SUMS["CRC32"](data))
    for text, status in (("AAAAAA==", 400), (crc, 200)):
        complete = lambda: with_headers(
            "CompleteMultipartUpload", {"x-amz-checksum-crc32": text,
                                        "x-amz-mp-object-size": str(len(data))},
            S3.complete_multipart_upload, MultipartUpload={"Parts": parts}, **key)
        if status == 400:
            refused(400, ["BadDigest"], complete)
        else:
            same(complete()["ChecksumCRC32"], crc)
    refused(400, ["x-amz-checksum-type"], lambda: with_headers(
        "CreateMultipartUpload", {"x-amz-checksum-algorithm": "SHA256",
                                  "x-amz-checksum-type": "FULL_OBJECT"},
        S3.create_multipart_upload, Key="parts"))


def copies():
    data = os.urandom(20 * MIB)
    small = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB)
    S3.upload_fileobj(io.BytesIO(data), BUCKET, "from/a b+c%é", Config=small)
    source = {"Bucket": BUCKET, "Key": "from/a b+c%é"}
    S3.copy(source, BUCKET, "to", Config=small)
    same(S3.get_object(Bucket=BUCKET, Key="to")["Body"].read(), data)
    upload = S3.create_multipart_upload(Bucket=BUCKET, Key="cut")
    key = dict(Bucket=BUCKET, Key="cut", UploadId=upload["UploadId"])
    copy = dict(CopySource=source, PartNumber=1, **key)
    for range_, words in (("bytes=0-20971520", ["20971520"]), ("bytes=5-", []), ("5-9", []),
                          ("bytes=9-5", []), ("bytes=0-18446744073709551616", [])):
        refused(400, ["InvalidArgument", *words], S3.upload_part_copy, CopySourceRange=range_,
                **copy)
    etag = S3.head_object(**source)["ETag"]
    refused(412, ["PreconditionFailed"], S3.upload_part_copy, CopySourceIfMatch='"other"', **copy)
    refused(412, ["PreconditionFailed"], S3.copy_object, Bucket=BUCKET, Key="x", CopySource=source,
            CopySourceIfNoneMatch=etag)
    refused(404, ["NoSuchKey"], S3.upload_part_copy, **dict(
        copy, CopySource={"Bucket": BUCKET, "Key": "none"}))
    parts = []
    for number, (first, last) in enumerate(((3, 6 * MIB), (8 * MIB - 1, 8 * MIB + 1)), 1):
        done = S3.upload_part_copy(CopySourceRange=f"bytes={first}-{last}",
                                   **dict(copy, PartNumber=number, CopySourceIfMatch=etag))
        parts.append({"PartNumber": number, "ETag": done["CopyPartResult"]["ETag"]})
    S3.complete_multipart_upload(MultipartUpload={"Parts": parts}, **key)
    want = data[3:6 * MIB + 1] + data[8 * MIB - 1:8 * MIB + 2]
    same(S3.get_object(Bucket=BUCKET, Key="cut")["Body"].read(), want)


def settings():
    same(S3.get_object_tagging(Bucket=BUCKET, Key="to")["TagSet"], [])
    S3.delete_object_tagging(Bucket=BUCKET, Key="to")
    same("Status" in S3.get_bucket_versioning(Bucket=BUCKET), False)
    same(S3.get_bucket_acl(Bucket=BUCKET)["Grants"][0]["Permission"], "FULL_CONTROL")
    S3.get_object_acl(Bucket=BUCKET, Key="to")
    S3.get_bucket_location(Bucket=BUCKET)
    same(S3.get_bucket_request_payment(Bucket=BUCKET)["Payer"], "BucketOwner")
    refused(404, ["NoSuchLifecycleConfiguration"], S3.get_bucket_lifecycle_configuration,
            Bucket=BUCKET)
    refused(404, ["NoSuchBucketPolicy"], S3.get_bucket_policy, Bucket=BUCKET)
    refused(404, ["NoSuchBucket"], S3.get_bucket_acl, Bucket="nowhere")
    refused(404, ["NoSuchKey"], S3.get_object_tagging, Bucket=BUCKET, Key="nowhere")
    S3.put_object(Bucket=BUCKET, Key="x", Body=b"", ACL="private", StorageClass="STANDARD")


def refusals():
    """Nothing of this is done, and what is not done is named."""
    S3.create_bucket(Bucket="empty")
    settings_of = dict(Bucket="empty")
    for setting, call in (
            ("website", S3.delete_bucket_website), ("cors", S3.delete_bucket_cors),
            ("policy", S3.delete_bucket_policy), ("tagging", S3.delete_bucket_tagging),
            ("lifecycle", S3.delete_bucket_lifecycle), ("encryption", S3.delete_bucket_encryption),
            ("replication", S3.delete_bucket_replication),
            ("publicAccessBlock", S3.delete_public_access_block),
            ("ownershipControls", S3.delete_bucket_ownership_controls)):
        refused(501, [setting], call, **settings_of)
    refused(501, ["analytics"], S3.delete_bucket_analytics_configuration, Id="x", **settings_of)
    refused(501, ["website"], S3.put_bucket_website, WebsiteConfiguration={
        "IndexDocument": {"Suffix": "x"}}, **settings_of)
    refused(501, ["versioning"], S3.put_bucket_versioning, VersioningConfiguration={
        "Status": "Enabled"}, **settings_of)
    refused(501, ["versions"], S3.list_object_versions, **settings_of)
    for name in ("made-up", "website", "uploadid"):
        # No client of S3 says this; signed like all the others.
        add = lambda request, name=name, **_: setattr(request, "url", f"{request.url}?{name}=1")
        S3.meta.events.register("before-sign.s3.DeleteBucket", add)
        refused(501, [name], S3.delete_bucket, **settings_of)
        S3.meta.events.unregister("before-sign.s3.DeleteBucket", add)
    S3.head_bucket(**settings_of)
    S3.delete_bucket(**settings_of)
    put = dict(Bucket=BUCKET, Key="refused", Body=b"x")
    refused(501, ["x-amz-server-side-encryption"], S3.put_object, ServerSideEncryption="AES256",
            **put)
    refused(501, ["x-amz-tagging"], S3.put_object, Tagging="a=b", **put)
    refused(501, ["x-amz-acl", "public-read"], S3.put_object, ACL="public-read", **put)
    refused(501, ["x-amz-storage-class", "GLACIER"], S3.put_object, StorageClass="GLACIER", **put)
    refused(501, ["x-amz-grant-read"], S3.put_object, GrantRead="id=x", **put)
    refused(501, ["x-amz-website-redirect"], S3.put_object, WebsiteRedirectLocation="/x", **put)
    refused(501, ["x-amz-write-offset-bytes"], lambda: with_headers(
        "PutObject", {"x-amz-write-offset-bytes": "1"}, S3.put_object, Key="x", Body=b"x"))
    for operation, call, more in (("PutObject", S3.put_object, {}),
                                  ("CreateMultipartUpload", S3.create_multipart_upload, {}),
                                  ("CopyObject", S3.copy_object, {"CopySource": f"{BUCKET}/to"})):
        refused(501, ["if-none-match", "etag"], lambda: with_headers(
            operation, {"If-None-Match": '"etag"'}, call, Key="refused", **more))
    refused(501, ["x-amz-acl"], S3.create_bucket, Bucket="public", ACL="public-read")
    refused(404, [], S3.head_bucket, Bucket="public")
    refused(404, ["NoSuchVersion"], S3.get_object, Bucket=BUCKET, Key="to", VersionId="abc")
    refused(501, ["partNumber"], S3.get_object, Bucket=BUCKET, Key="to", PartNumber=1)
    refused(404, [], S3.head_object, Bucket=BUCKET, Key="refused")


def lists():
    for key in ("b", "a/1", "a/2"):
        S3.create_multipart_upload(Bucket=BUCKET, Key=key)
    listed = S3.list_multipart_uploads(Bucket=BUCKET, Prefix="a/")["Uploads"]
    same([upload["Key"] for upload in listed], ["a/1", "a/2"])
    pages = S3.get_paginator("list_multipart_uploads").paginate(
        Bucket=BUCKET, PaginationConfig={"PageSize": 1})
    found = [upload for page in pages for upload in page.get("Uploads", [])]
    same([upload["Key"] for upload in found if upload["Key"] in ("b", "a/1", "a/2")],
         ["a/1", "a/2", "b"])
    for upload in found:
        S3.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])
    same("Uploads" in S3.list_multipart_uploads(Bucket=BUCKET), False)
    owned = S3.list_objects_v2(Bucket=BUCKET, FetchOwner=True, MaxKeys=1)["Contents"][0]
    same(owned["Owner"]["ID"], "dunlin")


def deletions():
    """Of many at once only those that are as the request says; and nothing by halves."""
    for key in ("one", "two", "three"):
        S3.put_object(Bucket=BUCKET, Key=key, Body=key.encode())
    etag = S3.head_object(Bucket=BUCKET, Key="two")["ETag"]
    delete = lambda *objects, **more: with_headers(
        "DeleteObjects", {}, S3.delete_objects, Delete=dict(Objects=list(objects), **more))
    done = delete({"Key": "one", "VersionId": "abc"}, {"Key": "three", "VersionId": "null"})
    same([(e["Key"], e["VersionId"], e["Code"]) for e in done["Errors"]],
         [("one", "abc", "NoSuchVersion")])
    same([d["Key"] for d in done["Deleted"]], ["three"])

    # This boto3 does not know the conditions.
    def raw(text):
        body = f"<Delete><Quiet>true</Quiet>{text}</Delete>".encode()
        request = AWSRequest(method="POST", url=f"{sys.argv[1]}/{BUCKET}?delete=", data=body)
        S3SigV4Auth(boto3.Session().get_credentials(), "s3", "eu-north-1").add_auth(request)
        sent = urllib.request.Request(request.url, data=body, headers=dict(request.headers))
        try:
            with urllib.request.urlopen(sent) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            return f"{error.code} {error.read().decode()}"

    for condition in ("<Size>3</Size>", "<LastModifiedTime>2020-01-01T00:00:00Z</LastModifiedTime>"):
        said = raw(f"<Object><Key>two</Key></Object><Object><Key>one</Key>{condition}</Object>")
        same((said[:3], "NotImplemented" in said), ("501", True))
    said = raw("<Object><Key>one</Key><ETag>other</ETag></Object>"
               f"<Object><Key>two</Key><ETag>{etag}</ETag></Object>")
    same(("<Key>one</Key><Code>PreconditionFailed" in said, "two" in said), (True, False))
    S3.head_object(Bucket=BUCKET, Key="one")
    refused(404, [], S3.head_object, Bucket=BUCKET, Key="two")
    S3.delete_object(Bucket=BUCKET, Key="one")


def markers():
    """Version 1 goes on behind a marker, which may be a folder or the object of its name."""
    for key in ("m/", "m/x", "m/y", "n"):
        S3.put_object(Bucket=BUCKET, Key=key, Body=b"")
    keys = lambda **arguments: [o["Key"] for o in S3.list_objects(
        Bucket=BUCKET, Delimiter="/", **arguments).get("Contents", [])]
    same(keys(Prefix="m/", Marker="m/"), ["m/x", "m/y"])
    same(keys(Prefix="m/", Marker="m/x"), ["m/y"])
    same(keys(Prefix="m/", Marker=""), ["m/", "m/x", "m/y"])
    same(keys(Marker="m/")[0], "n")
    for key in ("m/", "m/x", "m/y", "n"):
        S3.delete_object(Bucket=BUCKET, Key=key)


def presigned():
    """What SDKs move from headers into a url counts there."""
    def put(status, words, **query):
        request = AWSRequest(method="PUT", url=f"{sys.argv[1]}/{BUCKET}/by-url", params={
            name.replace("_", "-"): value for name, value in query.items()})
        S3SigV4QueryAuth(boto3.Session().get_credentials(), "s3", "eu-north-1",
                         expires=60).add_auth(request)
        put = urllib.request.Request(request.prepare().url, data=b"hello", method="PUT")
        put.add_header("Content-Type", "text/plain")
        try:
            with urllib.request.urlopen(put) as reply:
                got, said = reply.status, ""
        except urllib.error.HTTPError as error:
            got, said = error.code, error.read().decode()
        same((got, said), (status, said))
        for word in words:
            same((word in said, said), (True, said))

    sha256 = lambda data: base64_of(hashlib.sha256(data).digest())
    put(400, ["BadDigest"], x_amz_checksum_sha256=sha256(b"other"))
    put(501, ["x-amz-acl", "public-read"], x_amz_acl="public-read")
    put(501, ["x-amz-copy-source"], x_amz_copy_source=f"{BUCKET}/to")
    put(501, ["X-Amz-Tagging"], X_Amz_Tagging="a=b")
    put(501, ["made-up"], made_up="1")
    refused(404, [], S3.head_object, Bucket=BUCKET, Key="by-url")
    put(200, [], x_amz_checksum_sha256=sha256(b"hello"), x_amz_meta_by="url")
    same(S3.head_object(Bucket=BUCKET, Key="by-url")["Metadata"], {"by": "url"})
    put(200, [], x_amz_checksum_sha256=sha256(b""))  # Of a body that was not known.
    begin = AWSRequest(method="POST", url=f"{sys.argv[1]}/{BUCKET}/by-url", params={
        "uploads": "", "x-amz-checksum-algorithm": "CRC32", "x-amz-checksum-type": "FULL_OBJECT"})
    S3SigV4QueryAuth(boto3.Session().get_credentials(), "s3", "eu-north-1",
                     expires=60).add_auth(begin)
    sent = urllib.request.Request(begin.prepare().url, method="POST")
    with urllib.request.urlopen(sent) as reply:
        same(reply.headers["x-amz-checksum-type"], "FULL_OBJECT")
    for upload in S3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]:
        S3.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])


def trailers():
    """Checksums behind a body that comes in chunks, as newer SDKs send them."""
    def put(status, words, announced, trailer, **more):
        request = AWSRequest(
            method="PUT", url=f"{sys.argv[1]}/{BUCKET}/behind",
            data=b"3\r\nhel\r\n2\r\nlo\r\n0\r\n" + trailer.encode() + b"\r\n",
            headers={"x-amz-trailer": announced, "x-amz-decoded-content-length": "5",
                     "content-encoding": "aws-chunked",
                     **{name.replace("_", "-"): value for name, value in more.items()}})
        request.context["checksum"] = {"request_algorithm": {"in": "trailer"}}
        S3SigV4Auth(boto3.Session().get_credentials(), "s3", "eu-north-1").add_auth(request)
        sent = urllib.request.Request(request.url, data=request.data, method="PUT",
                                      headers=dict(request.headers))
        sent.add_header("Content-Type", "text/plain")
        try:
            with urllib.request.urlopen(sent) as reply:
                got, said = reply.status, str(reply.headers)
        except urllib.error.HTTPError as error:
            got, said = error.code, error.read().decode()
        same((got, said), (status, said))
        for word in words:
            same((word in said, said), (True, said))

    put(400, ["BadDigest", "CRC32C"], "x-amz-checksum-crc32c", "x-amz-checksum-crc32c:AAAAAA==\r\n")
    put(400, ["MalformedTrailerError", "crc32c"], "x-amz-checksum-crc32c", "")
    put(400, ["MalformedTrailerError", "sha1"], "x-amz-checksum-crc32c",
        "x-amz-checksum-crc32c:mnG7TA==\r\nx-amz-checksum-sha1:x\r\n")
    put(400, ["more than one"], "x-amz-checksum-crc32c, x-amz-checksum-crc32", "")
    put(400, ["BadDigest"], "x-amz-checksum-crc32c", "x-amz-checksum-crc32c:mnG7TA==\r\n",
        x_amz_checksum_crc32c="AAAAAA==")
    refused(404, [], S3.head_object, Bucket=BUCKET, Key="behind")
    for header, good in (("x-amz-checksum-crc32c", "mnG7TA=="),
                         ("x-amz-checksum-crc64nvme", "M3eFcAZSQlc=")):
        put(200, [header, good], header, f"{header}:{good}\r\n")
    same(S3.get_object(Bucket=BUCKET, Key="behind")["Body"].read(), b"hello")


S3.create_bucket(Bucket=BUCKET)
for test in (trailers, checksums, parts_with_checksums, copies, settings, refusals, lists, presigned,
             deletions, markers):
    test()
    print("passed:", test.__name__, flush=True)
