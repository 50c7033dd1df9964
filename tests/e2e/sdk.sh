# The SDK as others get it: installed, found by CMake, linked, and used by the example.
. "$(dirname "$0")/lib.sh"

prefix=$work/prefix
cmake --install "$BUILD" --prefix "$prefix" >install.log || fail "not installed: $(tail -3 install.log)"
library=$(find "$prefix" -name libdunlin.so)
[ -n "$library" ] || fail "there is no libdunlin.so in $(find "$prefix")"
# It shows its own names and nothing of what it is made of.
nm -DC --defined-only "$library" | grep -v ' dunlin::sdk::v1::' >shown || true
[ ! -s shown ] || fail "libdunlin.so shows: $(head -5 shown)"

# The headers stand alone.
for header in "$prefix"/include/dunlin/*.h; do
  echo "#include <dunlin/$(basename "$header")>" >alone.cc
  c++ -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only \
    -I "$prefix/include" alone.cc || fail "$header does not stand alone"
done

# An asan library wants its runtime first.
sanitize=
ldd "$library" >needs
if grep -q libasan needs; then sanitize=-fsanitize=address,undefined; fi
if grep -q libtsan needs; then sanitize=-fsanitize=thread; fi
cmake -S "$here/../../examples/monte_carlo" -B example -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_FLAGS="-O1 $sanitize" >example.log || fail "$(tail -5 example.log)"
cmake --build example >>example.log 2>&1 || fail "$(grep -m5 error example.log)"

start_hub
DUNLIN_ALLOW_ROOT=1 example/darts_worker "$url" "$DUNLIN_TOKEN_FILE" 2 >worker.out 2>worker.err &
worker=$!
started+=("$worker")
wait_for worker.out worker
expect 0 timeout 60 example/darts "$url" "$DUNLIN_TOKEN_FILE"
# Seeds are the tasks' numbers: the sum is the same on every machine.
first=$out
says "$first" "tasks 1000 hits 785" "pi 3.14"
expect 0 timeout 60 example/darts "$url" "$DUNLIN_TOKEN_FILE"
same "$out" "$first"
expect 0 "$DUNLIN" list --json
says "$out" '"name":"darts"'

# Partitions of an iterative job: each dart depends on its number alone, so the sum is the same
# however they are shared.
cmake -S "$here/../../examples/pi" -B pi -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_FLAGS="-O1 $sanitize" >example.log || fail "$(tail -5 example.log)"
cmake --build pi >>example.log 2>&1 || fail "$(grep -m5 error example.log)"
for partitions in 1 3; do
  expect 0 timeout 60 "$DUNLIN" submit --iterations 1e6 --partitions $partitions --wait -- "$work/pi/pi"
  same "$("$here/../../examples/pi/sum" <<<"$out")" "darts 1000000 hits 785406 pi 3.141624"
done
expect 0 timeout 60 "$DUNLIN" submit --iterations 1e5 --wait -- "$here/../../examples/pi/pi.sh"
says "$("$here/../../examples/pi/sum" <<<"$out")" "darts 100000 hits 78" "pi 3.1"
expect 2 pi/pi
says "$err" "dunlin submit --iterations"

kill -TERM "$worker"
wait "$worker" || fail "the worker ended with $?: $(<worker.err)"
expect 1 example/darts "$url" /dev/null
says "$err" "token"
