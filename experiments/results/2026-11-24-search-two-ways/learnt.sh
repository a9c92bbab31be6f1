#!/usr/bin/env bash
# What a search finds with what autotune had learnt from the right and the wrong start (../2026-11-24-wrong-start-fed, the first two times): learnt.sh SLUICE EFFORT...
set -euo pipefail
sluice=$1; shift
fed=$(cd "$(dirname "$0")/../2026-11-24-wrong-start-fed" && pwd)
wrong=$(cd "$(dirname "$0")/../../wrong_start" && pwd)/wrong_profile.py
job=(--model qwen2.5-1.5b --seq-len 1024 --batch-size 16 --micro-batch 4 --hbm 16GiB --host 100GiB --residency host --backend cuda)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { python3 -c 'import json, sys; print(f"{1e3 * json.load(sys.stdin)[sys.argv[1]]:.1f} ms")' step_s; }
for time in first second; do
  for start in right wrong; do
    profile=$fed/$time/profile.json
    [[ $start == right ]] || { python3 "$wrong" "$profile" -o "$work/wrong.json"; profile=$work/wrong.json; }
    hash=$(sed -n '1s/.*"profile_hash":"\([0-9a-f]\{24\}\).*/\1/p' "$fed/$time/$start.calibration.jsonl")
    mkdir -p "$work/$time.$start/calibration"
    cp "$fed/$time/$start.calibration.jsonl" "$work/$time.$start/calibration/$hash.jsonl"
    export SLUICE_HOME=$work/$time.$start
    for effort in "$@"; do
      echo "$time, learnt from the $start start, effort $effort: $("$sluice" plan "${job[@]}" --machine "$profile" --effort "$effort" --json | step)"
    done
    echo "  the right start's plan: $("$sluice" predict "${job[@]}" --machine "$profile" --plan "$fed/$time/right.plan.json" --json | step)"
  done
done
