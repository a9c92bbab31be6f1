# gaps of `sluice plan --seconds S` by the clock
while read model machine host hbm; do
  for s in 0.5 5; do
    limits=(); [[ $host == - ]] || limits+=(--host "$host"); [[ $hbm == - ]] || limits+=(--hbm "$hbm")
    began=$(date +%s.%N)
    sluice plan --model $model --machine $machine --seq-len 4096 --batch-size 16 "${limits[@]}" --seconds $s --json 2>/dev/null > plan.json
    wall=$(echo "$(date +%s.%N) - $began" | bc)
    python3 -c 'import json,sys; d=json.load(open("plan.json")); print("%-15s %-9s %-7s %-7s --seconds %-4s wall %5.2f s  gap %5.2f %%  step %9.3f s" % (*sys.argv[1:6], float(sys.argv[6]), 100*d["optimality_gap"], d["step_s"]))' $model $machine $host $hbm $s $wall
  done
done <<'END'
qwen2.5-7b h200 - -
qwen2.5-7b h200-64c - -
qwen2.5-14b h200-64c - -
qwen2.5-32b h200-64c 2TiB -
llama-3.1-70b h200-64c 2TiB -
llama-3.1-405b h200-64c 8TiB -
qwen2.5-7b h100-sxm - -
qwen2.5-14b h100-sxm - -
qwen2.5-32b h100-sxm 2TiB -
llama-3.1-70b h100-sxm 2TiB -
llama-3.1-405b h100-sxm 8TiB -
qwen2.5-7b gh200 - -
qwen2.5-14b gh200 - -
qwen2.5-32b gh200 2TiB -
llama-3.1-70b gh200 2TiB -
qwen2.5-7b rtx-4090 - -
llama-3.1-8b rtx-4090 256GiB -
qwen2.5-14b rtx-4090 512GiB -
qwen2.5-32b rtx-4090 2TiB -
qwen2.5-7b h200 - 24GiB
qwen2.5-7b h200 - 12GiB
qwen2.5-14b h200 - -
END
