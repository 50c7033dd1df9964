# SQS for programs of before 2023, which speak its Query protocol: the tools of AWS as Debian has them,
# a program in the way of CloudKon, a worker of Celery; and the example in docs/AWS_DOOR.md.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"
cp "$here"/../aws_python/*.py .
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV

# Debian's: another Python that comes first on the PATH has other packages.
python() { timeout 120 /usr/bin/python3 "$@"; }

start_door
export ENDPOINT=$endpoint
python query.py "$endpoint" || fail "SQS's Query protocol"
python cloudkon.py "$endpoint" 40 2 || fail "the way of CloudKon"

mkdir results
/usr/bin/python3 -m celery -A celery_tasks worker --concurrency 2 --loglevel info >celery.log 2>&1 &
celery=$!
started+=("$celery")
python celery_tasks.py 20 || fail "Celery"
kill -TERM "$celery"
wait "$celery" || fail "Celery's worker ended with $?"
! grep -q -e ERROR -e Traceback celery.log || fail "Celery's worker complained"

# What AWS_DOOR.md tells people to type, with this hub's address and keys.
sed -n '/^    \$ export AWS_SHARED/,/^$/s/^    \$ //p' "$here/../../docs/AWS_DOOR.md" >example
says "$(<example)" "aws sqs create-queue" "aws s3 mb"
sed -i "s|~/hub/|$work/hub/|; s|http://127.0.0.1:9324|$endpoint|" example
(
  unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_DEFAULT_REGION AWS_REGION AWS_ENDPOINT_URL
  PATH=/usr/bin:$PATH
  says "$(aws --version 2>&1)" "aws-cli/2.9"
  source ./example
) >example.out 2>example.err || fail "the example of AWS_DOOR.md"
says "$(<example.out)" "$endpoint/000000000000/work" '"Body": "hello"' "how are you"
says "$("$DUNLIN" store info)" sqs.work s3.results
! grep -q " error " hub.log || fail "an error in the hub's log"
stop_hub
