# Where the values of tasks come from: arrays, lines, JSON lines, words, job files.
source "$(dirname "$0")/lib.sh"
start_hub
start_worker w1 --slots 2

# prints WORDS: what the tasks of the last job printed, in order.
prints() {
  ends_as done last
  same "$("$DUNLIN" results last --quiet | tr '\n' ,)" "$1"
}

submit --array 5-20:5 -- sh -c 'echo {#}'
prints 5,10,15,20,
submit --array 3,1,7-8 -- echo {}
prints 3,1,7,8,
submit --array 0-999 -- 'echo {#} $DUNLIN_TASK $DUNLIN_JOB'
ends_as done last
same "$("$DUNLIN" results last --quiet)" "$(for i in {0..999}; do echo "$i $i $job"; done)"

printf "it's\na b\n\$HOME\n\nlast" | submit --lines - -- 'printf "[%s]\n" {}'
prints "[it's],[a b],[\$HOME],[],[last],"
seq -f "%0200.0f" 1500 >many  # More than a message holds: they go into a blob.
submit --lines many -- echo {}
ends_as done last
"$DUNLIN" results last --quiet | cmp - many

printf '%s\n' '{"argv":["echo","a  b"]}' '{"command":"echo $X","env":{"X":"x y"}}' \
  '{"argv":["cat"],"stdin":"in"}' '{"argv":["pwd"],"cwd":"/usr"}' >tasks.json
submit --json-lines tasks.json
ends_as done last
same "$("$DUNLIN" results last --quiet | tr '\n' ,)" "a  b,x y,in/usr,"
printf '%s\n' '{"a":1,"b":"x y"}' '{"a":2,"b":"z"}' >fields.json
submit --json-lines fields.json -- echo {a} {b}
prints "1 x y,2 z,"

submit -- echo {1} {2} ::: a b ::: 1 2
prints "a 1,a 2,b 1,b 2,"
submit -- echo {1} {2} ::: a b :::+ 1 2
prints "a 1,b 2,"

cat >jobs.toml <<'TOML'
[[job]]
name = "make"
command = "echo $WHO {} > $OUT/{}"
values = ["x", "y"]
env = { WHO = "me", OUT = "OUTDIR" }

[[job]]
name = "sum"
argv = ["sh", "-c", "cat OUTDIR/x OUTDIR/y"]
after = ["make"]
TOML
mkdir made
sed -i "s|OUTDIR|$work/made|g" jobs.toml
"$DUNLIN" submit jobs.toml --wait --quiet >waited
ends_as done make
ends_as done sum
same "$("$DUNLIN" logs sum 0 | tr '\n' ,)" "me x,me y,"
stop_worker
