#!/bin/sh
# A partition of a Monte Carlo job, without any library: it asks for iterations on descriptor 3,
# throws a dart for each, and prints how many it threw and how many hit.
#
#   dunlin submit --iterations 1e6 --wait -- "$PWD/pi.sh" | ./sum
darts=0
inside=0
while echo next >&3 && read -r word first count <&3 && [ "$word" = do ]; do
  hits=$(awk -v first="$first" -v count="$count" 'BEGIN {
    srand(first)
    for (i = 0; i < count; ++i) { x = rand(); y = rand(); if (x * x + y * y < 1) ++n }
    print n + 0
  }')
  darts=$((darts + count))
  inside=$((inside + hits))
done
echo "$darts $inside"
