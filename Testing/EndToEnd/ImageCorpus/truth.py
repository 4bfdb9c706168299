"""Images whose voxels and places are known: the truth that each file of the corpus is held against.

A Grid is in millimetres in LPS (x to the left, y to the back, z to the head). Arrays are flat lists, the first axis fastest.
"""
import itertools
import math


class Grid:
    """Voxel i lies at origin + sum over axes a of i[a] * spacing[a] * axes[a], where axes[a] has unit length."""

    def __init__(self, size, spacing, origin, axes=None):
        dimension = len(size)
        self.size, self.spacing, self.origin = list(size), list(spacing), list(origin)
        self.axes = axes or [[float(a == row) for row in range(dimension)] for a in range(dimension)]

    @property
    def dimension(self):
        return len(self.size)

    def steps(self):
        """For each axis the way from a voxel to the next one, in mm."""
        return [[s * x for x in axis] for s, axis in zip(self.spacing, self.axes)]

    def point(self, index):
        steps = self.steps()
        return [o + sum(index[a] * steps[a][row] for a in range(self.dimension)) for row, o in enumerate(self.origin)]

    def key(self):
        return repr((self.size, self.spacing, self.origin, self.axes))


def turn(degrees, about):
    """Rows of the rotation about an axis through the origin."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    length = math.sqrt(sum(x * x for x in about))
    x, y, z = (v / length for v in about)
    return [[c + x * x * (1 - c), x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
            [y * x * (1 - c) + z * s, c + y * y * (1 - c), y * z * (1 - c) - x * s],
            [z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)]]


def columns(rows):
    return [list(c) for c in zip(*rows)]


STRAIGHT = Grid([6, 5, 4], [1.5, 2.0, 2.5], [10.0, -20.0, 30.0])
OBLIQUE = Grid([6, 5, 4], [1.5, 2.0, 2.5], [10.0, -20.0, 30.0], columns(turn(33, [1, 2, 3])))
PLANE = Grid([6, 5], [1.5, 2.0], [10.0, -20.0])
TURNED_PLANE = Grid([6, 5], [1.5, 2.0], [10.0, -20.0], [[0.8, 0.6], [-0.6, 0.8]])


def values_of(size, least=0, most=120, seed=1):
    """Whole numbers without order, the same in every run; the least and the largest one are among them."""
    count = math.prod(size)
    state, values = seed * 7919 + 12345, []
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        values.append(least + (state >> 8) % (most - least + 1))
    values[count // 2], values[count // 3] = least, most
    return values


def colours_of(values, most):
    """Red, green and blue of a picture, each with its own values, and the three of each pixel together."""
    three = [values, [most - v for v in values], [v // 2 for v in values]]
    return three, [c[i] for i in range(len(values)) for c in three]


def stored(grid, values, order, flipped):
    """The same voxels at the same places, as a file that stores axis order[a] of the grid as its a-th axis,
    from its other end where flipped[a]."""
    n, size = grid.dimension, [grid.size[a] for a in order]
    first = [0] * n
    for a in range(n):
        if flipped[a]:
            first[order[a]] = grid.size[order[a]] - 1
    axes = [[-x if flipped[a] else x for x in grid.axes[order[a]]] for a in range(n)]
    result = Grid(size, [grid.spacing[a] for a in order], grid.point(first), axes)
    strides = [math.prod(grid.size[:a]) for a in range(n)]
    out = []
    for index in itertools.product(*(range(s) for s in reversed(size))):
        at = 0
        for a, i in enumerate(reversed(index)):
            at += strides[order[a]] * (size[a] - 1 - i if flipped[a] else i)
        out.append(values[at])
    return result, out


def every_orientation(dimension):
    for order in itertools.permutations(range(dimension)):
        for flipped in itertools.product([False, True], repeat=dimension):
            yield order, flipped


def is_right_handed(grid):
    x, y, z = grid.axes
    return sum(x[i] * (y[(i + 1) % 3] * z[(i + 2) % 3] - y[(i + 2) % 3] * z[(i + 1) % 3]) for i in range(3)) > 0


INSET = 1 / 64
"""Samples lie so much of a voxel inside of the first and last voxels, so rounding does not put them outside."""


def sampled_grid(grid):
    """A grid of as many voxels whose border lies INSET of a voxel inside of that of this one."""
    inset = [INSET if n > 1 else 0 for n in grid.size]
    spacing = [s * (1 - 2 * i / max(n - 1, 1)) for s, n, i in zip(grid.spacing, grid.size, inset)]
    return Grid(grid.size, spacing, grid.point(inset), grid.axes)


def samples(size, values):
    """Linear interpolation of the voxels at those of sampled_grid. NaN where a voxel is None or no number."""
    line = []
    for n in size:
        inset = INSET if n > 1 else 0
        line.append([])
        for i in range(n):
            x = inset + i * (n - 1 - 2 * inset) / max(n - 1, 1)
            low = min(int(x), max(n - 2, 0))
            line[-1].append([(low, 1 - x + low), (low + 1, x - low)] if n > 1 else [(0, 1.0)])
    data = [math.nan if v is None else v for v in values]
    before = 1
    for axis, n in enumerate(size):  # one axis after the other
        after = math.prod(size[axis + 1:])
        new = []
        for k in range(after):
            for i in range(n):
                for j in range(before):
                    new.append(sum(w * data[(k * n + low) * before + j] for low, w in line[axis][i] if w != 0))
        data, before = new, before * n
    return data
