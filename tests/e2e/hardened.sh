# The program was compiled and linked so that a fault in memory ends it: as its own file says.
source "$(dirname "$0")/lib.sh"
symbols=$(readelf -W --dyn-syms "$DUNLIN")
for sanitizer in __asan_init __tsan_init; do
  [[ $symbols != *"$sanitizer"* ]] || skip "a sanitizer looks after this build"
done
says "$(readelf -hW "$DUNLIN")" "DYN (Position-Independent Executable"
dynamic=$(readelf -dW "$DUNLIN")
[[ $dynamic == *BIND_NOW* ]] || fail "functions are looked up late"
segments=$(readelf -lW "$DUNLIN")
says "$segments" GNU_RELRO
same "$(awk '/GNU_STACK/ { print $7 }' <<<"$segments")" RW
says "$symbols" __stack_chk_fail
[[ $symbols =~ __[a-z]+_chk@ ]] || fail "no call is checked"
