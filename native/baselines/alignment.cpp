#include "baselines/alignment.hpp"

#include <array>
#include <vector>

#include "common/parallel.hpp"

namespace graphreg {

namespace {

// The sum of what add(k, sum) adds for all k below count. Partial sums are over fixed ranges and added in order, so
// that the bits do not depend on the number of threads.
template <std::size_t size, class Add>
std::array<double, size> sum_over(std::size_t count, int threads, Add&& add) {
    // A thread costs as much as some ten thousand pairs.
    constexpr std::size_t grain = 1 << 15;
    std::vector<std::array<double, size>> parts((count + grain - 1) / grain);
    parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
        std::array<double, size> sum{};
        for (std::size_t k = begin; k < end; ++k) add(k, sum.data());
        parts[begin / grain] = sum;
    });
    std::array<double, size> total{};
    for (const auto& part : parts)
        for (std::size_t s = 0; s < size; ++s) total[s] += part[s];
    return total;
}

}  // namespace

void moments_of_pairs(const Correspondences& pairs, const double* weights, int threads, double* moments) {
    auto point = [&](std::size_t k) { return pairs.points + 3 * pairs.rows[k]; };
    auto partner = [&](std::size_t k) { return pairs.target + 3 * std::int64_t{pairs.partner[pairs.rows[k]]}; };
    auto weight = [&](std::size_t k) { return weights ? weights[k] : 1.0; };
    const auto means = sum_over<7>(pairs.count, threads, [&](std::size_t k, double* sum) {
        const double *x = point(k), *y = partner(k), w = weight(k);
        for (int a = 0; a < 3; ++a) {
            sum[a] += w * x[a];
            sum[3 + a] += w * y[a];
        }
        sum[6] += w;
    });
    const double total_weight = means[6];
    for (int a = 0; a < 6; ++a) moments[a] = means[a] / total_weight;
    const auto products = sum_over<9>(pairs.count, threads, [&](std::size_t k, double* sum) {
        const double *x = point(k), *y = partner(k), w = weight(k);
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) sum[3 * a + b] += w * (y[a] - moments[3 + a]) * (x[b] - moments[b]);
    });
    for (int a = 0; a < 9; ++a) moments[6 + a] = products[a] / total_weight;
}

void sum_plane_pairs(const Correspondences& pairs, const TargetPlanes& planes, const double* weights, int threads,
                     double* sums) {
    const auto total = sum_over<plane_sums>(pairs.count, threads, [&](std::size_t k, double* sum) {
        const std::int64_t i = pairs.rows[k], j = pairs.partner[i];
        const double *x = pairs.points + 3 * i, *y = pairs.target + 3 * j, *n = planes.normals + 3 * j;
        double arm[3];
        for (int a = 0; a < 3; ++a) arm[a] = (x[a] - planes.centre[a]) / planes.length_scale;
        const double jacobian[6] = {arm[1] * n[2] - arm[2] * n[1],
                                    arm[2] * n[0] - arm[0] * n[2],
                                    arm[0] * n[1] - arm[1] * n[0],
                                    n[0],
                                    n[1],
                                    n[2]};
        const double residual = n[0] * (y[0] - x[0]) + n[1] * (y[1] - x[1]) + n[2] * (y[2] - x[2]);
        const double w = weights ? weights[k] : 1.0;
        for (int a = 0; a < 6; ++a)
            for (int b = a; b < 6; ++b) *sum++ += w * jacobian[a] * jacobian[b];
        for (int a = 0; a < 6; ++a) *sum++ += w * jacobian[a] * residual;
        *sum += w * residual * residual;
    });
    for (std::size_t s = 0; s < plane_sums; ++s) sums[s] = total[s];
}

}  // namespace graphreg
