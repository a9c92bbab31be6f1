"""Rates of CPU updates in recorded runs. spans.py FOLDER...: each with dump.txt (own-costs.patch, DUMP=) of a replay, own.out (its output with
ORACLE=u QUICKER=1.5) and profile.json. Prints, of every run: parameters updated a step, the share of it that updates take, and the rate alone that
makes simulated updates take what they took, over the profile's rate for that thread count; of every thread count: what updates reached with no copies, copies to the
device, from it, both (least squares over tasks by shares of their time)."""
import bisect
import collections
import json
import math
import re
import sys

import numpy as np

def load(f):
    runs=[];cur=None
    for l in open(f):
        w=l.split(' ')
        if w[0]=='RUN':
            cur=dict(name=w[1],threads=int(w[3]),period=float(w[5]),I=[],M=collections.defaultdict(list),S=[],A={}); runs.append(cur)
        elif w[0]=='I': cur['I'].append((w[1],w[2],float(w[3])))
        elif w[0]=='A': cur['A'][int(w[1])]=(float(w[2]),float(w[3]))
        else:
            t=(int(w[2]),int(w[3]),w[4],int(w[5]),int(w[6]),int(w[7]),int(w[8]))
            (cur['M'][int(w[1])] if w[0]=='M' else cur['S']).append(t+(int(w[1]),))
    return runs
def lanespans(tasks,lane):
    sp=sorted((t[5],t[6]) for t in tasks if t[1]==lane and t[6]>t[5])
    return sp
def merge(sp):
    out=[]
    for a,b in sp:
        if out and a<=out[-1][1]: out[-1][1]=max(out[-1][1],b)
        else: out.append([a,b])
    return out
def inter(a,b):
    i=j=0;out=[]
    while i<len(a) and j<len(b):
        lo=max(a[i][0],b[j][0]);hi=min(a[i][1],b[j][1])
        if lo<hi: out.append([lo,hi])
        if a[i][1]<b[j][1]: i+=1
        else: j+=1
    return out
def share(sp,starts,a,b):
    k=max(0,bisect.bisect_right(starts,a)-1);tot=0
    while k<len(sp) and sp[k][0]<b:
        tot+=max(0,min(b,sp[k][1])-max(a,sp[k][0]));k+=1
    return tot/(b-a)
def states(tasks,lane):
    """rows for tasks of lane: (task, shares none,h2d,d2h,both)"""
    H=merge(lanespans(tasks,1));D=merge(lanespans(tasks,2));B=inter(H,D)
    hs=[x[0] for x in H];ds=[x[0] for x in D];bs=[x[0] for x in B]
    rows=[]
    for t in tasks:
        if t[1]!=lane or t[4]<=0 or t[6]<=t[5]: continue
        h=share(H,hs,t[5],t[6]);d=share(D,ds,t[5],t[6]);b=share(B,bs,t[5],t[6])
        rows.append((t,1-h-d+b,h-b,d-b,b))
    return rows

def rates_by_company(runs):
    acc = collections.defaultdict(list)
    for r in runs:
        tasks = [t for step in sorted(r['M']) for t in r['M'][step]]
        for x in states(tasks, 3):
            t = x[0]
            if 0 < t[7] < len(r['M']) - 1 and t[4] > 5e6:
                acc[r['threads']].append((t[4] / (t[6] - t[5]),) + x[1:])
    for threads, rows in sorted(acc.items()):
        rows = np.array(rows)
        shares, y = rows[:, 1:], rows[:, 0]
        known, w = shares.sum(0) > 3, np.ones(len(y))
        for _ in range(10):
            c = np.linalg.lstsq(shares[:, known] * w[:, None], y * w, rcond=None)[0]
            miss = y - shares[:, known] @ c
            w = 1 / np.sqrt(np.maximum(1, abs(miss) / (1.5 * 1.48 * np.median(abs(miss)))))
        full = np.full(4, np.nan)
        full[known] = c
        print(f"  {threads:2d} threads: none, h2d, d2h, both {np.round(full, 2)} G/s; tasks {shares.sum(0).round(0)}")


def main():
    for folder in sys.argv[1:]:
        print('==', folder)
        profile = {e['threads']: e['rate_per_s']['value'] / 1e9 for e in json.load(open(folder + '/profile.json'))['update']}
        found = [re.match(r'LONE (\S+) t\d+ busy ([\d.]+) predicted/own ([\d.]+)', line) for line in open(folder + '/own.out')]
        ratio = {m[1]: (float(m[2]), float(m[3])) for m in found if m}
        runs, logs = load(folder + '/dump.txt'), []
        for r in runs:
            busy, slower = ratio.get(r['name'], (0, 1))
            if busy < 0.05:
                continue
            updates = [t for t in r['S'] if t[1] == 3 and t[4] > 2e6 and t[7] == 1]
            parameters = sum(t[4] for t in updates)
            rate = parameters / sum(r['A'][t[0]][0] for t in updates) / 1e9 / slower
            logs.append((r['threads'], math.log(rate / profile[r['threads']]), math.log(parameters)))
            print(f"{r['name']:18s} {r['threads']:2d} threads, {parameters / 1e9:5.2f} G parameters, busy {busy:.2f}, own / profile {rate / profile[r['threads']]:.3f}")
        y = np.array([one[1] for one in logs])
        print(f"  {len(y)} runs: mean of logarithms {y.mean():+.3f}, deviation {y.std():.3f}, correlation with parameters {np.corrcoef(y, [one[2] for one in logs])[0, 1]:+.2f}")
        for threads in sorted({one[0] for one in logs}):
            v = [one[1] for one in logs if one[0] == threads]
            print(f"  {threads:2d} threads, {len(v)} runs: {np.mean(v):+.3f}")
        rates_by_company(runs)


main()
