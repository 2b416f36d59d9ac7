"""One look: the same colour for the same synthesizer everywhere, told apart by all eyes, on light and dark."""

from __future__ import annotations

from collections.abc import Sequence

CONFIDENTIAL = "confidential"
SYNTHETIC = "synthetic"
COLOURS = {
    CONFIDENTIAL: "#757575",
    "Unweighted": "#56b4e9",
    "LW": "#e69f00",
    "CW": "#cc79a7",
    "SW": "#009e73",
    "LW_final": "#d55e00",
    "CW_final": "#3b6fd4",
    "BW": "#593ac3",
    "Censored": "#8c0f83",
    "BetaDivergence": "#b82c0b",
    "Histogram": "#5c4834",
    "OpenDP": "#17bc75",
    "Raked": "#b46e3c",
    SYNTHETIC: "#009e73",
}
# For labels of the user's own, in the order in which they appear.
OTHERS = ("#b8a300", "#7b5ea7", "#2f8f9d", "#aa1155", "#4433aa", "#5a5a00", "#33b5a5", "#8f8fe0")


def colours(labels: Sequence[str], like: str | None = None) -> dict[str, str]:
    """Colour of each label; those without one of their own take the next free one, the first `like`'s if that has one.

    >>> colours(["LW", "mine"]), colours(["all tables", "table 1"], "LW")
    ({'LW': '#e69f00', 'mine': '#b8a300'}, {'all tables': '#e69f00', 'table 1': '#b8a300'})
    """
    free = [label for label in labels if label not in COLOURS]
    others = [COLOURS[like], *OTHERS] if like in COLOURS else OTHERS
    given = {label: others[i % len(others)] for i, label in enumerate(free)}
    return {label: COLOURS.get(label) or given[label] for label in labels}


# Ends of a scale from -1 to 1; its middle is white. Blue and red, which all eyes tell apart.
ABOVE, BELOW = (33, 102, 172), (178, 24, 43)


def shade(value: float) -> str:
    """The colour of a number from -1 to 1; grey where there is none.

    >>> shade(0.0), shade(1.0), shade(float("nan"))
    ('#ffffff', '#2166ac', '#bbbbbb')
    """
    if value != value:
        return "#bbbbbb"
    end, part = ABOVE if value > 0 else BELOW, min(abs(value), 1.0)
    return "#" + "".join(f"{round(255 + (channel - 255) * part):02x}" for channel in end)
