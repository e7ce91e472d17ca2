#include "fast_gauss_transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

// Chebyshev nodes along each side of a box, and that side in widths s of the Gaussian: interpolation is then off by
// 2 (1.5/4)^12 11!!/12! = 3e-10 of the Gaussian's height, its slope by up to 12^2 times that.
constexpr std::size_t nodes = 12;
constexpr std::size_t fours = nodes / 4;
constexpr double widths_a_side = 1.5;
constexpr double pi = 3.14159265358979323846;
// exp(-20) = 2e-9 is nothing, as in the sum over pairs: boxes farther apart than sqrt(40) widths do not count. That is,
// in sides:
constexpr int reach_squared = static_cast<int>(40 / (widths_a_side * widths_a_side));
constexpr int farthest = 5;
static_assert(farthest * farthest > reach_squared);
constexpr int most_along_a_side = 64;
// About so many pairs of points cost what a pair of boxes does.
constexpr double pairs_a_box = 3000;

using Row = std::array<Four, fours>;
using Sheet = std::array<Row, nodes>;
using Values = std::array<Sheet, nodes>;
using Matrix = std::array<Row, nodes>;  // [from] is a row over all nodes that it goes to

// T_k at node i; T_1 is its place.
double at_node(std::size_t k, std::size_t i) {
    return std::cos(static_cast<double>(k) * (2 * static_cast<double>(i) + 1) * pi / (2 * nodes));
}

// The polynomial that is 1 at node t_i and 0 at all others is (1 + 2 sum_k T_k(t_i) T_k(u)) / nodes: the factors of the
// T_k(u).
struct Basis {
    Basis() {
        for (std::size_t k = 0; k < nodes; ++k)
            for (std::size_t i = 0; i < nodes; ++i)
                rows[k][i / 4][i % 4] = (k ? 2.0 : 1.0) / nodes * at_node(k, i);
    }
    std::array<Row, nodes> rows;
};

// Values of those polynomials at u, and their slopes.
GRAPHREG_INLINE void at(const Basis& basis, double u, Row& value, Row& slope) {
    double before = 1, here = u;               // T of the first kind
    double second_before = 0, second_here = 1;  // U of the second kind: T_k' = k U_(k-1)
    value = basis.rows[0];
    slope = Row{};
    for (std::size_t k = 1; k < nodes; ++k) {
        for (std::size_t f = 0; f < fours; ++f) {
            value[f] += basis.rows[k][f] * here;
            slope[f] += basis.rows[k][f] * (static_cast<double>(k) * second_here);
        }
        const double next = 2 * u * here - before, second_next = 2 * u * second_here - second_before;
        before = here;
        here = next;
        second_before = second_here;
        second_here = second_next;
    }
}

// A lattice that holds both clouds.
struct Lattice {
    double low[3];
    double side;
    int along[3];

    std::size_t cells() const { return static_cast<std::size_t>(along[0]) * along[1] * along[2]; }
    std::size_t cell(int x, int y, int z) const { return (static_cast<std::size_t>(x) * along[1] + y) * along[2] + z; }
    int index(const float* point, int a) const {
        return std::min(along[a] - 1, static_cast<int>((static_cast<double>(point[a]) - low[a]) / side));
    }
    // From -1 to 1 inside the point's cell.
    double place(const float* point, int a) const {
        return 2 * ((static_cast<double>(point[a]) - low[a]) / side - index(point, a)) - 1;
    }
};

// The points of a cloud, cell by cell; only cells that hold any are boxes.
struct Boxes {
    Boxes(const Lattice& lattice, const float* points, std::size_t count) : box_of(lattice.cells(), -1), order(count) {
        std::vector<std::size_t> cells(count), held(lattice.cells() + 1);
        for (std::size_t i = 0; i < count; ++i) {
            const float* p = points + 3 * i;
            cells[i] = lattice.cell(lattice.index(p, 0), lattice.index(p, 1), lattice.index(p, 2));
            ++held[cells[i] + 1];
        }
        for (std::size_t c = 0; c < lattice.cells(); ++c) {
            if (held[c + 1]) {
                box_of[c] = static_cast<int>(cell_of.size());
                cell_of.push_back(c);
                first.push_back(held[c]);
            }
            held[c + 1] += held[c];
        }
        first.push_back(count);
        for (std::size_t i = 0; i < count; ++i) order[held[cells[i]]++] = i;
    }

    std::size_t size() const { return cell_of.size(); }

    std::vector<int> box_of;            // of a cell, -1 where it is empty
    std::vector<std::size_t> order;     // points, box by box
    std::vector<std::size_t> cell_of;   // of a box
    std::vector<std::size_t> first;     // of a box, its first place in the order
};

struct Smooth {
    const MixtureSystem& system;
    const Lattice& lattice;
    const Boxes &boxes, &others;
    const Basis& basis;
    const std::array<Matrix, 2 * farthest + 1>& kernel;  // [distance in cells + farthest][node of others][node here]
    Values* sources;                                     // for each box of others: its mass, put at the nodes
};

GRAPHREG_INLINE void clear(Values& values) {
    for (Sheet& sheet : values) sheet = Sheet{};
}

GRAPHREG_INLINE void gather(const Smooth& all, std::size_t box) {
    Values& sum = all.sources[box];
    clear(sum);
    for (std::size_t n = all.others.first[box]; n < all.others.first[box + 1]; ++n) {
        const std::size_t j = all.others.order[n];
        const float* point = all.system.others + 3 * j;
        Row value[3], slope;
        for (int a = 0; a < 3; ++a) at(all.basis, all.lattice.place(point, a), value[a], slope);
        for (std::size_t x = 0; x < nodes; ++x)
            for (std::size_t y = 0; y < nodes; ++y) {
                const double part =
                    static_cast<double>(all.system.mass[j]) * value[0][x / 4][x % 4] * value[1][y / 4][y % 4];
                for (std::size_t f = 0; f < fours; ++f) sum[x][y][f] += value[2][f] * part;
            }
    }
}

// The potential at the nodes of a box: along z, then y, then x, each summed over all boxes in line before the next.
GRAPHREG_INLINE void collect(const Smooth& all, std::size_t cell, Values& potential) {
    const int *along = all.lattice.along, here[3] = {static_cast<int>(cell / along[2] / along[1]),
                                                     static_cast<int>(cell / along[2] % along[1]),
                                                     static_cast<int>(cell % along[2])};
    const auto squared_gap = [](int distance) {
        const int gap = std::max(std::abs(distance) - 1, 0);
        return gap * gap;
    };
    clear(potential);
    for (int x = std::max(0, here[0] - farthest); x <= std::min(along[0] - 1, here[0] + farthest); ++x) {
        Values sheet;
        clear(sheet);
        bool any_sheet = false;
        for (int y = std::max(0, here[1] - farthest); y <= std::min(along[1] - 1, here[1] + farthest); ++y) {
            const int so_far = squared_gap(x - here[0]) + squared_gap(y - here[1]);
            Values line;
            bool any_line = false;
            for (int z = std::max(0, here[2] - farthest); z <= std::min(along[2] - 1, here[2] + farthest); ++z) {
                if (so_far + squared_gap(z - here[2]) > reach_squared) continue;
                const int box = all.others.box_of[all.lattice.cell(x, y, z)];
                if (box < 0) continue;
                if (!any_line) clear(line);
                any_line = true;
                const Matrix& k = all.kernel[z - here[2] + farthest];
                const Values& source = all.sources[box];
                for (std::size_t i = 0; i < nodes; ++i)
                    for (std::size_t j = 0; j < nodes; ++j) {
                        Row& to = line[i][j];
                        for (std::size_t from = 0; from < nodes; ++from)
                            for (std::size_t f = 0; f < fours; ++f)
                                to[f] += k[from][f] * source[i][j][from / 4][from % 4];
                    }
            }
            if (!any_line) continue;
            any_sheet = true;
            const Matrix& k = all.kernel[y - here[1] + farthest];
            for (std::size_t i = 0; i < nodes; ++i)
                for (std::size_t to = 0; to < nodes; ++to)
                    for (std::size_t from = 0; from < nodes; ++from)
                        for (std::size_t f = 0; f < fours; ++f)
                            sheet[i][to][f] += line[i][from][f] * k[from][to / 4][to % 4];
        }
        if (!any_sheet) continue;
        const Matrix& k = all.kernel[x - here[0] + farthest];
        for (std::size_t to = 0; to < nodes; ++to)
            for (std::size_t from = 0; from < nodes; ++from)
                for (std::size_t j = 0; j < nodes; ++j)
                    for (std::size_t f = 0; f < fours; ++f)
                        potential[to][j][f] += sheet[from][j][f] * k[from][to / 4][to % 4];
    }
}

GRAPHREG_INLINE double dot(const Row& a, const Row& b) {
    Four sum{};
    for (std::size_t f = 0; f < fours; ++f) sum += a[f] * b[f];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The potential at the points of a box, and its slope, which is the force.
GRAPHREG_INLINE void spread(const Smooth& all, std::size_t box, const Values& potential, double* weight,
                            double* force) {
    for (std::size_t n = all.boxes.first[box]; n < all.boxes.first[box + 1]; ++n) {
        const std::size_t i = all.boxes.order[n];
        const float* point = all.system.points + 3 * i;
        Row value[3], slope[3];
        for (int a = 0; a < 3; ++a) at(all.basis, all.lattice.place(point, a), value[a], slope[a]);
        Row level{}, by_x{}, by_y{};
        for (std::size_t y = 0; y < nodes; ++y) {
            Row row{}, row_by_x{};
            for (std::size_t x = 0; x < nodes; ++x)
                for (std::size_t f = 0; f < fours; ++f) {
                    row[f] += potential[x][y][f] * value[0][x / 4][x % 4];
                    row_by_x[f] += potential[x][y][f] * slope[0][x / 4][x % 4];
                }
            for (std::size_t f = 0; f < fours; ++f) {
                level[f] += row[f] * value[1][y / 4][y % 4];
                by_y[f] += row[f] * slope[1][y / 4][y % 4];
                by_x[f] += row_by_x[f] * value[1][y / 4][y % 4];
            }
        }
        // Interpolation can fall below 0 by what it is off.
        weight[i] = std::max(dot(level, value[2]), 0.0);
        if (!force) continue;
        // sum m (y - x) exp(-|y - x|^2 / (2 s^2)) is s^2 times the slope by x, which is 2/side times the slope by u.
        const double lift = 2 * static_cast<double>(all.system.width) / widths_a_side;
        force[3 * i] = lift * dot(by_x, value[2]);
        force[3 * i + 1] = lift * dot(by_y, value[2]);
        force[3 * i + 2] = lift * dot(level, slope[2]);
    }
}

GRAPHREG_DISPATCHED
void gather_boxes(const Smooth& all, std::size_t begin, std::size_t end) {
    for (std::size_t box = begin; box < end; ++box) gather(all, box);
}

GRAPHREG_DISPATCHED
void spread_boxes(const Smooth& all, std::size_t begin, std::size_t end, double* weight, double* force) {
    for (std::size_t box = begin; box < end; ++box) {
        Values potential;
        collect(all, all.boxes.cell_of[box], potential);
        spread(all, box, potential, weight, force);
    }
}

// false where the clouds are too long for the width.
bool lay(const MixtureSystem& system, Lattice& lattice) {
    lattice.side = widths_a_side * static_cast<double>(system.width);
    for (int a = 0; a < 3; ++a) {
        float low = std::numeric_limits<float>::infinity(), high = -low;
        for (std::size_t i = 0; i < system.count; ++i) {
            low = std::min(low, system.points[3 * i + a]);
            high = std::max(high, system.points[3 * i + a]);
        }
        for (std::size_t j = 0; j < system.other_count; ++j) {
            low = std::min(low, system.others[3 * j + a]);
            high = std::max(high, system.others[3 * j + a]);
        }
        lattice.low[a] = static_cast<double>(low);
        const double sides = (static_cast<double>(high) - lattice.low[a]) / lattice.side;
        if (!(sides < most_along_a_side)) return false;
        lattice.along[a] = static_cast<int>(sides) + 1;
    }
    return true;
}

}  // namespace

bool wide_gaussian_sums(const MixtureSystem& system, int threads, double* weight, double* force) {
    Lattice lattice;
    const double pairs = static_cast<double>(system.count) * static_cast<double>(system.other_count);
    if (pairs < pairs_a_box || !lay(system, lattice)) return false;
    const Boxes boxes(lattice, system.points, system.count), others(lattice, system.others, system.other_count);
    if (pairs < pairs_a_box * static_cast<double>(boxes.size()) * static_cast<double>(others.size())) return false;
    const Basis basis;
    std::array<Matrix, 2 * farthest + 1> kernel;
    for (int distance = -farthest; distance <= farthest; ++distance)
        for (std::size_t from = 0; from < nodes; ++from)
            for (std::size_t to = 0; to < nodes; ++to) {
                const double apart = widths_a_side * (distance + (at_node(1, from) - at_node(1, to)) / 2);
                kernel[distance + farthest][from][to / 4][to % 4] = std::exp(-apart * apart / 2);
            }
    const std::unique_ptr<Values[]> sources(new Values[others.size()]);
    const Smooth all{system, lattice, boxes, others, basis, kernel, sources.get()};
    parallel_for(others.size(), 1, threads, [&](std::size_t begin, std::size_t end) { gather_boxes(all, begin, end); });
    parallel_for(boxes.size(), 1, threads,
                 [&](std::size_t begin, std::size_t end) { spread_boxes(all, begin, end, weight, force); });
    return true;
}

}  // namespace graphreg
