"""A script of the ninth sitting's folder over all eleven: eleven.py all|replayed|by_updates [PREDICTION_STUDY]"""

import pathlib
import runpy
import sys

here = pathlib.Path(__file__).resolve().parent
script = here.parent / "2026-11-26-prediction-study-family" / f"{sys.argv[1]}.py"
sys.argv = [str(script), *sys.argv[2:]]
runpy.run_path(str(script), run_name="__main__")  # Its `sittings` is the one beside this file.
