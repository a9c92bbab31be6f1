# profile.json of a study with its contention fitted again from its grid: refit.py PROFILE FIT OUT
import json, sys
profile, fit, out = sys.argv[1:]
p, f = json.load(open(profile)), json.load(open(fit))
for name in ("dram_bytes_per_s", "h2d_dram", "d2h_dram", "h2d_weight", "d2h_weight"):
    p["facts"][name] = f["facts"][name]
fitted = {(e["on"], e["from"]) for e in f["interference"]}
p["interference"] = [e for e in p["interference"] if (e["on"], e["from"]) not in fitted] + f["interference"]
rates = {e["threads"]: e for e in f["update"]}
p["update"] = [rates.get(e["threads"], e) for e in p["update"]]
json.dump(p, open(out, "w"), indent=1)
