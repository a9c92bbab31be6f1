import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import pandas

cells = pandas.read_csv("cells.csv")
cells["gib"] = cells["host"].str.split().str[0].astype(int)
figure, ax = plt.subplots(figsize=(3.4, 2.6), layout="constrained")  # one column
for (drives, part), marker, shift in zip(cells.groupby("drives", sort=False), "osD", (0.97, 1, 1.03)):
    part = part.sort_values("gib")
    # A plan for less memory runs in more: where a search missed it, the cell with less memory has it.
    best = [part[part["gib"] <= gib]["step_s"].idxmin() for gib in part["gib"]]
    step, low, high = (part.loc[best, column].to_numpy() for column in ("step_s", "step_s_low", "step_s_high"))
    drawn = ax.errorbar(part["gib"] * shift, step, yerr=[step - low, high - step], marker=marker, markersize=4,
                        lw=1.2, elinewidth=0.8, capsize=2, label=drives)  # fmt: skip
    ax.plot(part["gib"] * shift, part["step_s"], marker=marker, markersize=4, ls="", mfc="none", mew=0.7, color=drawn[0].get_color())
compute = cells["bound_s"].min()
ax.axhline(compute, color="0.5", lw=0.8, ls="--")
ax.text(256, compute - 2, "bound by compute", fontsize=7, color="0.4", va="top", ha="right")
ax.set_xscale("log", base=2)
ax.set_xticks([32, 64, 96, 128, 192, 256], ["32", "64", "96", "128", "192", "256"])
ax.minorticks_off()
ax.set(xlabel="host memory (GiB)", ylabel="step time (s), 90 %", ylim=0)
ax.legend(frameon=False, fontsize=7, title="NVMe drives", title_fontsize=7, loc="upper right")
figure.savefig("figure.svg")
