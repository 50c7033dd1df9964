# Every experiment of `dunlin bench`, as small as it goes: it ends well, and its rows make sense. How
# fast it is does not matter here.
source "$(dirname "$0")/lib.sh"
mkdir disk
export TMPDIR=$work/disk

# check_rows WORDS...: runs `dunlin bench WORDS`. Each line of standard input is Python that must hold
# of its JSON: `rows` are all objects, row(what) is the one with this name.
check_rows() {
  local checks
  checks=$(cat)
  expect 0 "$DUNLIN" bench "$@" --json
  printf '%s\n' "$out" >rows.json
  python3 - "$checks" <<'PYTHON' || fail "bench $*: $out"
import json, sys
rows = [json.loads(line) for line in open("rows.json")]
def row(what, **more):
    found = [r for r in rows if r["what"] == what and all(r[k] == v for k, v in more.items())]
    assert len(found) == 1, (what, found)
    return found[0]
for row_ in rows:
    for name in ("v", "bench", "cores", "durability", "payload", "batch", "tasks", "instances"):
        assert name in row_, (name, row_)
for line in sys.argv[1].splitlines():
    assert eval(line), line
PYTHON
}

check_rows throughput --instances 1,2 --tasks 600 --clients 2 --slots 2 --rounds 1 --embedded <<'END'
[r["instances"] for r in rows] == [1, 2, 1]
[r["tasks"] for r in rows] == [600, 1200, 600]
all(r["tasks_per_s"] > 0 and r["durability"] == "synced" and r["batch"] in (300, 600) for r in rows)
row("hub", instances=1)["cloudkon"] == 87 and row("hub", instances=1)["flexqueue"] == 238
row("embedded")["tasks_per_s"] > 0
END
check_rows throughput --instances 1 --tasks 300 --rounds 1 --relaxed --ephemeral --payload 50 \
  --batch 70 <<'END'
row("hub")["durability"] == "none" and row("hub")["delivery"] == "relaxed"
row("hub")["payload"] == 50 and row("hub")["batch"] == 70
END

check_rows latency --tasks 20 <<'END'
all(0 <= r["p50_us"] <= r["p90_us"] <= r["p99_us"] for r in rows)
row("cycle", durability="none")["vs_ping"] > 0
1 <= row("cycle", durability="synced")["syncs"] <= 6
row("tcp ping-pong")["p50_us"] > 0 and row("fdatasync")["p50_us"] > 0
len(rows) == 4 + 2 * 5
END

check_rows efficiency --slots 2,4 --ms 1,16 --seconds 0.1 <<'END'
len(rows) == 4
all(0 < r["efficiency"] <= 1 and 0 < r["bare"] <= 1 for r in rows)
row("sleep", slots=4, ms=1)["tasks"] == 400 and row("sleep", slots=2, ms=16)["tasks"] == 12
END
check_rows efficiency --slots 4 --mixed --seconds 0.2 --seed 3 <<'END'
len(rows) == 1 and rows[0]["ms"] == "1-1000" and 0 < rows[0]["efficiency"] <= 1
END

check_rows consistency --tasks 300 --rounds 1 <<'END'
[r["what"] for r in rows] == ["relaxed", "once", "at-most-once"]
row("relaxed")["cost_percent"] == 0
all(r["cost_percent"] < 100 and r["tasks_per_s"] > 0 for r in rows)
END

check_rows proc --tasks 20 --rounds 1 --csv proc.csv --plot proc.svg <<'END'
row("posix_spawn loop")["ratio"] == 1
row("dunlin run")["tasks_per_s"] > 0 and row("dunlin run")["durability"] == "synced"
END
python3 -c 'import csv; rows = list(csv.DictReader(open("proc.csv")))
assert rows[1]["what"] == "dunlin run" and float(rows[1]["tasks_per_s"]) > 0, rows'
python3 -c 'import xml.dom.minidom as dom; svg = dom.parse("proc.svg").documentElement
assert svg.tagName == "svg" and len(svg.getElementsByTagName("polyline")) >= 2'

# For people: the settings in the first line, then a table.
expect 0 "$DUNLIN" bench proc --tasks 20 --rounds 1
says "$out" "proc: cores" "tasks 20" "what " "dunlin run"

expect 2 "$DUNLIN" bench
expect 2 "$DUNLIN" bench throughput --instances 0
expect 2 "$DUNLIN" bench efficiency --mixed --ms 5
expect 2 "$DUNLIN" bench latency --folder /dev/null/nowhere
says "$err" "--folder"
same "$(ls disk)" ""  # Nothing is left behind.
