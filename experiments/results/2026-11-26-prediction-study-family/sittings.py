"""The nine blind sittings of 26 November: the sixth's folder replays them."""

import importlib.util
import pathlib

source = pathlib.Path(__file__).resolve().parents[1] / "2026-11-26-prediction-study-again" / "sittings.py"
spec = importlib.util.spec_from_file_location("six_sittings", source)
six = importlib.util.module_from_spec(spec)
spec.loader.exec_module(six)
SITTINGS = (*six.SITTINGS, "-bursts", "-rounds", "-family")
replayed = six.replayed
