#include "datasets/smooth_union.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/dispatch.hpp"

namespace graphreg {

namespace {

// exp(-40) is below the rounding of a sum of at least 1.
constexpr double max_exponent = 40.0;
// In which direction a block spreads, parts come closer by its radius and others recede by it; tapered ones by more.
constexpr double spread_allowance = 2.4;

// Numbers of the parts that matter, one row for each number, so that parts are side by side.
class Columns {
public:
    void assign(const SmoothUnion& shape, const std::vector<std::size_t>& chosen) {
        count_ = chosen.size();
        values_.resize(numbers_of_a_part * count_);
        for (std::size_t n = 0; n < numbers_of_a_part; ++n)
            for (std::size_t i = 0; i < count_; ++i)
                values_[n * count_ + i] = shape.parts[chosen[i] * numbers_of_a_part + n];
    }

    std::size_t count() const { return count_; }
    const double* row(std::size_t n) const { return values_.data() + n * count_; }

private:
    std::size_t count_ = 0;
    std::vector<double> values_;
};

// Distances of a point from all parts; returns the least.
GRAPHREG_DISPATCHED double part_distances(const Columns& parts, const double* p, double* gap) {
    const double x = p[0], y = p[1], z = p[2];
    const std::array<double, 9> m = {x * x, x * y, x * z, y * y, y * z, z * z, x, y, z};
    const double *px = parts.row(0), *py = parts.row(1), *pz = parts.row(2), *p1 = parts.row(3);
    const double *scale = parts.row(4), *length2 = parts.row(5), *radius = parts.row(6), *growth = parts.row(7);
    std::array<const double*, 10> square;
    for (std::size_t n = 0; n < square.size(); ++n) square[n] = parts.row(8 + n);
    const std::size_t count = parts.count();
    for (std::size_t i = 0; i < count; ++i) {
        const double along = px[i] * x + py[i] * y + pz[i] * z + p1[i];
        const double positive = along * scale[i] > 0.0 ? along * scale[i] : 0.0;
        const double share = positive < 1.0 ? positive : 1.0;
        double away2 = square[9][i];
        for (std::size_t n = 0; n < m.size(); ++n) away2 += m[n] * square[n][i];
        away2 += share * (share * length2[i] - 2 * along);
        gap[i] = std::sqrt(away2 > 0.0 ? away2 : 0.0) - radius[i] - share * growth[i];
    }
    double least = gap[0];
    for (std::size_t i = 1; i < count; ++i) least = gap[i] < least ? gap[i] : least;
    return least;
}

}  // namespace

void smooth_union(const SmoothUnion& shape, const double* points, const std::int64_t* order, std::size_t count,
                  std::size_t block, double* distance) {
    std::vector<std::size_t> chosen(shape.count);
    for (std::size_t i = 0; i < shape.count; ++i) chosen[i] = i;
    Columns all, near;
    all.assign(shape, chosen);
    std::vector<double> gap(shape.count);
    for (std::size_t begin = 0; begin < count; begin += block) {
        const std::size_t end = std::min(begin + block, count);
        std::array<double, 3> middle = {};
        for (std::size_t k = begin; k < end; ++k)
            for (std::size_t axis = 0; axis < 3; ++axis) middle[axis] += points[3 * order[k] + axis];
        for (double& value : middle) value /= static_cast<double>(end - begin);
        double spread2 = 0;
        for (std::size_t k = begin; k < end; ++k) {
            double sum = 0;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                const double off = points[3 * order[k] + axis] - middle[axis];
                sum += off * off;
            }
            spread2 = std::max(spread2, sum);
        }
        const double far =
            part_distances(all, middle.data(), gap.data()) + spread_allowance * std::sqrt(spread2) + shape.reach;
        chosen.clear();
        for (std::size_t i = 0; i < shape.count; ++i)
            if (gap[i] < far) chosen.push_back(i);
        near.assign(shape, chosen);
        for (std::size_t k = begin; k < end; ++k) {
            const double least = part_distances(near, points + 3 * order[k], gap.data());
            double total = 0;
            for (std::size_t i = 0; i < near.count(); ++i) {
                const double exponent = (gap[i] - least) / shape.blend;
                if (exponent < max_exponent) total += std::exp(-exponent);
            }
            distance[order[k]] = least - shape.blend * std::log(total);
        }
    }
}

}  // namespace graphreg
