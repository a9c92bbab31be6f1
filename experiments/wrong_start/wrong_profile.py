#!/usr/bin/env python3
"""Writes a machine profile that is wrong in a known way: copies at half their rate and matrix products at twice theirs.

usage: wrong_profile.py PROFILE.json -o WRONG.json [--copies 0.5] [--products 2]
"""
import argparse
import json

COPIES = ("h2d_bytes_per_s", "d2h_bytes_per_s", "h2d_duplex_bytes_per_s", "d2h_duplex_bytes_per_s")
PRODUCTS = ("gemm_ceiling_flop_per_s", "peak_bf16_flop_per_s")


def distort(profile: dict, copies: float, products: float) -> dict:
    facts = profile["facts"]
    for names, factor in ((COPIES, copies), (PRODUCTS, products)):
        for name in names:
            if name in facts:
                scale(facts[name], factor)
    for point in profile.get("gemm", []):
        scale(point["rate_flop_per_s"], products)
    profile["name"] += "-wrong"
    return profile


def scale(fact: dict, factor: float) -> None:
    fact["value"] *= factor
    fact["note"] = f"wrong on purpose: {factor:g} x the value of: {fact.get('note', '')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--copies", type=float, default=0.5)
    parser.add_argument("--products", type=float, default=2.0)
    arguments = parser.parse_args()
    with open(arguments.profile, encoding="utf-8") as file:
        profile = json.load(file)
    with open(arguments.output, "w", encoding="utf-8") as file:
        json.dump(distort(profile, arguments.copies, arguments.products), file, indent=1)


if __name__ == "__main__":
    main()
