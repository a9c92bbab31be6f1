"""The eleven blind sittings of 26 November: the ninth's folder replays them, with what was taught before later parts taught before all."""

import importlib.util
import pathlib

source = pathlib.Path(__file__).resolve().parents[1] / "2026-11-26-prediction-study-family" / "sittings.py"
spec = importlib.util.spec_from_file_location("nine_sittings", source)
nine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(nine)
SITTINGS = (*nine.SITTINGS, "-part", "-parts")
replayed = nine.replayed
