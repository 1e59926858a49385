"""How each picture is drawn. Readable in grey and by colour-blind readers: nothing is told by colour alone."""

import logging
from math import log
from textwrap import shorten

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # what it says of caches of fonts is no news to a user
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator, PercentFormatter  # noqa: E402

from . import series  # noqa: E402

# Okabe and Ito's colours without yellow, which white paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")
LINES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
LEVELS = {"range": ("#0072B2", "o"), "team": ("#D55E00", "s"), "lane": ("#009E73", "^"),
          "device": ("#000000", "D"), "library": ("#CC79A7", "P"), "ranks": ("#56B4E9", "v")}  # fmt: skip
ROOF = {"color": "black", "linestyle": (0, (6, 2)), "linewidth": 1.3, "zorder": 1.5}
RANGE = {"color": "#999999", "linewidth": 0.7, "zorder": 1.4}
PEAK = {**ROOF, "linestyle": "-"}
SPREAD = {"linewidth": 0.7, "zorder": 2.5}  # of samples: from quartile to quartile
BELOW, BESIDE = "below", "beside"  # where a legend stands: _caption sees to its room
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}

LOOK = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "pdf.fonttype": 42,  # text stays text
    "savefig.dpi": 200,
    "svg.hashsalt": "tessera",  # the same file from the same data
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


def _look(number):
    """Colour, marker and line style of the series of that number: no two alike among the first 84."""
    colour = COLOURS[number % len(COLOURS)]
    return {"color": colour, "marker": MARKERS[number % len(MARKERS)], "linestyle": LINES[number % len(LINES)],
            "markeredgecolor": "black", "markeredgewidth": 0.4}  # fmt: skip


def use_no_window():
    """For files only: no display is needed. A notebook keeps its own way of showing figures."""
    plt.switch_backend("Agg")


def save(figure, path):
    """Writes a picture in the format of its name's ending, the same bytes for the same data."""
    ending = path.rsplit(".", 1)[-1].lower()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending, {})
    with plt.rc_context(LOOK):
        figure.savefig(path, metadata=metadata)
    plt.close(figure)


# ----------------------------------------------------------------------------------------------------------------------
# Roofline
# ----------------------------------------------------------------------------------------------------------------------


def roofline(picture, names):
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(figsize=(7.2, 0.9 + max(3.6, 0.19 * len(picture.groups) + 0.7)))
        shown = [point for group in picture.groups for point in group.points]
        low, high = min(p.intensity for p in shown) / 2, max(p.intensity for p in shown) * 2
        copy, peak = (ceiling[1] if ceiling else None for ceiling in (picture.copy, picture.peak))
        if copy and peak:
            high = max(high, 4 * peak / copy)
        corner = peak / copy if copy and peak else high
        if copy:
            for bound in _apart(picture.copy):
                axes.plot([low, corner], [bound * low, bound * corner], **RANGE)
            axes.plot([low, corner], [copy * low, copy * corner], **ROOF)
        if peak:
            for bound in _apart(picture.peak):
                axes.plot([corner if copy else low, high], [bound, bound], **RANGE)
            axes.plot([corner if copy else low, high], [peak, peak], **PEAK)
        axes.set(xscale="log", yscale="log", xlim=(low, high), xlabel="operations per byte moved (at least)",
                 ylabel="operations per second")  # fmt: skip
        bottom = min([p.flops / p.high_seconds for p in shown] + ([copy * low] if copy else [])) / 2
        tops = [p.flops / p.low_seconds for p in shown] + ([peak] if peak else []) + ([copy * corner] if copy else [])
        top = 3 * max(tops)
        axes.set_ylim(bottom, top)
        # The fastest ones first: they keep their places, and others that coincide with them stand beside.
        order = sorted((place, number, point) for number, group in enumerate(picture.groups)
                       for place, point in enumerate(group.points))  # fmt: skip
        taken = []
        for place, number, point in order:
            look = _look(number)
            look["linestyle"] = "none"
            fill = {} if place == 0 else {"markerfacecolor": "white", "markeredgecolor": look["color"],
                                          "markeredgewidth": 0.9, "markersize": 4}  # fmt: skip
            x = low * (high / low) ** _free(
                log(point.intensity / low) / log(high / low),
                log(point.flops_per_second / bottom) / log(top / bottom),
                taken,
            )
            axes.plot([x, x], [point.flops / point.high_seconds, point.flops / point.low_seconds], color=look["color"],
                      **SPREAD)  # fmt: skip
            axes.plot(x, point.flops_per_second, zorder=4 if place == 0 else 3, **{**look, **fill})
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _operations(value)))
        handles = []
        if copy:
            of = f" (of {_bytes(picture.working_set_bytes)})" if picture.working_set_bytes else ""
            label = f"copy in {_memory(picture.place.space)}:\n{_bytes_per_second(copy)}{of}"
            handles.append(Line2D([], [], label=label, **ROOF))
        if peak:
            label = f"peak of multiply-adds, {picture.dtype}:\n{_operations(peak)}"
            handles.append(Line2D([], [], label=label, **PEAK))
        handles.append(Line2D([], [], linestyle="none", label="\nfastest variant, share of roof"))
        for number, group in enumerate(picture.groups):
            best = group.points[0]
            share = f" {_share(best)}" if best.share_of_roof is not None else ""
            label = f"{group.name}{'*' if group.small else ''}: {best.variant}{share}"
            handles.append(Line2D([], [], label=label, **{**_look(number), "linestyle": "none"}))
        handles.append(Line2D([], [], linestyle="none", marker="o", markerfacecolor="white", markeredgecolor="black",
                              markersize=4, label="hollow: the other variants"))  # fmt: skip
        figure.legend(handles=handles, loc="upper right", handletextpad=0.4, labelspacing=0.35, handlelength=2,
                      borderaxespad=0.2).set_label(BESIDE)  # fmt: skip
        _title(figure, f"Roofline, {picture.dtype}", names[picture.place], shown)
        more = "; ".join(
            filter(None, (_no_operations(picture.without_operations), "coinciding points are drawn side by side"))
        )
        if _apart(picture.copy) or _apart(picture.peak):
            more = "; ".join(filter(None, ("grey: lowest and highest ceiling of the runs", more)))
        _caption(figure, _words(picture.place, _points_of(picture.groups), picture.groups, more, bars=True))
        return figure


def _free(x, y, taken, apart=0.011, step=0.013, most=3):
    """The place beside (x, y), in parts of the axes, that is nearest to it and not taken,
    a few steps away at most; takes it."""
    places = [x + step * number * sign for number in range(most + 1) for sign in (1, -1)]
    free = (place for place in places if all(abs(place - other) > apart or abs(y - at) > apart for other, at in taken))
    place = next(free, x)
    taken.append((place, y))
    return place


def _apart(ceiling):
    """The lowest and the highest ceiling of several runs, as far as they could be seen beside the median."""
    return [bound for bound in (ceiling[0], ceiling[2]) if abs(bound / ceiling[1] - 1) > 0.05] if ceiling else []


def _memory(space):
    return "device memory" if space in ("cuda", "hip") else "main memory"


def _no_operations(names):
    return f"not shown, because no operations are counted: {', '.join(names)}" if names else ""


# ----------------------------------------------------------------------------------------------------------------------
# Time and bandwidth over size
# ----------------------------------------------------------------------------------------------------------------------


def over_size(picture, names):
    with plt.rc_context(LOOK):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4))
        aside = _asides(len(picture.variants), {p.case.size for mine in picture.variants.values() for p in mine})
        for number, (variant, mine) in enumerate(picture.variants.items()):
            sizes = [point.case.size * aside[number] for point in mine]
            seconds = [point.seconds for point in mine]
            look = _look(number)
            bars = {"capsize": 2, "elinewidth": 0.7, "capthick": 0.7}
            least = {
                **look,
                "marker": "_",
                "linestyle": "none",
                "markeredgecolor": look["color"],
                "markeredgewidth": 0.9,
            }
            hollow = {**look, "linestyle": "none", "markerfacecolor": "white", "zorder": 3}
            left.plot(sizes, [p.least_seconds_measured for p in mine], **least)
            right.plot(sizes, [p.bytes / p.least_seconds_measured for p in mine], **least)
            for x, point in zip(sizes, mine, strict=True):
                if point.noisy:
                    left.plot(x, point.seconds, **hollow)
                    right.plot(x, point.bytes_per_second, **hollow)
            slow, fast = [p.high_seconds for p in mine], [p.low_seconds for p in mine]
            left.errorbar(sizes, seconds, yerr=_bars(seconds, fast, slow), label=variant, **look, **bars)
            rates, lowest, highest = ([p.bytes / time for p, time in zip(mine, times, strict=True)]
                                      for times in (seconds, slow, fast))  # fmt: skip
            right.errorbar(sizes, rates, yerr=_bars(rates, lowest, highest), **look, **bars)
        if picture.roof:
            sizes, seconds, rates = zip(*picture.roof, strict=True)
            left.plot(sizes, seconds, label=f"roof, {_bytes_per_second(rates[-1])}", **ROOF)
            right.plot(sizes, rates, **ROOF)
        if picture.launch_seconds:
            left.axhline(picture.launch_seconds, color="#777777", linestyle=":", linewidth=1.1, label="one launch")
        sizes = sorted({point.case.size for mine in picture.variants.values() for point in mine})
        for axes in (left, right):
            _size_axis(axes, sizes)
            axes.set_yscale("log")
        left.set_title("time of a launch")
        right.set_title("least bytes over time")
        left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _seconds(value)))
        right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _bytes_per_second(value)))
        _plain_log(right)
        _legend_below(figure, left)
        shown = [point for mine in picture.variants.values() for point in mine]
        _title(figure, f"{picture.name}, {picture.dtype}", names[picture.place], shown)
        more = "; ".join(filter(None, ("dashes: least times", _aside_words(picture))))
        _caption(figure, _words(picture.place, shown, more=more, bars=True, mark="hollow"))
        return figure


def _aside_words(picture):
    return "variants are shifted sideways, so that none hides another" if len(picture.variants) > 1 else ""


def _asides(number, places):
    """A factor for each of so many series over places on a logarithmic axis, within 2 / 5 of the gap between these."""
    places = sorted(places)
    gap = min((4.0, *(after / before for before, after in zip(places, places[1:]))))
    step = min(0.06, 0.4 / max(1, number - 1))
    return [gap ** (step * (place - (number - 1) / 2)) for place in range(number)]


def _bars(values, low, high):
    """Lengths of error bars, down and up."""
    down = [max(0.0, value - bound) for value, bound in zip(values, low, strict=True)]
    up = [max(0.0, bound - value) for value, bound in zip(values, high, strict=True)]
    return [down, up]


def _size_axis(axes, sizes):
    axes.set_xscale("log", base=2)
    # Every size, or every second, third ... so that the labels have room.
    step = max(1, -(-len(sizes) // 6))
    ticks = sizes[::-1][::step][::-1]
    axes.set_xticks(ticks, [_size(size) for size in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("size (elements)")


# ----------------------------------------------------------------------------------------------------------------------
# Share of roof
# ----------------------------------------------------------------------------------------------------------------------


def shares(picture, names):
    right = 1.25  # a dot beyond it stands at the edge, with its figure

    def draw(axes, point, y, colour, marker):
        at = min(point.share_of_roof, right)
        axes.plot([0, min(at, 1.1)], [y, y], color=colour, linewidth=1.1, zorder=2)
        axes.plot([min(at, 1.1), at], [y, y], color=colour, linewidth=1.1, zorder=2,
                  linestyle="-" if point.share_of_roof <= right else ":")  # fmt: skip
        _dot(axes, at, y, colour, marker, clip_on=False)
        # From quartile to quartile; what is written stands right of that.
        worst, best = (min(point.share_of_roof * point.seconds / time, right)
                       for time in (point.high_seconds, point.low_seconds))  # fmt: skip
        axes.plot([worst, best], [y, y], color="black", marker="|", markersize=5, **SPREAD)
        _figure_beside(axes, _share(point), max(at, best), y)

    def scale(axes):
        axes.axvline(1, **ROOF)
        axes.set_xlim(0, right)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.set_xlabel("share of the roof")

    with plt.rc_context(LOOK):
        figure = _line_per_variant(picture.groups, 3.9, draw, scale)
        _levels_below(figure, picture.groups, Line2D([], [], **ROOF, label="roof"))
        some_points = _points_of(picture.groups)
        _title(figure, f"Share of the roof, {picture.dtype}", names[picture.place], some_points)
        beyond = any(point.share_of_roof > 1.005 for point in some_points)
        more = "beyond 125%: at the edge, with its figure" if beyond else ""
        if beyond and not _doubts(some_points):
            more = f"beyond 100%: caches help; {more}"
        _caption(figure, _words(picture.place, some_points, picture.groups, more, bars=True))
        return figure


def energies(picture, names):
    some_points = _points_of(picture.groups)
    all_joules = [point.joules_per_element for point in some_points]
    left, right = min(all_joules) / 2, max(all_joules) * 2

    def draw(axes, point, y, colour, marker):
        at = point.joules_per_element
        axes.plot([left, at], [y, y], color=colour, linewidth=1.1, zorder=2)
        _dot(axes, at, y, colour, marker)
        _figure_beside(axes, _energy(point), at, y)

    def scale(axes):
        axes.set_xscale("log")
        axes.set_xlim(left, right * (right / left))  # the figures stand right of the dots
        _plain_log(axes, "x")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _joules(value)))
        axes.set_xlabel("energy per element of the largest field")

    with plt.rc_context(LOOK):
        figure = _line_per_variant(picture.groups, 4.2, draw, scale)
        _levels_below(figure, picture.groups)
        _title(figure, f"Energy, {picture.dtype}", names[picture.place], some_points)
        words = [_built(picture.place), "whole board or processor packages, idle power included"]
        if any(group.small for group in picture.groups):
            words.append("* under 16 MiB and 16 M operations: caches and launches count more than memory")
        _caption(figure, words)
        return figure


def _line_per_variant(groups, width, draw, scale):
    """Returns a figure with columns of mini-apps, `width` inches each, and a line per variant. `draw(axes, point, y,
    colour, marker)` draws a line; `scale(axes)` sets the horizontal axis."""
    columns = _columns(groups)
    lines = max(sum(len(group.points) + 1.4 for group in column) for column in columns)
    size = width * max(len(columns), 1.7), 0.9 + 0.165 * lines
    figure, panels = plt.subplots(1, len(columns), squeeze=False, figsize=size)
    for axes, column in zip(panels[0], columns, strict=True):
        y, ticks, labels = 0.0, [], []
        for group in column:
            y += 1.0
            axes.annotate(group.name + ("*" if group.small else ""), (0, y), xytext=(-4, 0), ha="right", va="center",
                          xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8,
                          fontweight="bold")  # fmt: skip
            for point in group.points:
                y += 1.0
                draw(axes, point, y, *LEVELS.get(point.level, ("#777777", "h")))
                ticks.append(y)
                labels.append(point.variant)
            y += 0.4
        scale(axes)
        axes.set_ylim(lines + 0.6, 0.2)
        axes.set_yticks(ticks, labels, fontsize=7)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
    return figure


def _dot(axes, at, y, colour, marker, **more):
    axes.plot(at, y, marker=marker, color=colour, markeredgecolor="black", markeredgewidth=0.4, zorder=3, **more)


def _figure_beside(axes, text, at, y):
    axes.annotate(text, (at, y), xytext=(5, 0), textcoords="offset points", va="center", fontsize=7, bbox=PAPER)


def _levels_below(figure, groups, *more):
    """The legend of the levels that are shown, and of `more`."""
    present = {point.level for point in _points_of(groups)}
    handles = [
        Line2D([], [], color=colour, marker=marker, markeredgecolor="black", markeredgewidth=0.4, label=level)
        for level, (colour, marker) in LEVELS.items()
        if level in present
    ]
    handles.extend(more)
    _below(figure, handles, [handle.get_label() for handle in handles], len(handles))


def _energy(point):
    words = [_joules(point.joules_per_element)]
    if point.joules_per_flop:
        words.append(f"{_joules(point.joules_per_flop)}/FLOP")
    if point.watts:
        words.append(f"{point.watts:.3g} W")
    return ", ".join(words)


def _joules(value):
    return _scaled(value, ((1, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ"), (1e-12, "pJ"), (1e-15, "fJ")))


def _columns(groups, most_lines=48):
    """The groups in columns of about equal length, a mini-app never parted from its variants."""
    lines = sum(len(group.points) + 1 for group in groups)
    number = -(-lines // most_lines)
    columns, filled = [[]], 0
    for group in groups:
        if columns[-1] and filled + (len(group.points) + 1) / 2 > len(columns) * lines / number:
            columns.append([])
        columns[-1].append(group)
        filled += len(group.points) + 1
    return columns


# ----------------------------------------------------------------------------------------------------------------------
# Ranks
# ----------------------------------------------------------------------------------------------------------------------


def scaling(picture, names):
    with plt.rc_context(LOOK):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4))
        ranks = sorted({values[0] for mine in picture.variants.values() for values in mine})
        aside = _asides(len(picture.variants), ranks)
        bars = {"capsize": 2, "elinewidth": 0.7}
        for number, (variant, mine) in enumerate(picture.variants.items()):
            where = [values[0] * aside[number] for values in mine]
            look = _look(number)
            _, seconds, fast, slow, speedups, efficiencies = zip(*mine, strict=True)

            def spread(values):
                """Of what is proportional to the speed: what the quartiles of the times make of it."""
                return _bars(
                    values,
                    *(
                        [value * time / bound for value, time, bound in zip(values, seconds, bounds, strict=True)]
                        for bounds in (slow, fast)
                    ),
                )

            if picture.weak:
                left.errorbar(where, seconds, yerr=_bars(seconds, fast, slow), label=variant, **bars, **look)
            else:
                left.errorbar(where, speedups, yerr=spread(speedups), label=variant, **bars, **look)
            right.errorbar(where, efficiencies, yerr=spread(efficiencies), **bars, **look)
        if picture.weak:
            first = min(mine[0][1] for mine in picture.variants.values())
            left.axhline(first, label="ideal", **ROOF)
            left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _seconds(value)))
            left.set_ylim(bottom=0)
            left.set_title("time of a launch")
        else:
            left.plot(ranks, ranks, label="ideal", **ROOF)
            left.set_yscale("log", base=2)
            left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            left.set_title("speedup")
        right.axhline(1, **ROOF)
        right.set_ylim(0, max(1.1, 1.05 * max(v[5] for mine in picture.variants.values() for v in mine)))
        right.yaxis.set_major_formatter(PercentFormatter(1))
        right.set_title("efficiency")
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.set_xticks(ranks, [str(rank) for rank in ranks])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xlabel("ranks")
        _legend_below(figure, left)
        kind = "weak scaling" if picture.weak else "strong scaling"
        of = f"{_size(picture.size)} elements{' per rank' if picture.weak else ''}"
        _title(
            figure, f"{picture.name}, {kind}, {of}, {picture.dtype}", names[picture.place], picture.points, sizes=False
        )
        _caption(figure, _words(picture.place, picture.points, more=_aside_words(picture), bars=True, mark=""))
        return figure


# ----------------------------------------------------------------------------------------------------------------------
# Machines
# ----------------------------------------------------------------------------------------------------------------------


def comparison(picture, names):
    with plt.rc_context(LOOK):
        figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(7.2, 1.1 + 0.2 * max(len(picture.rows), 3)))
        highest = 1.0
        for y, (_, _, found) in enumerate(picture.rows):
            rates = [point.bytes_per_second for point in found if point]
            left.plot([min(rates), max(rates)], [y, y], color="#999999", linewidth=0.9, zorder=1)
            for number, point in enumerate(found):
                if point is None:
                    continue
                look = {**_look(number), "linestyle": "none"}
                if point.noisy:
                    look["markerfacecolor"] = "white"
                at = y + 0.12 * (number - (len(found) - 1) / 2)  # beside each other, so that none hides another
                left.plot([point.bytes / point.high_seconds, point.bytes / point.low_seconds], [at, at],
                          color=look["color"], **SPREAD)  # fmt: skip
                left.plot(point.bytes_per_second, at, **look)
                if point.share_of_roof is not None:
                    right.plot(point.share_of_roof, at, **look)
                    highest = max(highest, point.share_of_roof)
        sizes = {size for _, size, _ in picture.rows}
        labels = [name if len(sizes) == 1 else f"{name}, {_size(size)}" for name, size, _ in picture.rows]
        left.set_yticks(range(len(picture.rows)), labels, fontsize=7)
        left.set(ylim=(len(picture.rows) - 0.4, -0.6), xscale="log", xlabel="least bytes over time")
        left.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _bytes_per_second(value)))
        _plain_log(left, "x")
        right.set(xlim=(0, 1.08 * min(highest, 4)), xlabel="share of its own roof")
        right.axvline(1, **ROOF)
        right.xaxis.set_major_formatter(PercentFormatter(1))
        for axes in (left, right):
            axes.tick_params(axis="y", length=0)
        handles = [
            Line2D([], [], label=names[place], **{**_look(number), "linestyle": "none"})
            for number, place in enumerate(picture.places)
        ]
        _below(figure, handles, [handle.get_label() for handle in handles], 1)
        what = "" if picture.variants else ", each one's fastest variant"
        shown = [point for _, _, found in picture.rows for point in found if point]
        _title(figure, f"Comparison, {picture.dtype}{what}", "", shown)
        words = []
        for place in picture.places:
            own = [point for point in shown if point.place == place]
            words.append(f"{names[place]}: {', '.join(filter(None, (_built(place), _when(own))))}")
        _caption(figure, [*words, _times(shown, bars=True), *_noise(shown, "hollow"), *_doubts(shown)])
        return figure


# ----------------------------------------------------------------------------------------------------------------------
# Words and figures
# ----------------------------------------------------------------------------------------------------------------------


def _title(figure, title, place, some_points, sizes=True):
    """Above the picture: what it is, where, and of which size, day and host."""
    lines = [title, place, ", ".join(filter(None, (_sizes(some_points) if sizes else "", _when(some_points))))]
    figure.suptitle("\n".join(filter(None, lines)), x=0.01, ha="left", fontsize=10)


def _sizes(some_points):
    sizes = sorted({point.case.size for point in some_points if point.case.size is not None})
    words = []
    if sizes:
        words.append(f"{_size(sizes[0])}{f' to {_size(sizes[-1])}' if len(sizes) > 1 else ''} elements")
    if any(point.case.size is None for point in some_points):
        words.append("cases from files")
    return " and ".join(words)


def _when(some_points):
    """Days and hosts of some points: "2026-11-25, host node7"."""
    days = sorted({day for point in some_points for day in point.days if day})
    hosts = sorted({host for point in some_points for host in point.hosts})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else ""
    where = f"{len(hosts)} hosts" if len(hosts) > 2 else f"host{'s' if len(hosts) > 1 else ''} {' and '.join(hosts)}"
    return ", ".join(filter(None, (when, where if hosts else "")))


def _share(point):
    """Its share of the roof, marked if it is noisy."""
    share = point.share_of_roof
    return f"{'~' if point.noisy else ''}{f'{share:.0%}' if share < 100 else f'{100 * share:.0e}%'}"


def _noise(some_points, mark):
    noisy = sum(point.noisy for point in some_points)
    rows = (
        f"{noisy} of {len(some_points)} points {'is' if noisy == 1 else 'are'} noisy: "
        "quartiles more than 1.5 times apart"
    )
    return [f"{mark}{': ' if mark else ''}{rows}"] if noisy else []


def _times(some_points, bars):
    launches = max(point.launches for point in some_points)
    times = "medians of samples" if launches == 1 else f"medians of {launches} launches, if there are as many"
    if bars:
        times += ", bars: quartiles" if launches == 1 else ", bars: fastest and slowest"
    return times


def _words(place, some_points, groups=(), more="", bars=False, mark="~"):
    """What a caption says: the build, what a time is, and what else is needed to read the picture."""
    words = [f"{_built(place)}; {_times(some_points, bars)}", *_noise(some_points, mark)]
    if place.build.build_type != "Release":
        words.append(f"a {place.build.build_type} build: its figures say nothing about speed")
    if more:
        words.append(more)
    if any(group.small for group in groups):
        words.append("* under 16 MiB and 16 M operations: caches and launches count more than memory")
    return words + _doubts(some_points)


def _doubts(some_points):
    """What a caption says if roofs may be wrong: the first reason, and how many others there are."""
    reasons = sorted({roofs.unsure for point in some_points for roofs in point.roofs if roofs.unsure})
    if not reasons:
        return []
    more = f" (and {len(reasons) - 1} other reasons)" if len(reasons) > 1 else ""
    return ["ROOFS UNSURE, shares say little: " + shorten(reasons[0], 90, placeholder=" ...") + more]


def _built(place):
    return f"commit {place.build.commit}, {place.build.compiler}, Kokkos {place.build.kokkos}"


def _caption(figure, words):
    """Small print at the bottom; a legend that is to stand above it, or right of all;
    what the layout places in the rest."""
    print_ = 10 * len(words) + 6  # points
    below, beside = print_, 0.0
    renderer = figure.canvas.get_renderer()
    for legend in figure.legends:
        legend.set_in_layout(False)
        extent = legend.get_window_extent(renderer)
        if legend.get_label() == BELOW:
            below += extent.height * 72 / figure.dpi
        else:
            beside += extent.width / figure.dpi / figure.get_figwidth()
    height = figure.get_figheight() * 72 + below
    figure.set_figheight(height / 72)
    figure.get_layout_engine().set(rect=(0, below / height, 1 - beside, 1 - below / height))
    for legend in figure.legends:
        if legend.get_label() == BELOW:
            legend.set_bbox_to_anchor((0, print_ / height, 1, 1), transform=figure.transFigure)
    figure.text(0.01, 0.01, "\n".join(words), fontsize=7, color="#444444", va="bottom")


def _legend_below(figure, axes):
    handles, labels = axes.get_legend_handles_labels()
    lines = ("roof", "one launch", "ideal")  # matplotlib puts lines before error bars
    order = sorted(range(len(labels)), key=lambda place: labels[place].startswith(lines))
    handles, labels = ([items[place] for place in order] for items in (handles, labels))
    _below(figure, handles, labels, min(4, len(labels)), handlelength=3)


def _below(figure, handles, labels, ncols, **more):
    legend = figure.legend(handles, labels, loc="lower center", ncols=ncols, **more)
    legend.set_label(BELOW)


def _plain_log(axes, which="y"):
    """Labels at 1, 2 and 5 where the data spans less than two decades, so that there are at least two of them."""
    axis = axes.yaxis if which == "y" else axes.xaxis
    low, high = axes.get_ylim() if which == "y" else axes.get_xlim()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 200 else (1.0,)))
    axis.set_minor_formatter(NullFormatter())


def _points_of(groups):
    return [point for group in groups for point in group.points]


def _scaled(value, steps):
    if value == 0:
        return "0"
    for factor, unit in steps:
        if value >= factor * 0.9999:
            return f"{value / factor:.3g} {unit}"
    return f"{value / steps[-1][0]:.3g} {steps[-1][1]}"


def _seconds(value):
    return _scaled(value, ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")))


def _bytes_per_second(value):
    return _scaled(value, ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")))


def _operations(value):
    return _scaled(value, ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1e3, "kFLOP/s")))


def _bytes(value):
    return _scaled(value, ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")))


def _size(size):
    return series.size_name(size)
