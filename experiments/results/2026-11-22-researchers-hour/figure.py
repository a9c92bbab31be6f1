import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt
import pandas

cells = pandas.read_csv("cells.csv")
cells["tokens"] = 1024 * cells["context"].str.split().str[0].astype(int)
figure, ax = plt.subplots(figsize=(3.4, 2.4), layout="constrained")
one = cells[cells["buffers"] == 1].set_index("tokens")["step_s"]
for (buffers, part), marker in zip(cells[cells["buffers"] > 1].groupby("buffers"), "osD"):
    part = part.set_index("tokens")
    ax.plot(part.index, 100 * (one / part["step_s"] - 1), marker=marker, markersize=4, label=f"{buffers} buffers")
ax.set_xscale("log", base=2)
ax.set(xlabel="sequence length (tokens)", ylabel="speed over one buffer (%)", ylim=0)
ax.legend(frameon=False)
figure.savefig("figure.svg")
