#include "baselines/fast_gauss_transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "baselines/chebyshev.hpp"
#include "common/parallel.hpp"

namespace graphreg {

namespace {

// The size of a box in widths s of the Gaussian. Interpolation with twelve nodes is then off by
// 2 (1.5/4)^12 11!!/12! = 3e-10 of the Gaussian's height, its derivative by up to 12^2 times that.
constexpr double widths_per_box = 1.5;
// exp(-20) = 2e-9 is negligible, as in the sum over pairs: boxes farther apart than sqrt(40) widths do not count. In
// boxes:
constexpr int max_squared_gap = static_cast<int>(40 / (widths_per_box * widths_per_box));
constexpr int reach = 5;
static_assert(reach * reach > max_squared_gap);
constexpr int max_boxes_per_axis = 64;
// The number of pairs of points that cost about as much as a pair of boxes.
constexpr double pairs_per_box_pair = 3000;

// A grid of boxes around both clouds.
struct BoxGrid {
    double low[3];
    double size;
    int counts[3];

    std::size_t total() const { return static_cast<std::size_t>(counts[0]) * counts[1] * counts[2]; }
    std::size_t number(int x, int y, int z) const {
        return (static_cast<std::size_t>(x) * counts[1] + y) * counts[2] + z;
    }
    int index(const float* point, int axis) const {
        return std::min(counts[axis] - 1, static_cast<int>((static_cast<double>(point[axis]) - low[axis]) / size));
    }
    // From -1 to 1 inside the point's box.
    double position(const float* point, int axis) const {
        return 2 * ((static_cast<double>(point[axis]) - low[axis]) / size - index(point, axis)) - 1;
    }

    // False where the clouds are too large for the width.
    bool fit(const GaussianSystem& system) {
        size = widths_per_box * static_cast<double>(system.width);
        for (int axis = 0; axis < 3; ++axis) {
            float least = std::numeric_limits<float>::infinity(), most = -least;
            auto enclose = [&](const float* points, std::size_t count) {
                for (std::size_t i = 0; i < count; ++i) {
                    least = std::min(least, points[3 * i + axis]);
                    most = std::max(most, points[3 * i + axis]);
                }
            };
            enclose(system.points, system.count);
            enclose(system.others, system.other_count);
            low[axis] = static_cast<double>(least);
            const double boxes = (static_cast<double>(most) - low[axis]) / size;
            if (!(boxes < max_boxes_per_axis)) return false;
            counts[axis] = static_cast<int>(boxes) + 1;
        }
        return true;
    }
};

// The points of a cloud by box. Only occupied boxes are stored.
struct OccupiedBoxes {
    OccupiedBoxes(const BoxGrid& grid, const float* points, std::size_t count)
        : box_at(grid.total(), -1), order(count) {
        std::vector<std::size_t> number(count), next(grid.total() + 1);
        for (std::size_t i = 0; i < count; ++i) {
            const float* p = points + 3 * i;
            number[i] = grid.number(grid.index(p, 0), grid.index(p, 1), grid.index(p, 2));
            ++next[number[i] + 1];
        }
        for (std::size_t n = 0; n < grid.total(); ++n) {
            if (next[n + 1]) {
                box_at[n] = static_cast<int>(number_of.size());
                number_of.push_back(n);
                first.push_back(next[n]);
            }
            next[n + 1] += next[n];
        }
        first.push_back(count);
        for (std::size_t i = 0; i < count; ++i) order[next[number[i]]++] = i;
    }

    std::size_t size() const { return number_of.size(); }

    std::vector<int> box_at;             // box at each number of the grid, -1 where it is empty
    std::vector<std::size_t> order;      // points, box by box
    std::vector<std::size_t> number_of;  // of each box in the grid
    std::vector<std::size_t> first;      // of each box, its first point in the order, and the end
};

// The Gaussian between the nodes of two boxes along one axis: [difference of their indices + reach][from][to].
using Kernel = std::array<NodeMatrix, 2 * reach + 1>;

void fill(Kernel& kernel) {
    for (int difference = -reach; difference <= reach; ++difference)
        for (std::size_t from = 0; from < nodes; ++from)
            for (std::size_t to = 0; to < nodes; ++to) {
                const double apart =
                    widths_per_box * (difference + (chebyshev_at_node(1, from) - chebyshev_at_node(1, to)) / 2);
                kernel[difference + reach][from].set_node(to, std::exp(-apart * apart / 2));
            }
}

struct Transform {
    const GaussianSystem& system;
    const BoxGrid& grid;
    const OccupiedBoxes &boxes, &others;
    const LagrangeBasis& basis;
    const Kernel& kernel;
    NodeCube* sources;  // of each box of the others: its mass, interpolated to the nodes
};

// Mass of the others in a box to its nodes.
GRAPHREG_INLINE void interpolate_mass(const Transform& all, std::size_t box) {
    NodeCube& sum = all.sources[box];
    clear(sum);
    for (std::size_t n = all.others.first[box]; n < all.others.first[box + 1]; ++n) {
        const std::size_t j = all.others.order[n];
        const float* point = all.system.others + 3 * j;
        NodeRow value[3], derivative;
        for (int axis = 0; axis < 3; ++axis)
            all.basis.evaluate(all.grid.position(point, axis), value[axis], derivative);
        for (std::size_t x = 0; x < nodes; ++x)
            for (std::size_t y = 0; y < nodes; ++y) {
                const double part = static_cast<double>(all.system.mass[j]) * value[0].node(x) * value[1].node(y);
                for (std::size_t v = 0; v < node_vectors; ++v) sum[x][y][v] += value[2][v] * part;
            }
    }
}

// The three steps of the separable convolution: along z, then y, then x.
GRAPHREG_INLINE void convolve_z(const NodeMatrix& k, const NodeCube& source, NodeCube& line) {
    for (std::size_t x = 0; x < nodes; ++x)
        for (std::size_t y = 0; y < nodes; ++y) {
            NodeRow& to = line[x][y];
            for (std::size_t from = 0; from < nodes; ++from)
                for (std::size_t v = 0; v < node_vectors; ++v) to[v] += k[from][v] * source[x][y].node(from);
        }
}

GRAPHREG_INLINE void convolve_y(const NodeMatrix& k, const NodeCube& line, NodeCube& slice) {
    for (std::size_t x = 0; x < nodes; ++x)
        for (std::size_t to = 0; to < nodes; ++to)
            for (std::size_t from = 0; from < nodes; ++from)
                for (std::size_t v = 0; v < node_vectors; ++v) slice[x][to][v] += line[x][from][v] * k[from].node(to);
}

GRAPHREG_INLINE void convolve_x(const NodeMatrix& k, const NodeCube& slice, NodeCube& potential) {
    for (std::size_t to = 0; to < nodes; ++to)
        for (std::size_t from = 0; from < nodes; ++from)
            for (std::size_t y = 0; y < nodes; ++y)
                for (std::size_t v = 0; v < node_vectors; ++v)
                    potential[to][y][v] += slice[from][y][v] * k[from].node(to);
}

// The potential at the nodes of a box, from all boxes within reach. Each convolution is applied once to the sum of all
// boxes along its axis.
GRAPHREG_INLINE void potential_at(const Transform& all, std::size_t number, NodeCube& potential) {
    const int* counts = all.grid.counts;
    const int here[3] = {static_cast<int>(number / counts[2] / counts[1]),
                         static_cast<int>(number / counts[2] % counts[1]), static_cast<int>(number % counts[2])};
    const auto squared_gap = [](int difference) {
        const int gap = std::max(std::abs(difference) - 1, 0);
        return gap * gap;
    };
    const auto begin = [&](int axis) { return std::max(0, here[axis] - reach); };
    const auto end = [&](int axis) { return std::min(counts[axis], here[axis] + reach + 1); };
    clear(potential);
    for (int x = begin(0); x < end(0); ++x) {
        NodeCube slice;
        clear(slice);
        bool any_slice = false;
        for (int y = begin(1); y < end(1); ++y) {
            const int gap_xy = squared_gap(x - here[0]) + squared_gap(y - here[1]);
            NodeCube line;
            bool any_line = false;
            for (int z = begin(2); z < end(2); ++z) {
                if (gap_xy + squared_gap(z - here[2]) > max_squared_gap) continue;
                const int box = all.others.box_at[all.grid.number(x, y, z)];
                if (box < 0) continue;
                if (!any_line) clear(line);
                any_line = true;
                convolve_z(all.kernel[z - here[2] + reach], all.sources[box], line);
            }
            if (!any_line) continue;
            any_slice = true;
            convolve_y(all.kernel[y - here[1] + reach], line, slice);
        }
        if (any_slice) convolve_x(all.kernel[x - here[0] + reach], slice, potential);
    }
}

// The potential at the points of a box, and its gradient, which is the force.
GRAPHREG_INLINE void evaluate_at_points(const Transform& all, std::size_t box, const NodeCube& potential,
                                        double* weight, double* force) {
    for (std::size_t n = all.boxes.first[box]; n < all.boxes.first[box + 1]; ++n) {
        const std::size_t i = all.boxes.order[n];
        const float* point = all.system.points + 3 * i;
        NodeRow value[3], derivative[3];
        for (int axis = 0; axis < 3; ++axis)
            all.basis.evaluate(all.grid.position(point, axis), value[axis], derivative[axis]);
        NodeRow level{}, by_x{}, by_y{};
        for (std::size_t y = 0; y < nodes; ++y) {
            NodeRow row{}, row_by_x{};
            for (std::size_t x = 0; x < nodes; ++x)
                for (std::size_t v = 0; v < node_vectors; ++v) {
                    row[v] += potential[x][y][v] * value[0].node(x);
                    row_by_x[v] += potential[x][y][v] * derivative[0].node(x);
                }
            for (std::size_t v = 0; v < node_vectors; ++v) {
                level[v] += row[v] * value[1].node(y);
                by_y[v] += row[v] * derivative[1].node(y);
                by_x[v] += row_by_x[v] * value[1].node(y);
            }
        }
        // The error of interpolation can make it negative.
        weight[i] = std::max(dot(level, value[2]), 0.0);
        if (!force) continue;
        // sum m (y - x) exp(-|y - x|^2 / (2 s^2)) is s^2 times the derivative by x, which is 2/size times that by u.
        const double scale = 2 * static_cast<double>(all.system.width) / widths_per_box;
        force[3 * i] = scale * dot(by_x, value[2]);
        force[3 * i + 1] = scale * dot(by_y, value[2]);
        force[3 * i + 2] = scale * dot(level, derivative[2]);
    }
}

GRAPHREG_DISPATCHED
void interpolate_boxes(const Transform& all, std::size_t begin, std::size_t end) {
    for (std::size_t box = begin; box < end; ++box) interpolate_mass(all, box);
}

GRAPHREG_DISPATCHED
void evaluate_boxes(const Transform& all, std::size_t begin, std::size_t end, double* weight, double* force) {
    for (std::size_t box = begin; box < end; ++box) {
        NodeCube potential;
        potential_at(all, all.boxes.number_of[box], potential);
        evaluate_at_points(all, box, potential, weight, force);
    }
}

}  // namespace

bool fast_gauss_transform(const GaussianSystem& system, int threads, double* weight, double* force) {
    BoxGrid grid;
    const double pairs = static_cast<double>(system.count) * static_cast<double>(system.other_count);
    if (pairs < pairs_per_box_pair || !grid.fit(system)) return false;
    const OccupiedBoxes boxes(grid, system.points, system.count), others(grid, system.others, system.other_count);
    const double box_pairs = static_cast<double>(boxes.size()) * static_cast<double>(others.size());
    if (pairs < pairs_per_box_pair * box_pairs) return false;
    const LagrangeBasis basis;
    Kernel kernel;
    fill(kernel);
    const std::unique_ptr<NodeCube[]> sources(new NodeCube[others.size()]);
    const Transform all{system, grid, boxes, others, basis, kernel, sources.get()};
    parallel_for(others.size(), 1, threads,
                 [&](std::size_t begin, std::size_t end) { interpolate_boxes(all, begin, end); });
    parallel_for(boxes.size(), 1, threads,
                 [&](std::size_t begin, std::size_t end) { evaluate_boxes(all, begin, end, weight, force); });
    return true;
}

}  // namespace graphreg
