"""Checks an iterative job from outside: of the partitions that ended well, each says which iterations
it did (lines FIRST COUNT). Together they must be all of them, once.

usage: dunlin results JOB --json | iterations_check.py TOTAL
"""
import json
import sys


def main():
    total = int(sys.argv[1])
    spans = []
    well = 0
    for line in sys.stdin:
        result = json.loads(line)
        if result["state"] != "ok":
            continue
        well += 1
        for words in result.get("stdout", "").split("\n"):
            if words:
                first, count = (int(word) for word in words.split())
                spans.append((first, first + count))
    spans.sort()
    at = 0
    for first, last in spans:
        if first != at:
            sys.exit(f"iterations {min(at, first)} to {max(at, first) - 1} "
                     f"are {'missing' if first > at else 'there twice'}")
        at = last
    if at != total:
        sys.exit(f"there are {at} iterations, not {total}")
    print(f"{total} iterations once each, in {len(spans)} spans of {well} partitions")


main()
