# bench/cloud, as small as it goes: every task has a result, the same seed gives the same rows, more
# instances are faster.
source "$(dirname "$0")/lib.sh"
bench=$BUILD/cloud_bench
small=(--instances 1,2,4 --tasks 2000 --cost-us 2 0.1 --json)

expect 0 "$bench" "${small[@]}" --seed 7 --csv rows.csv --plot rows.svg
printf '%s\n' "$out" >rows.json
python3 - <<'PYTHON' || fail "bench/cloud: $out"
import csv, json, xml.dom.minidom
rows = [json.loads(line) for line in open("rows.json")]
latency = rows.pop()
assert latency["bench"] == "simulated cloud latency" and 50 < latency["mean_ms"] < 1000, latency
assert [(r["quota"], r["instances"]) for r in rows] == [
    (quota, n) for quota in ("40000", "none") for n in (1, 2, 4)], rows
for r in rows:
    assert r["done_%"] == 100 and r["tasks"] == 2000 * r["instances"] and r["seed"] == 7, r
    assert r["task_us"] == 2 and r["sqs_10k"] > 0 and r["dynamodb_10k"] > 0, r
    # A commit takes 6 ms at least and a range passes a queue twice.
    assert 0.05 < r["seconds"] < 60, r
assert rows[0]["cloudkon"] == 87 and rows[0]["flexqueue"] == 238 and "flexqueue" not in rows[1]
for three in (rows[:3], rows[3:]):
    assert three[0]["tasks_per_s"] < three[2]["tasks_per_s"], three
assert all(r["writes_held_%"] == r["reads_held_%"] == 0 for r in rows[3:])
table = list(csv.DictReader(open("rows.csv")))
assert [float(r["tasks_per_s"]) for r in table] == [r["tasks_per_s"] for r in rows], table
assert len(xml.dom.minidom.parse("rows.svg").getElementsByTagName("polyline")) >= 4
PYTHON

first=$out
expect 0 "$bench" "${small[@]}" --seed 7
same "$out" "$first"
expect 0 "$bench" "${small[@]}" --seed 8
[ "$out" != "$first" ] || fail "another seed gives the same rows"

# A quota that is far too small is what holds it back. A run that takes too long says how far it came.
expect 0 "$bench" --instances 4 --tasks 2000 --cost-us 2 0.1 --quota 100 --seconds 1 --json
says "$out" '"quota":"100"'
python3 -c 'import json, sys
row = json.loads(sys.argv[1].splitlines()[0])
assert row["done_%"] < 100 and row["writes_held_%"] > 50, row' "$out" || fail "quota 100: $out"

# What a task costs is measured unless it is given.
expect 0 "$bench" --instances 1 --tasks 500
says "$out" "SIMULATION" "measured on this machine" "task_us" "87"
expect 2 "$bench" --instances 0
expect 2 "$bench" --quota none
