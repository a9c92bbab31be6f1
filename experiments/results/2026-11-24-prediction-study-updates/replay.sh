#!/usr/bin/env bash
# Today's model on the records, runs that taught it among what is predicted (again-*): replay.sh PREDICTION_STUDY [machine.dram=1.15x]
set -euo pipefail
study=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/profile.json" "$work"
tar -xJf "$here/rec.tar.xz" -C "$work"
{
  sed "s#^defaults .*#&${2:+ --set $2}#" "$here/runs"
  sed -n 's/^\(teach-[^ ]*\)  *calibrate/again-\1 predict/p' "$here/runs"
} > "$work/runs"
for record in "$work"/rec/teach-*.json; do cp "$record" "$work/rec/again-$(basename "$record")"; done
cd "$work"
"$study" runs --replay rec --misses 4
