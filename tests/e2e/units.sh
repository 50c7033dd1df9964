# The systemd units are right, as far as systemd can tell, and leave little open.
source "$(dirname "$0")/lib.sh"
command -v systemd-analyze >/dev/null || skip "there is no systemd here"
units=$here/../../packaging/systemd
# exposure NAME: what systemd counts as open, of 10.
exposure() {
  systemd-analyze security --offline=true "$1" | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p'
}
for limit in hub=1.5 worker=5.5; do
  unit=dunlin-${limit%=*}.service
  # As it is installed, but with a program that is there.
  sed "s|/usr/local/bin/dunlin|$DUNLIN|" "$units/$unit" >"$unit"
  systemd-analyze verify "./$unit" >verify.log 2>&1 || fail "$(<verify.log)"
  ! grep -i "$unit" verify.log || fail "systemd complains about $unit"
  open=$(exposure "./$unit")
  [ -n "$open" ] || fail "systemd does not say how open $unit is"
  jq -en "$open <= ${limit#*=}" >/dev/null || fail "$unit leaves $open of 10 open"
  # Its options are options that there are: bad usage has another exit code.
  words=$(sed -n '/^ExecStart=/,/[^\\]$/p' "$unit" | tr -d '\\\n' | sed 's/^ExecStart=//; s/%H/host/')
  # shellcheck disable=SC2086
  expect 0 $words --help
done

