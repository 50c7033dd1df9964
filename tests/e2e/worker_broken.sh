# A worker that cannot start tasks is not an outcome: they go to others, and it stops taking them.
source "$(dirname "$0")/lib.sh"
start_hub

# Its folder is a file: nothing can be made in it.
start_worker bad --slots 2
bad=$worker
rm -rf bad.folder
touch bad.folder
start_worker good --slots 2
submit --name all --array 0-199 -- true
ends_as done all
same "$("$DUNLIN" results all --json | jq -r '.state + " " + .worker' | sort | uniq -c | tr -s ' ')" " 200 ok good"
kill -0 "$bad" 2>/dev/null || fail "the bad worker is gone: $(<bad.log)"

# It says why, and takes tasks again when it can.
stop_worker
rm bad.folder
submit --name later -- true
ends_as done later
same "$("$DUNLIN" results later --json | jq -r .worker)" bad

# A folder that somebody has cleaned up is made again.
rm -rf bad.folder
submit --name again --array 0-9 -- pwd
ends_as done again
same "$("$DUNLIN" results again --json | jq -r .worker | sort -u)" bad

# A task cannot lock the folder for those after it, however deep it digs.
submit --name deep --cwd task -- 'for i in $(seq 300); do mkdir d && cd d || exit 1; done; touch f; chmod 500 .'
ends_as done deep
submit --name after --cwd task --array 0-9 -- 'ls -A'
ends_as done after
same "$("$DUNLIN" results after --json | jq -r '.state + .stdout' | sort -u)" ok

# The name of a worker stands for its folder, which is one worker's at a time.
start_worker twin
expect 4 timeout 60 "$DUNLIN" worker --allow-root --name twin --folder "$work/twin.folder"
says "$err" "twin.folder"
