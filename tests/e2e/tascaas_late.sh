# Programs of others that know TaScaaS's published protocol, curl and Python only: a job that needs more
# partitions for its deadline, done only with results, ids that nobody can guess, what a tenant does
# with its secret, and downloads that go on.
source "$(dirname "$0")/lib.sh"

start_hub --http 127.0.0.1:0
while read -r -t 60 line <&"$hub_output"; do
  case $line in "http on "*) base=${line#http on } && break ;; esac
done
secret=$("$DUNLIN" tenant add physics --quiet)
api=$base/tenant/v1
auth="Authorization: Bearer $secret"
files() { curl -sS --fail-with-body -H "$auth" "$@"; }

# The tenant's own secret is enough.
head -c 300000 /dev/urandom | base64 -w 0 >"my water.in"
echo '{"iterations": "120000", "time": "400", "inputFile": "my water.in"}' >late.config
files -T "my water.in" "$api/files/input/my%20water.in" >/dev/null
job=$(files -T late.config "$api/files/input/late.config" | jq -r .job)
same "$(files -T late.config "$api/files/input/late.config" | jq -c '[.job, .existed]')" "[\"$job\",true]"
same "$(curl -s -o out -w '%{http_code}' -H "Authorization: Bearer x$secret" "$api/jobs")" 401
same "$(curl -s -o out -w '%{http_code}' -T late.config "$api/files/input/late.config")" 401

# Who knows the file and the tenant does not know the job.
guess=$(python3 -c 'import hashlib, sys, uuid
text = open("late.config").read()
digest = hashlib.sha256(("physics/late.config/" + text).encode()).hexdigest()
print(uuid.UUID(digest[:32]), "late.config", sep="_")')
[ "$guess" != "$job" ] || fail "the id of a job can be computed"
says "$(curl -s "$base/lb/$guess/start?worker=0&dt=0")" "doesn't exist"
says "$(curl -s "$base/lb/$job/start?worker=0&dt=0")" "worker 0 was not handed out"

python3 "$here/tascaas_late.py" "$base" "$secret" "$job" 120000 >done
read -r count all <done
((count >= 3)) || fail "no partitions were added: $(<done)"
for one in $all; do
  ((one >= 5000)) || fail "a partition had no real share: $(<done)"
done
same "$(files "$api/jobs/$job" | jq -c '[.state, .partitions == .finished]')" '["done",true]'
same "$(files "$api/jobs/$job/partitions" | jq -r '.partitions[] | select(.done > 0) | .state' | sort -u)" done
same "$("$DUNLIN" tenant jobs physics "$job" --json | jq -s -c 'map(.done) | add >= 120000')" true
says "$("$DUNLIN" tenant jobs physics "$job")" PARTITION SPEED
sum=0
for ((i = 0; i < count; ++i)); do
  sum=$((sum + $(files "$api/files/output/results/$job/worker-$i/results.dat")))
done
same "$sum" "$(files "$api/jobs/$job" | jq .done)"

# A put says what became of its own file, whoever takes it in, also if it is one that was there.
for i in 1 2 3 4 5 6 7 8; do
  echo "{\"iterations\": $i, \"time\": 0, \"inputFile\": \"my water.in\"}" >"c$i.config"
done
puts=()
for i in 1 2 3 4 5 6 7 8; do
  "$DUNLIN" tenant put physics "c$i.config" >"said.$i" 2>&1 &
  puts+=("$!")
done
wait "${puts[@]}" || fail "a put has failed: $(cat said.*)"
for i in 1 2 3 4 5 6 7 8; do
  same "$(wc -l <"said.$i")" 1
  says "$(<"said.$i")" "c$i.config is job "
done
says "$("$DUNLIN" tenant put physics c1.config)" "c1.config is already job $(sed 's/.* job //' said.1)"
other=$("$DUNLIN" tenant put physics c1.config --again --quiet)
[ "$other" != "$(sed 's/.* job //' said.1)" ] || fail "no other job: $other"

# A download goes on where it was cut off.
infra=$(curl -s "$base/node/register?secret=$secret&slots=1&maxSlots=1" | jq -r .id)
data=$(curl -s "$base/node/$infra/jobs?slots=1" | jq -r '.configs[0]."data-url"')
head -c 100000 "my water.in" >part
curl -sS --fail -C - -o part "$data"
cmp part "my water.in"
if command -v wget >wget.path; then
  head -c 100000 "my water.in" >part
  wget -q -c -O part "$data" || fail "wget cannot go on"
  cmp part "my water.in"
fi
same "$(curl -s -o out -w '%{http_code}' -r 5-9 "$data") $(wc -c <out)" "206 5"
same "$(curl -s -o out -w '%{http_code}' -r 999999999- "$data")" 416

stop_hub
! grep -q " error " hub.log || fail "an error in the hub's log"
