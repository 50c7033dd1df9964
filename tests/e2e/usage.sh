# Words that the command line cannot be: one line, which names the word and the next step.
source "$(dirname "$0")/lib.sh"

# refused WORDS -- COMMAND...: exit 2, nothing on stdout, one line with the words.
refused() {
  local words=()
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  expect 2 "$DUNLIN" "$@"
  same "$out" ""
  same "$(wc -l <<<"$err")" 1
  says "$err" "dunlin: " "${words[@]}"
}
refused '"--aray"' 'did you mean --array?' 'dunlin submit --help' -- submit --aray 0-3 -- echo
refused '"sumbit"' 'did you mean submit?' 'dunlin --help' -- sumbit -- echo
refused '"store pul"' 'did you mean pull?' 'dunlin store --help' -- store pul jobs
refused 'command is missing' 'dunlin --help' --
refused 'command is missing' 'dunlin store --help' -- store
for count in 200% +1 -1 50% x; do refused --jobs "\"$count\"" 'as in -j 4' -- run "--jobs=$count" echo ::: 1; done
refused --jobs '"+1"' 'as in -j 4' -- run -j+1 echo ::: 1
refused --max-args '"0"' '1 or more' -- run -n 0 echo ::: 1
refused 'TASK is missing' 'dunlin logs --help' -- logs last
refused --json --quiet 'give one' -- list --json --quiet
refused 'needs a value' -- submit --array
refused '"{}"' 'put the command after --' -- submit --array 0-3 echo {}
refused '"more"' -- status last more
refused '"--unknown"' 'dunlin run --help' -- run --unknown echo ::: 1
refused -- worker --slots x --allow-root
refused 'did you mean --keep-order?' -- run --keep-ordr echo ::: 1

# What GNU parallel spells otherwise.
refused 'no option -P: -j' -- run -P 4 echo ::: 1
refused 'no option -N: -n' -- run -N2 echo ::: 1
refused 'no option --pipe' 'files' -- run --pipe wc ::: 1
expect 0 "$DUNLIN" run -k --header : echo {f1} ::: f1 A B
same "$out" $'A\nB'
printf 'n\n1\n2\n' >n.csv
expect 0 "$DUNLIN" run -k --header : --csv 'echo {n}' :::: n.csv
same "$out" $'1\n2'

# A command may follow --, as it must for submit.
expect 0 "$DUNLIN" run -- echo {} ::: 1
same "$out" 1
expect 0 "$DUNLIN" run -k -j 2 -- echo {} -- ::: --tag b
same "$out" $'--tag --\nb --'
expect 0 "$DUNLIN" run --dry-run -- -x ::: 1
same "$out" "-x 1"
refused 'no option -P' -- run -P 4 -- echo ::: 1

# Braces that GNU parallel would fill in: one line, and they stay. Those of others are nobody's business.
for braces in '{3}' '{-1}' '{= s/a/b/ =}'; do
  expect 0 "$DUNLIN" run -k "echo '$braces' {}" ::: a b
  same "$out" "$braces a"$'\n'"$braces b"
  same "$(wc -l <<<"$err")" 1
  says "$err" "$braces in the command is not a placeholder and stays as it is"
  expect 0 "$DUNLIN" run -q "echo '$braces' {}" ::: a
  same "$err" ""
done
expect 0 "$DUNLIN" run 'f() { echo ${2} ${HOME:+x}; }; f y {}' ::: a
same "$out$err" "a x"

# Help and version, however they are asked for.
for words in help --help 'help run' 'run --help' 'help store push' 'store push --help'; do
  expect 0 "$DUNLIN" $words
  same "$err" ""
done
expect 0 "$DUNLIN" help run
says "$out" --keep-order
refused '"nosuch"' -- help nosuch
refused '"store pus"' 'did you mean push?' -- help store pus
refused '"foo"' 'not expected' 'dunlin run --help' -- help run foo
refused '"foo"' 'not expected' -- help store push foo
refused '"store pus"' -- store pus --help
expect 0 "$DUNLIN" run --version
says "$out" "dunlin 0."
expect 0 "$DUNLIN" run 'printf x{}' ::: --version
same "$out" x--version

# A job file goes with every option that says where the store is.
printf '[[job]]\ncommand = "true"\n' >j.toml
DUNLIN_AWS_ENDPOINT=http://127.0.0.1:1 expect 0 "$DUNLIN" submit --dry-run j.toml
refused --array j.toml -- submit --array 0-3 j.toml
printf '[[job]]\ncommand = "true"\nretries = 5000\n' >j.toml
refused j.toml:3 'retries must be a number of 0 to 1000' -- submit --dry-run j.toml
printf '[[job]]\ncommand = "true"\nretries = -1\n' >j.toml
refused j.toml:3 'retries must be a number of 0 to 1000' -- submit --dry-run j.toml

# Flags may be switched off, and take nothing else.
printf 'n,m\n1,2\n' >t.csv
expect 0 "$DUNLIN" submit --dry-run --csv --header=false --lines t.csv -- echo '{1}'
same "$out" $'echo n\necho 1'
expect 0 "$DUNLIN" run --dry-run --no-quote=false 'echo {}' ::: 'a b'
same "$out" "echo 'a b'"
refused --csv 'no value but true and false' -- submit --dry-run --csv=t.csv -- true ::: a
refused --header 'no value but true and false' -- run --fresh --header=: true ::: a
