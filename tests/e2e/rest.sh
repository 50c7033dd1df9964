# The REST service inside a hub and beside a store: tokens, TLS, addresses, and how it stops.
source "$(dirname "$0")/lib.sh"

# http_of DESCRIPTOR: sets $base to what the hub says about its REST service.
http_of() {
  local line
  while read -r -t 60 line <&"$1"; do
    case $line in "http on "*) base=${line#http on } && return ;; esac
  done
  fail "the hub does not serve HTTP"
}
status_of() { curl -s -o reply -w '%{http_code}' "$@"; }
bearer() { echo "Authorization: Bearer $(<"$1")"; }

start_hub --http 127.0.0.1:0
http_of "$hub_output"
same "$(status_of "$base/api/v1/health")" 401
same "$(status_of -H "Authorization: Bearer nonsense" "$base/api/v1/health")" 401
says "$(<reply)" '"status":401'
same "$(status_of -H "$(bearer hub/token)" "$base/api/v1/health")" 200
"$DUNLIN" token --data hub --scope read >reader
same "$(status_of -H "$(bearer reader)" "$base/api/v1/health")" 200
same "$(status_of -H "$(bearer reader)" "$base/api/v1/nothing")" 404
says "$(<reply)" '"code":"not_found"'
secret=$("$DUNLIN" tenant add physics --quiet)
id=$(curl -s "$base/node/register?secret=$secret&slots=1&maxSlots=2" | jq -r .id)
says "$(curl -s "$base/deep/prefix/results/upload/j/0?wID=$id")" "$base/deep/prefix/signed/physics/"
stop_hub
# What it knew is in the store.
start_hub --http 127.0.0.1:0 --public-url https://lab.example/dunlin/
http_of "$hub_output"
says "$(curl -s "$base/results/upload/j/0?wID=$id")" https://lab.example/dunlin/signed/physics/
stop_hub
! grep -q " error " hub.log || fail "an error in the hub's log"

# Beyond this machine only through TLS.
expect 4 "$DUNLIN" hub --data other --listen 127.0.0.1:0 --http 0.0.0.0:0
says "$err" --tls-cert
expect 2 "$DUNLIN" hub --data other --listen 127.0.0.1:0 --http 127.0.0.1:0 --public-url lab.example
expect 4 "$DUNLIN" rest --at "file:$work/store" --listen 0.0.0.0:0
certificate rest-test
start_hub --http 127.0.0.1:0 --tls-cert rest-test.pem --tls-key rest-test.key
http_of "$hub_output"
says "$base" https://
same "$(status_of --cacert rest-test.pem -H "$(bearer hub/token)" "$base/api/v1/health")" 200
says "$(curl -s --cacert rest-test.pem "$base/results/upload/j/0?wID=$id")" "$base/signed/"
same "$(status_of "http${base#https}/api/v1/health")" 000
stop_hub

# Beside a store without tokens there is one of its own.
unset DUNLIN_AT DUNLIN_TOKEN_FILE
"$DUNLIN" rest --at "file:$work/store" --token-file own/token --listen 127.0.0.1:0 >rest.out 2>rest.log &
rest=$!
started+=("$rest")
wait_for rest.out "token in"
base=$(sed -n 's/^http on //p' rest.out)
same "$(stat -c %a own/token)" 600
same "$(status_of -H "$(bearer own/token)" "$base/api/v1/health")" 200
same "$(status_of -H "$(bearer reader)" "$base/api/v1/health")" 401
kill -TERM "$rest"
wait "$rest" || fail "the service ended with $?"
expect 3 "$DUNLIN" rest --at dunlin://127.0.0.1:1 --listen 127.0.0.1:0
