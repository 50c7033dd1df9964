#!/bin/sh
# As pi.sh, for programs that cannot use descriptor 3: it asks for iterations over HTTP. Its standard
# error says which darts it threw.
#
#   dunlin submit --iterations 1e6 --env API=http://127.0.0.1:7071/api/v1 \
#     --env TOKEN_FILE=$HOME/hub/token --wait -- "$PWD/pi_http.sh" | ./sum
#
# The token needs the scope worker. DUNLIN_JOB, DUNLIN_TASK and DUNLIN_ATTEMPT come from the worker.
darts=0
inside=0

# An answer that is lost is asked for again with the same number of darts. The token goes in through
# standard input, so that nobody sees it among the processes.
ask() {
  printf 'header = "Authorization: Bearer %s"\n' "$(cat "$TOKEN_FILE")" |
    curl --config - --silent --fail --max-time 60 --retry 10 --retry-delay 1 \
      --header 'Content-Type: application/json' \
      --data "{\"attempt\":$DUNLIN_ATTEMPT,\"had\":$darts}" \
      "$API/jobs/$DUNLIN_JOB/partitions/$DUNLIN_TASK/next"
}
field() { echo "$answer" | sed -n "s/.*\"$1\":\([0-9][0-9]*\).*/\1/p"; }

while :; do
  until answer=$(ask); do
    [ $? != 22 ] || exit 1 # It was refused: others have its iterations.
    sleep 1
  done
  case $answer in
    *'"end"'*) break ;;
    *'"wait_ms"'*) sleep 1 && continue ;;
  esac
  first=$(field first)
  count=$(field count)
  hits=$(awk -v first="$first" -v count="$count" 'BEGIN {
    srand(first)
    for (i = 0; i < count; ++i) { x = rand(); y = rand(); if (x * x + y * y < 1) ++n }
    print n + 0
  }')
  echo "$first $count" >&2
  darts=$((darts + count))
  inside=$((inside + hits))
done
echo "$darts $inside"
