# Retrying failures that are scattered over a page, in a store that takes few rows at once.
source "$(dirname "$0")/lib.sh"
source "$here/../engines/aws.sh"
start_engine
start_worker w --slots 2
for delivery in --at-most-once --relaxed ""; do
  rm -f starts
  submit --name "job$delivery" $delivery --array 0-299 -- \
    "echo {#} >>$work/starts; test -e $work/well || test \$(({#} % 2)) = 1"
  rm -f well
  ends_as failed "job$delivery"
  same "$("$DUNLIN" status "job$delivery" --json | jq -c '[.ok,.failed]')" '[150,150]'
  touch well
  expect 0 "$DUNLIN" retry "job$delivery"
  says "$out$err" 150
  ends_as done "job$delivery"
  # Those that went well were not started again.
  same "$(sort -n starts | uniq -c | awk '{ print $1, $2 % 2 }' | sort | uniq -c | tr -s ' ')" \
    "$(printf ' 150 1 1\n 150 2 0')"
  rm -f well
done
