"""From rows to what each picture shows: plain numbers, no matplotlib.

Rows of the same build, device, case, variant and number of ranks are launches of the same thing: one Point. Its time is
the median of the launches' medians; low and high are the quartiles of a single launch's samples,
else the fastest and the slowest launch.

A Point is noisy if its row is; of several launches, if half of them are,
or if the quartiles of their times are as far apart.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from .reports import NOISY_RATIO

SMALL_BYTES = 16 * 2**20  # below, a time says more of caches and launches than of memory
SMALL_FLOPS = 2**24


@dataclass(frozen=True)
class Point:
    place: object
    case: object
    variant: str
    level: str
    ranks: int
    launches: int
    seconds: float
    least_seconds_measured: float
    low_seconds: float
    high_seconds: float
    noisy: bool
    bytes: float
    flops: float
    share_of_copy: float | None
    share_of_roof: float | None
    roofs: tuple  # of Roofs, one a launch
    hosts: tuple  # each once, in the order of the launches
    days: tuple  # likewise
    joules_per_element: float | None
    joules_per_flop: float | None
    watts: float | None

    @property
    def bytes_per_second(self):
        return self.bytes / self.seconds

    @property
    def flops_per_second(self):
        return self.flops / self.seconds

    @property
    def intensity(self):
        return self.flops / self.bytes if self.bytes else None

    @property
    def least_seconds(self):
        return _median(roofs.least_seconds(self.bytes, self.flops) for roofs in self.roofs)


def points(reports):
    """All rows of all reports, launches of the same thing joined."""
    groups = defaultdict(list)
    for report in reports:
        for row in report.rows:
            groups[row.place, row.case, row.variant, row.ranks].append(row)
    return [_join(rows) for rows in groups.values()]


def _join(rows):
    first = rows[0]
    single = len(rows) == 1
    times = [row.seconds for row in rows]
    return Point(
        place=first.place,
        case=first.case,
        variant=first.variant,
        level=first.level,
        ranks=first.ranks,
        launches=len(rows),
        seconds=median(times),
        least_seconds_measured=min(row.least_seconds for row in rows),
        low_seconds=first.low_seconds if single else min(times),
        high_seconds=first.high_seconds if single else max(times),
        noisy=2 * sum(row.noisy for row in rows) >= len(rows)
        or _quantile(times, 0.75) > NOISY_RATIO * _quantile(times, 0.25),
        bytes=first.bytes,
        flops=first.flops,
        share_of_copy=_median(row.share_of_copy for row in rows),
        share_of_roof=_median(row.share_of_roof for row in rows),
        roofs=tuple(row.roofs for row in rows),
        hosts=tuple(_unique(row.host for row in rows)),
        days=tuple(_unique(row.day for row in rows)),
        joules_per_element=_median(row.joules_per_element for row in rows),
        joules_per_flop=_median(row.joules_per_flop for row in rows),
        watts=_median(row.watts for row in rows),
    )


# ----------------------------------------------------------------------------------------------------------------------
# Names
# ----------------------------------------------------------------------------------------------------------------------


def place_names(places):
    """A name for each place: space and device, and of the build what tells it from another on the same device."""
    names = {}
    for place in places:
        name = f"{place.space} on {place.device}"
        twins = [other for other in places if (other.space, other.device) == (place.space, place.device)]
        if len(twins) > 1:
            said = {"kokkos": "Kokkos ", "commit": "commit ", "version": "Tessera "}
            differing = [
                f"{said.get(field, '')}{getattr(place.build, field)}"
                for field in ("kokkos", "compiler", "build_type", "flags", "version", "commit")
                if len({getattr(twin.build, field) for twin in twins}) > 1
            ]
            name += ", " + ", ".join(differing)
        names[place] = name
    return names


def place_slugs(places):
    """A word for each place, for file names: the space, numbered where several places have the same."""
    slugs = {}
    for place in places:
        twins = [other for other in places if other.space == place.space]
        slugs[place] = place.space if len(twins) == 1 else f"{place.space}{twins.index(place) + 1}"
    return slugs


def setting_name(setting, settings):
    """What tells a setting (parameters, data, cold) from the others of its mini-app; empty if it is the only one."""
    words = []
    others = [other for other in settings if other != setting]
    for name, value in setting[0]:
        if any(dict(other[0]).get(name) != value for other in others):
            words.append(f"{name}={_plain(value)}")
    if any(other[1] != setting[1] for other in others):
        words.append(f"{setting[1]} data")
    if any(other[2] != setting[2] for other in others):
        words.append("cold" if setting[2] else "warm")
    return " ".join(words)


def _plain(value):
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _setting(point):
    return point.case.parameters, point.case.data, point.case.cold


def _unique(items):
    return list(dict.fromkeys(items))


def _quantile(values, q):
    """Linear between neighbours, as the reports' quartiles are."""
    values = sorted(values)
    position = q * (len(values) - 1)
    below = int(position)
    above = min(below + 1, len(values) - 1)
    return values[below] + (position - below) * (values[above] - values[below])


def _median(values):
    known = [value for value in values if value is not None]
    return median(known) if known else None


# ----------------------------------------------------------------------------------------------------------------------
# Which cases
# ----------------------------------------------------------------------------------------------------------------------


def fewest_ranks(all_points):
    """The points of the smallest number of ranks of each place: the other pictures leave ranks to scaling."""
    least = {}
    for point in all_points:
        key = point.place.space, point.place.device
        least[key] = min(point.ranks, least.get(key, point.ranks))
    return [point for point in all_points if point.ranks == least[point.place.space, point.place.device]]


def by_time(point):
    """The order of points from the best on: a noisy one is not better than one whose time is known."""
    return point.noisy, point.seconds


@dataclass
class Group:
    """The variants of a mini-app on one case: the one that moves the most, of each setting."""

    app: str
    name: str  # the app's, and what tells the setting from others
    small: bool
    points: list  # fastest first, noisy ones last


def largest_cases(some_points):
    """Groups by mini-app and setting. Cases from files count only where a mini-app has no generated one, the largest.

    The mini-app `roofline` is left out: its variants are no ways to do one thing, but what the roofs are made of.
    """
    groups = []
    for app in sorted({point.case.app for point in some_points} - {"roofline"}):
        mine = [point for point in some_points if point.case.app == app]
        generated = [point for point in mine if point.case.size is not None]
        chosen = defaultdict(list)
        for point in generated or mine:
            chosen[_setting(point) if generated else None].append(point)
        for setting, members in chosen.items():
            largest = max(members, key=lambda point: (point.bytes, point.flops)).case
            best = sorted((point for point in members if point.case == largest), key=by_time)
            words = setting_name(setting, list(chosen)) if generated else ""
            small = best[0].bytes < SMALL_BYTES and best[0].flops < SMALL_FLOPS
            groups.append(Group(app, f"{app} {words}".strip(), small, best))
    return groups


# ----------------------------------------------------------------------------------------------------------------------
# Pictures
# ----------------------------------------------------------------------------------------------------------------------


@dataclass
class Roofline:
    """Operations per second over operations per byte, of one place and dtype."""

    place: object
    dtype: str
    copy: tuple | None  # lowest, median, highest of the runs, bytes per second
    peak: tuple | None  # the same, operations per second
    working_set_bytes: float | None
    groups: list  # of Group, with points that have an intensity
    without_operations: list  # names of mini-apps that cannot be shown


def rooflines(all_points):
    result = []
    for place, dtype, members in _by_place_and_dtype(fewest_ranks(all_points)):
        groups, without = [], []
        for group in largest_cases(members):
            shown = [point for point in group.points if point.intensity]
            if shown:
                groups.append(Group(group.app, group.name, group.small, shown))
            else:
                without.append(group.name)
        runs = _unique(roofs for point in members for roofs in point.roofs)
        copy = _range(roofs.copy_bytes_per_second for roofs in runs)
        peak = _range(roofs.peak_operations_per_second for roofs in runs)
        if groups and (copy or peak):
            working_set = _median(roofs.working_set_bytes for roofs in runs)
            result.append(Roofline(place, dtype, copy, peak, working_set, groups, without))
    return result


@dataclass
class OverSize:
    """Time and bandwidth of a mini-app's variants over the size, of one place, dtype and setting."""

    app: str
    name: str
    place: object
    dtype: str
    variants: dict  # variant: points, by size
    roof: list  # (size, seconds, bytes per second) that the roofs allow
    launch_seconds: float | None


def over_size(all_points):
    result = []
    for place, dtype, members in _by_place_and_dtype(fewest_ranks(all_points)):
        members = [point for point in members if point.case.size]
        for app in sorted({point.case.app for point in members}):
            mine = [point for point in members if point.case.app == app]
            settings = _unique(_setting(point) for point in mine)
            for setting in settings:
                chosen = sorted((p for p in mine if _setting(p) == setting), key=lambda p: p.case.size)
                sizes = _unique(point.case.size for point in chosen)
                if len(sizes) < 2:
                    continue
                variants = {
                    variant: [point for point in chosen if point.variant == variant]
                    for variant in _unique(point.variant for point in chosen)
                }
                # A variant may state less work than the mini-app does: the roof is that of the most.
                roof = []
                for size in sizes:
                    widest = max((p for p in chosen if p.case.size == size), key=lambda p: p.least_seconds or 0.0)
                    if widest.least_seconds:
                        roof.append((size, widest.least_seconds, widest.bytes / widest.least_seconds))
                launch = _median(roofs.launch_seconds for point in chosen for roofs in point.roofs)
                name = f"{app} {setting_name(setting, settings)}".strip()
                result.append(OverSize(app, name, place, dtype, variants, roof, launch))
    return result


@dataclass
class Shares:
    """Share of the roof of each variant of each mini-app on its largest case, of one place and dtype."""

    place: object
    dtype: str
    groups: list  # of Group, with points whose share is known, largest share first, noisy ones last


def shares(all_points):
    result = []
    for place, dtype, members in _by_place_and_dtype(fewest_ranks(all_points)):
        groups = []
        for group in largest_cases(members):
            known = [point for point in group.points if point.share_of_roof is not None]
            if known:
                known.sort(key=lambda point: (point.noisy, -point.share_of_roof))
                groups.append(Group(group.app, group.name, group.small, known))
        if groups:
            result.append(Shares(place, dtype, groups))
    return result


@dataclass
class Energies:
    """Energy per element of each variant of each mini-app on its largest case, of one place and dtype."""

    place: object
    dtype: str
    groups: list  # of Group, with points whose energy is known, the least first


def energies(all_points):
    result = []
    for place, dtype, members in _by_place_and_dtype(fewest_ranks(all_points)):
        groups = []
        for group in largest_cases(members):
            known = sorted(
                (point for point in group.points if point.joules_per_element),
                key=lambda point: point.joules_per_element,
            )
            if known:
                groups.append(Group(group.app, group.name, group.small, known))
        if groups:
            result.append(Energies(place, dtype, groups))
    return result


@dataclass
class Scaling:
    """Time over ranks: of one size (strong), or of one size per rank (weak)."""

    weak: bool
    name: str
    place: object
    dtype: str
    size: int  # in all, or of a rank
    variants: dict  # variant: [(ranks, seconds, low, high, speedup, efficiency)]
    points: list


def scaling(all_points, weak):
    """Speedup is against the fewest ranks that were measured, of which it is as many as there are (the ideal line)."""
    result = []
    for place, dtype, members in _by_place_and_dtype(all_points):
        families = defaultdict(list)
        for point in members:
            if not point.case.size or (weak and point.case.size % point.ranks):
                continue
            size = point.case.size // point.ranks if weak else point.case.size
            families[point.case.app, size, _setting(point)].append(point)
        # Sizes that have as many numbers of ranks as any: of sizes times ranks,
        # weak scaling would find many short ones.
        numbers = {key: len({point.ranks for point in family}) for key, family in families.items()}
        for (app, size, setting), family in sorted(families.items(), key=lambda item: item[0][:2]):
            if numbers[app, size, setting] < max(n for key, n in numbers.items() if (key[0], key[2]) == (app, setting)):
                continue
            variants = {}
            for variant in _unique(point.variant for point in family):
                mine = sorted((point for point in family if point.variant == variant), key=lambda p: p.ranks)
                if len(mine) < 2:
                    continue
                base = mine[0]
                variants[variant] = [_scaled(point, base, weak) for point in mine]
            settings = _unique(key[2] for key in families if key[0] == app)
            if variants:
                name = f"{app} {setting_name(setting, settings)}".strip()
                result.append(Scaling(weak, name, place, dtype, size, variants, family))
    return result


def _scaled(point, base, weak):
    ratio = base.seconds / point.seconds
    speedup = ratio * point.ranks if weak else ratio * base.ranks
    return point.ranks, point.seconds, point.low_seconds, point.high_seconds, speedup, speedup / point.ranks


@dataclass
class Comparison:
    """The same cases in several places."""

    dtype: str
    places: list
    rows: list  # (name, size, [Point of each place, or None])
    variants: bool  # a row a variant; else each place's fastest of a mini-app


def comparisons(all_points, most_rows=40):
    """One for each dtype of which two places ran the same cases, on the largest size that all of them have (else
    two)."""
    result = []
    members = [point for point in fewest_ranks(all_points) if point.case.size and point.bytes]
    for dtype in _unique(point.case.dtype for point in members):
        mine = [point for point in members if point.case.dtype == dtype]
        places = _unique(point.place for point in mine)
        by_variant, by_app = [], []
        families = defaultdict(list)
        for point in mine:
            families[point.case.app, _setting(point)].append(point)
        for (app, setting), family in sorted(families.items(), key=lambda item: item[0][0]):
            size = _common_size(family)
            if size is None:
                continue
            settings = [key[1] for key in families if key[0] == app]
            name = f"{app} {setting_name(setting, settings)}".strip()
            chosen = [point for point in family if point.case.size == size]
            fastest = []
            for place in places:
                here = [point for point in chosen if point.place == place]
                fastest.append(min(here, key=by_time) if here else None)
            if app != "roofline":  # whose variants are no ways to do one thing
                by_app.append((name, size, fastest))
            for variant in _unique(point.variant for point in chosen):
                found = [
                    next((p for p in chosen if (p.place, p.variant) == (place, variant)), None) for place in places
                ]
                if sum(point is not None for point in found) > 1:
                    by_variant.append((f"{name} {variant}", size, found))
        if by_app or by_variant:
            whole = 0 < len(by_variant) <= most_rows or not by_app
            result.append(Comparison(dtype, places, by_variant if whole else by_app, whole))
    return result


def _common_size(family):
    where = defaultdict(set)
    for point in family:
        where[point.case.size].add(point.place)
    shared = [(len(places), size) for size, places in where.items() if len(places) > 1]
    return max(shared)[1] if shared else None


def _by_place_and_dtype(some_points):
    groups = defaultdict(list)
    for point in some_points:
        groups[point.place, point.case.dtype].append(point)
    for (place, dtype), members in groups.items():
        yield place, dtype, members


def _range(values):
    known = [value for value in values if value]
    return (min(known), median(known), max(known)) if known else None


def slug(text):
    """A text as a part of a file name."""
    return re.sub(r"[^a-z0-9_=.]+", "-", text.lower()).strip("-")


def size_name(size):
    """2^20 for a power of two from 1024 on, else the number."""
    return f"2^{size.bit_length() - 1}" if size >= 1024 and size & (size - 1) == 0 else str(size)
