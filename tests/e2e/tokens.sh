# A token allows what its scopes say, until it ends, and only at its own hub.
source "$(dirname "$0")/lib.sh"
start_hub
same "$(stat -c %a hub/token)" 600
expect 0 "$DUNLIN" store push jobs --body x
for scope in read submit worker; do "$DUNLIN" token --data hub --scope $scope >$scope; done
"$DUNLIN" token --data hub --scope read --expires 1s >short

export DUNLIN_TOKEN_FILE=read
expect 0 "$DUNLIN" store depth jobs
expect 4 "$DUNLIN" store push jobs --body x
says "$err" submit
expect 4 "$DUNLIN" store put settings key value
expect 4 "$DUNLIN" store pull jobs

DUNLIN_TOKEN_FILE=submit
expect 0 "$DUNLIN" store push jobs --body x
expect 0 "$DUNLIN" store pull reply.me
expect 4 "$DUNLIN" store pull jobs
says "$err" worker

DUNLIN_TOKEN_FILE=worker
expect 0 "$DUNLIN" store pull jobs

# Everything else is refused: changed, expired, of another hub.
tr 'a-f0-9' 'b-g1-9a' <worker >changed
expect 4 "$DUNLIN" store info --token-file changed
refused() { ! "$DUNLIN" store info --token-file short; }
within 60 refused
expect 4 "$DUNLIN" store info --token-file short
says "$err" expired
stop_hub
rm hub/token
start_hub
expect 4 "$DUNLIN" store info --token-file "$work/worker"
