# S3 of the AWS-compatible door, driven by programs of others as Debian has them: boto3, awscli, s3cmd
# and rclone. Copies within S3, checksums, and what is refused.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"
[ -x /usr/bin/rclone ] && [ -x /usr/bin/s3cmd ] && [ -x /usr/bin/aws ] ||
  fail "a client is missing: scripts/test installs awscli, rclone, s3cmd and python3-boto3"

start_door
export AWS_DEFAULT_REGION=eu-north-1 AWS_REGION=eu-north-1
# The python of Debian, which has boto3, whatever comes first in PATH.
timeout 200 /usr/bin/python3 "$here/aws_s3.py" "$endpoint" || fail "boto3"
timeout 100 /usr/bin/python3 "$here/aws_dynamo.py" "$endpoint" || fail "boto3, with DynamoDB"

head -c $((20 << 20)) /dev/urandom >big
sum=$(sha256sum <big)
aws() { timeout 100 /usr/bin/aws --endpoint-url "$endpoint" "$@" 2>&1; }
aws s3 cp --quiet big s3://clients/aws/big
aws s3 cp --quiet s3://clients/aws/big s3://clients/aws/copy
aws s3 mv --quiet s3://clients/aws/copy s3://clients/aws/moved
aws s3 cp --quiet s3://clients/aws/moved back
same "$(sha256sum <back)" "$sum"
same "$(aws s3 ls s3://clients/aws/ | awk '{print $4}' | tr '\n' ' ')" "big moved "

cat >s3cfg <<CFG
access_key = $AWS_ACCESS_KEY_ID
secret_key = $AWS_SECRET_ACCESS_KEY
host_base = ${endpoint#*://}
host_bucket = ${endpoint#*://}
bucket_location = eu-north-1
use_https = False
signature_v2 = False
multipart_chunk_size_mb = 5
CFG
s3() { timeout 100 /usr/bin/s3cmd -c "$work/s3cfg" --no-progress "$@" 2>&1; }
s3 put big s3://clients/s3cmd/big >/dev/null
s3 cp s3://clients/s3cmd/big s3://clients/s3cmd/copy >/dev/null
s3 mv s3://clients/s3cmd/copy s3://clients/s3cmd/moved >/dev/null
s3 get --force s3://clients/s3cmd/moved back >/dev/null
same "$(sha256sum <back)" "$sum"
says "$(s3 info s3://clients)" "Location:" "Payer:     BucketOwner" "Policy:    none" "CORS:      none" \
  "ACL:       dunlin: FULL_CONTROL"
says "$(s3 info s3://clients/s3cmd/big)" "File size: 20971520" "ACL:       dunlin: FULL_CONTROL"
s3 setacl --acl-private s3://clients/s3cmd/big >/dev/null || fail "everything is private"
if said=$(s3 setacl --acl-public s3://clients/s3cmd/big); then fail "made public: $said"; fi
if said=$(s3 put --acl-public big s3://clients/s3cmd/public); then fail "put for all: $said"; fi
says "$said" "x-amz-acl" "public-read"
says "$(curl -s "$(s3 signurl s3://clients/s3cmd/big +600)")" "Signature Version 2"
says "$(curl -s -F key=x -F file=@s3cfg "$endpoint/clients")" "POST policy" "presigned"

export RCLONE_CONFIG=$work/rclone.conf
cat >rclone.conf <<CONF
[hub]
type = s3
provider = Other
endpoint = $endpoint
env_auth = true
region = eu-north-1
force_path_style = true
CONF
clone() { timeout 100 /usr/bin/rclone --retries 1 --low-level-retries 1 "$@" 2>&1; }
clone copyto big hub:clients/rclone/big || fail "rclone copyto"
clone copyto --s3-copy-cutoff 5M --s3-chunk-size 5M hub:clients/rclone/big hub:clients/rclone/copy ||
  fail "rclone, a copy within S3"
clone cat hub:clients/rclone/copy >back
same "$(sha256sum <back)" "$sum"
same "$(clone cleanup hub:clients)" ""
clone purge hub:clients || fail "rclone purge"
same "$("$DUNLIN" store blob list --quiet | grep -c '^aws.s3/' || true)" 0
stop_hub
