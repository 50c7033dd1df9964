# Partitions of an iterative job on machines whose wall clocks differ: a slow one whose clock is an hour
# behind does its part.
source "$(dirname "$0")/lib.sh"
start_hub
start_skewed_worker -3600 slow --slots 1
start_skewed_worker 0 fast --slots 1
cat >part <<'END'
#!/bin/sh
echo >>"$STARTS"
case $PWD in */slow.folder/*) each=0.7 ;; *) each=0.05 ;; esac
while echo next >&3 && read -r word first count <&3 && [ "$word" = do ]; do
  sleep "$(awk "BEGIN { print $count * $each }")"
  echo "$first $count"
done
END
chmod +x part
submit --name shared --iterations 200 --partitions 2 --span 500ms --env "STARTS=$work/starts" -- "$work/part"
ends_as done shared
"$DUNLIN" results shared --json | python3 "$here/iterations_check.py" 200 || fail "shared"
same "$("$DUNLIN" results shared --json | jq -r .worker | sort | tr '\n' ,)" fast,slow,
same "$(wc -l <starts | tr -d ' ')" 2 # Nothing was done in vain.
