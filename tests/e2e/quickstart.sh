# scripts/quickstart from its first to its last line, with what this test was built with: the program ends
# up below the prefix, and the demonstrations count what they should.
. "$(dirname "$0")/lib.sh"

source=$here/../..
unset XDG_STATE_HOME
export HOME=$work/home
mkdir home
expect 0 env PRESET="$(basename "$BUILD")" PREFIX="$work/prefix" timeout 120 bash "$source/scripts/quickstart"
says "$out" "200 different results" "1000 messages" "export PATH=\"$work/prefix/bin:\$PATH\""
same "$(echo "$out" | grep -c 'prefix/bin/dunlin$')" 1
expect 0 env PATH="$work/prefix/bin:$PATH" dunlin run -k echo ::: a b
same "$out" $'a\nb'
[ -f "$work/prefix/include/dunlin/client.h" ] || fail "the SDK is not installed"
[ -n "$(find "$work/prefix" -name dunlinConfig.cmake)" ] || fail "CMake will not find it"

# It leaves nothing in the home of a person who tries it.
same "$(find "$HOME" -type f)" ""

# Where it goes unless PREFIX says otherwise.
cd "$source"
. scripts/lib.sh
if [ "$(id -u)" = 0 ]; then same "$(default_prefix)" /usr/local; else same "$(default_prefix)" "$HOME/.local"; fi
# Nobody's packages go for ours.
if [ "$(id -u)" = 0 ]; then
  apt-get -s install --no-install-recommends "${packages[@]%%|*}" >"$work/apt.log" 2>&1 || true
  if grep -q '^Remv' "$work/apt.log"; then fail "packages would go: $(grep '^Remv' "$work/apt.log")"; fi
fi
