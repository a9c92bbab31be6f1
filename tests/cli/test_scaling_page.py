"""The page of `predict --scaling`: curves of tokens/s and efficiency against hosts."""

import re
from xml.etree import ElementTree

JOB = ["--model", "qwen2.5-0.5b", "--seq-len", "1024", "--batch-size", "32", "--machine", "2x-h100-sxm", "--nic", "100GbE"]


def curves(page, name):
    """Points of a plot's curves, strong and then weak, in pixels, and what each says."""
    svg = re.search(rf'<svg [^>]*aria-label="{name}".*?</svg>', page).group()
    tree = ElementTree.fromstring(svg)
    lines = [[tuple(map(float, point.split(","))) for point in each.get("points").split()] for each in tree.iter("polyline")]
    return lines, [each.text for each in tree.iter("title")]


def test_the_page_has_the_curves_of_the_numbers(run_sluice, tmp_path):
    found = run_sluice("predict", *JOB, "--scaling", "1,2,4", "--html", "scaling.html", "--json").json()["scaling"]
    page = (tmp_path / "scaling.html").read_text()
    assert "http" not in page
    speeds, told = curves(page, "tokens/s against hosts")
    for curve, kind in zip(speeds, ("strong", "weak")):
        points = [each for each in found[kind] if each["step_s"] is not None]
        assert len(curve) == len(points) == 3
        # Hosts double from point to point on a logarithmic axis; more tokens/s are higher up.
        assert abs((curve[1][0] - curve[0][0]) - (curve[2][0] - curve[1][0])) < 0.2
        for (_, y), (_, next_y), point, following in zip(curve, curve[1:], points, points[1:]):
            assert (next_y < y) == (following["tokens_per_s"] > point["tokens_per_s"])
        for point in points:
            assert any(text.startswith(f"{kind}, {point['hosts']} host") and f"{point['tokens_per_s']:.0f} tokens/s" in text for text in told)
    efficiencies, told = curves(page, "efficiency against hosts")
    assert [len(curve) for curve in efficiencies] == [3, 3]
    assert efficiencies[0][0] == efficiencies[1][0]  # Both begin with one host.
    assert any(f"{100 * found['weak'][1]['efficiency']:.0f} %" in text for text in told)
    for point in found["strong"] + found["weak"]:
        assert f"<td class=\"n\">{point['tokens_per_s']:.0f}</td>" in page


def test_curves_are_those_of_a_scaling(refuses):
    refuses(["predict", *JOB, "--html", "page.html"], "--html: writes the curves of --scaling")
