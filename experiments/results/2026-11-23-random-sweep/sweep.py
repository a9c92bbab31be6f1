import json, os, random, subprocess, sys, time, re
import jsonschema
SLUICE = os.environ.get("SLUICE", "build/bin/sluice")
SCH = "docs/schemas/"
def schema(n): return jsonschema.Draft202012Validator(json.load(open(SCH+n+".schema.json")))
VP, VR, VB, VPL = schema("plan-result"), schema("predict"), schema("buy"), schema("plan")
env = dict(os.environ, SLUICE_HOME=".sweep-home")
MODELS = {"bytes-10m":.0096,"bytes-2m":.0025,"gpt-oss-20b":20.9,"llama-3.1-405b":405,"llama-3.1-70b":70,"llama-3.1-8b":8,"llama-3.2-1b":1.24,"llama-3.2-3b":3.2,"mistral-7b":7.2,"mistral-large":122,"mixtral-8x7b":46.7,"qwen2.5-0.5b":.5,"qwen2.5-1.5b":1.54,"qwen2.5-14b":14.8,"qwen2.5-32b":32.8,"qwen2.5-3b":3.1,"qwen2.5-3b-untied":3.4,"qwen2.5-72b":72.7,"qwen2.5-7b":7.6,"qwen3-0.6b":.6,"qwen3-1.7b":1.7,"qwen3-14b":14.8,"qwen3-30b-a3b":30.5,"qwen3-32b":32.8,"qwen3-4b":4,"qwen3-8b":8.2}
m = json.loads(subprocess.run([SLUICE,"machines","--json"],capture_output=True,text=True,env=env).stdout)
MACH = [x["name"] for x in m["machines"] if x["name"]!="here"]
parts = json.loads(subprocess.run([SLUICE,"machines","parts","--json"],capture_output=True,text=True,env=env).stdout)
def run(args, limit=120):
    t=time.time()
    try:
        p=subprocess.run(["nice","-n","5",SLUICE]+args,capture_output=True,text=True,env=env,timeout=limit)
        return p.returncode,p.stdout,p.stderr,time.time()-t
    except subprocess.TimeoutExpired as e: return 999,"","timeout",time.time()-t
def gib(x): return "%.6gGiB"%x
def logu(r,a,b): return a*(b/a)**r.random()
def draw(r):
    model=r.choice(list(MODELS)); P=MODELS[model]
    a=["--model",model]
    if r.random()<.75: a+=["--machine",r.choice(MACH)]
    else:
        g=r.choice(parts["gpus"])["name"]; a+=["--gpu",g]
        if r.random()<.7:
            c=r.choice(parts["cpus"]); a+=["--cpu",c["name"]]
        if r.random()<.5: a+=["--ssd",r.choice(["1x","2x"])+" "+r.choice(["gen3","gen4","gen5","gen4-dc"])]
    seq=2**r.randint(7,19) if r.random()<.8 else int(logu(r,128,524288))
    mb=r.choice([1,1,1,2,4,8]); 
    n=r.choice([1,1,2,3,4,8,16,32])
    # keep the tokens within reason
    while seq*mb*n>2**23 and (n>1 or mb>1):
        if n>1: n//=2
        else: mb//=2
    a+=["--seq-len",str(seq),"--batch-size",str(mb*n),"--micro-batch",str(mb)]
    if r.random()<.3: a+=["--loss-chunk",str(r.choice([256,512,2048,4096,100000]))]
    opt={}
    if r.random()<.25: a+=["--residency","host"]
    if r.random()<.45: opt["--hbm"]=logu(r,2,180)
    if r.random()<.55: opt["--host"]=logu(r,.5,2) * max(P,1)*r.choice([4,12,16,20])/1.07
    if r.random()<.25: opt["--disk"]=logu(r,.3,3)*max(P,1)*10
    for k,v in opt.items(): a+=[k,gib(v)]
    if r.random()<.15: a+=["--threads",str(r.choice([1,2,3,8,64]))]
    if r.random()<.2: a+=["--link","%.4g GB/s"%logu(r,2,80)]
    if r.random()<.2: a+=["--gradient-wire","bf16"]
    if r.random()<.2: a+=["optimizer.clip=off"]
    return a,opt
def err_ok(e): 
    L=[x for x in e.strip().split("\n") if x]
    return len([x for x in L if x.startswith("sluice: error: ")])==1 and all(x.startswith("sluice:") for x in L)
def check(rc,out,e,t,V,faults,tag,limit=30):
    d=None
    if t>limit: faults.append((tag,"slow",round(t,1)))
    if rc not in (0,2,3): faults.append((tag,"rc",rc,e[-300:])); return None
    if rc==2:
        if not err_ok(e): faults.append((tag,"stderr",e[-300:]))
        return None
    if e.strip(): faults.append((tag,"stderr0",e[-200:]))
    try: d=json.loads(out)
    except Exception as x: faults.append((tag,"json",str(x))); return None
    errs=[x.message[:150]+" at "+"/".join(map(str,x.path)) for x in V.iter_errors(d)]
    if errs: faults.append((tag,"schema",errs[:3]))
    if rc==0:
        if not d["fits"]: faults.append((tag,"rc0 not fits"))
        if d["bound_s"]>d["step_s"]*(1+1e-9): faults.append((tag,"BOUND",d["bound_s"],d["step_s"]))
        if d.get("optimality_gap",0)<0: faults.append((tag,"GAP",d["optimality_gap"]))
        for k,v in d["memory"].items():
            if v["peak_bytes"]>v["capacity_bytes"]: faults.append((tag,"PEAK",k,v["peak_bytes"],v["capacity_bytes"]))
        s=d["compute_s"]+sum(d["stalls"].values())
        if abs(s-d["step_s"])>1e-6*d["step_s"]+1e-8: faults.append((tag,"stalls sum",s,d["step_s"]))
        if "explanation" in d and d["explanation"]:
            w=d["explanation"]["waterfall"]; s=w["bound_s"]+sum(w["parts_s"].values())
            if abs(s-d["step_s"])>2e-9+1e-9*d["step_s"]: faults.append((tag,"waterfall sum",s,d["step_s"]))
            for k,v in w["parts_s"].items():
                if v<0: faults.append((tag,"negative part",k,v))
    if rc==3:
        if d["fits"]: faults.append((tag,"rc3 fits"))
        if not d.get("tier") or not d.get("short_bytes",0)>0: faults.append((tag,"no tier/short",d.get("tier"),d.get("short_bytes")))
        if not d.get("remedies"): faults.append((tag,"no remedies"))
    return d
def split(s):
    import shlex; return shlex.split(s)
def one(seed):
    r=random.Random(seed); a,opt=draw(r); faults=[]; rec={"seed":seed,"args":a}
    eff=["--seconds","0.3"] if r.random()<.2 else ["--effort","0.05"]
    if r.random()<.06: # free sizes / fronts
        eff+=r.choice([["--free","micro_batch,loss_chunk"],["--hide-link"],["--front","hbm,host,tokens"]])
    rec["eff"]=eff; pf=".sweep_plan_%s.json"%os.getpid()
    if os.path.exists(pf): os.remove(pf)
    rc,out,e,t=run(["plan"]+a+eff+["--json","-o",pf]); d=check(rc,out,e,t,VP,faults,"plan")
    rec.update(rc=rc,t=round(t,2),err=e[:200] if rc==2 else "")
    if rc==2: rec["faults"]=faults; return rec
    if d and rc==0:
        rec.update(step=d["step_s"],gap=d["optimality_gap"],bound_by=d["bound_by"])
        try:
            for x in VPL.iter_errors(json.load(open(pf))): faults.append(("planfile","schema",x.message[:150]))
        except Exception as x: faults.append(("planfile",str(x)))
        if "--free" not in eff:
            rc2,o2,e2,t2=run(["predict"]+a+["--json","--plan",pf]); d2=check(rc2,o2,e2,t2,VR,faults,"predict")
            if not d2 or rc2!=0: faults.append(("predict","rc",rc2,e2[:200]))
            else:
                for k in ("step_s","plan_hash","job_hash","profile_hash","cost_model_hash","numerics_id","memory"):
                    if d2[k]!=d[k]: faults.append(("predict","differs",k,str(d[k])[:70],str(d2[k])[:70]))
        # search's own bound holds against variants: a slower machine's step must be >= this bound
        vs=["host","hbm","link","predict"]; r.shuffle(vs)
        for v in vs[:2]:
            b=list(a); cap=d["memory"]
            def setopt(b,k,val):
                if k in b: b[b.index(k)+1]=val
                else: b+= [k,val]
            if v=="predict":
                rc3,o3,e3,t3=run(["predict"]+a+["--json"]); d3=check(rc3,o3,e3,t3,VR,faults,"predict-search")
                if rc3!=0: faults.append(("predict-search","rc",rc3,e3[:200]))
                elif d3["step_s"]>d["step_s"]*1.03: faults.append(("predict-search","slower than plan",d["step_s"],d3["step_s"]))
                if d3 and rc3==0 and d3["step_s"]<d["step_s"]*(1-d["optimality_gap"])*(1-1e-9): faults.append(("predict-search","BELOW BOUND",d["step_s"],d["optimality_gap"],d3["step_s"]))
                continue
            if v=="host":
                if "--host" not in opt: continue
                setopt(b,"--host",gib(opt["--host"]*1.25))
            if v=="hbm":
                if "--hbm" not in opt: continue
                setopt(b,"--hbm",gib(opt["--hbm"]*1.25))
            if v=="link":
                if "--link" not in a: continue
                i=b.index("--link"); b[i+1]="%.4g GB/s"%(float(b[i+1].split()[0])*1.5)
            if "--seconds" in eff: continue
            rc3,o3,e3,t3=run(["plan"]+b+["--effort","0.05","--json"]); d3=check(rc3,o3,e3,t3,VP,faults,"more "+v)
            if rc3!=0: faults.append(("more "+v,"NOFIT",rc3,e3[:200])); continue
            if d3["step_s"]>d["step_s"]*1.0005: rec.setdefault("mono",[]).append((v,d3["step_s"]/d["step_s"]-1,d["optimality_gap"],d3["optimality_gap"]))
            if d3["step_s"]>d["step_s"]*1.03: faults.append(("more "+v,"slower",d["step_s"],d3["step_s"]))
            # bound of better machine must hold for worse machine's plan
            if d3["step_s"]*(1-d3["optimality_gap"])>d["step_s"]*(1+1e-9): faults.append(("more "+v,"BOUND OF BETTER ABOVE STEP",d["step_s"],d3["step_s"],d3["optimality_gap"]))
    if d and rc==3:
        rec.update(tier=d["tier"],short=d["short_bytes"],nrem=len(d["remedies"]),rem=[(x["setting"],x["step_s"]) for x in d["remedies"]])
        # same refusal by predict
        for x in d["remedies"]:
            b=a+split(x["setting"])
            rc4,o4,e4,t4=run(["plan"]+b+["--effort","0.05","--json"]); d4=check(rc4,o4,e4,t4,VP,faults,"remedy "+x["setting"])
            if rc4!=0: faults.append(("remedy "+x["setting"],"REMEDY FAILS",rc4,e4[:200]))
            elif d4["step_s"]>x["step_s"]*1.02: faults.append(("remedy "+x["setting"],"step above promised",x["step_s"],d4["step_s"]))
    rec["faults"]=faults
    return rec
if __name__=="__main__":
    lo,hi=int(sys.argv[1]),int(sys.argv[2]); f=open(sys.argv[3],"a")
    for s in range(lo,hi):
        if time.strftime("%H:%M")>"14:20": break
        try: rec=one(s)
        except Exception as x: rec={"seed":s,"script":repr(x)}
        f.write(json.dumps(rec)+"\n"); f.flush()
