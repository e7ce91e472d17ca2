#include "normal_equations.hpp"

#include <cmath>

#include "dispatch.hpp"

namespace graphreg {

namespace {

// How far two normals may differ by mere noise, as 1 - cos: pairs that differ by more lose their weight.
constexpr double normal_noise = 0.02;
constexpr std::size_t lanes = 4;
// The lower triangle, the right-hand side, the sum of weights, that of squared residuals.
constexpr int triangle = 21, sums = triangle + 6 + 2;

GRAPHREG_INLINE Four load(const double* from) { return *reinterpret_cast<const Four*>(from); }

GRAPHREG_DISPATCHED
void sum_of(const Pairs& pairs, std::size_t filled, double scale, double* result) {
    const double inverse_scale = 1 / (8 * scale * scale);
    Four sum[sums] = {};
    for (std::size_t i = 0; i < filled; i += lanes) {
        Four x[3], nx[3], ny[3], d[3], q[3];
        Four cosine{}, far{}, residual{};
        for (int a = 0; a < 3; ++a) {
            x[a] = load(pairs.x[a] + i), nx[a] = load(pairs.nx[a] + i), ny[a] = load(pairs.ny[a] + i);
            d[a] = x[a] - load(pairs.y[a] + i);
            cosine += nx[a] * ny[a];
            far += d[a] * d[a];
        }
        // (1 - d^2 / 8 s^2)^4: close to the Gaussian of width s, and 0 beyond 2.8 s.
        const Four near = 1 - far * inverse_scale;
        const FourIntegers counts = (near > 0.0) & (cosine > 0.0);
        const Four length = 2 + 2 * cosine;  // squared, of the sum of unit normals
        const Four safe = counts ? length : Four{} + 1.0;
        const Four across = 1 / Four{std::sqrt(safe[0]), std::sqrt(safe[1]), std::sqrt(safe[2]), std::sqrt(safe[3])};
        for (int a = 0; a < 3; ++a) {
            q[a] = (nx[a] + ny[a]) * across;
            residual += d[a] * q[a];
            x[a] -= 0.5 * d[a];  // turns act on the middle of the pair
        }
        const Four near2 = near * near;
        const Four given = load(pairs.importance + i) * near2 * near2 / (1 - cosine + normal_noise);
        const Four w = counts ? given : Four{};
        const Four j[6] = {x[1] * q[2] - x[2] * q[1], x[2] * q[0] - x[0] * q[2], x[0] * q[1] - x[1] * q[0],
                           q[0], q[1], q[2]};
        int entry = 0;
        for (int row = 0; row < 6; ++row) {
            const Four wj = w * j[row];
            for (int column = 0; column <= row; ++column) sum[entry++] += wj * j[column];
            sum[triangle + row] -= wj * residual;
        }
        sum[sums - 2] += w;
        sum[sums - 1] += w * residual * residual;
    }
    for (int entry = 0; entry < sums; ++entry)
        result[entry] = (sum[entry][0] + sum[entry][1]) + (sum[entry][2] + sum[entry][3]);
}

}  // namespace

void NormalEquations::take(Pairs& pairs, double scale) {
    if (pairs.count == 0) return;
    std::size_t filled = pairs.count;
    // Lanes that are left over repeat the first pair, and count nothing.
    for (; filled % lanes != 0; ++filled) {
        for (int a = 0; a < 3; ++a) {
            pairs.x[a][filled] = pairs.x[a][0], pairs.nx[a][filled] = pairs.nx[a][0];
            pairs.y[a][filled] = pairs.y[a][0], pairs.ny[a][filled] = pairs.ny[a][0];
        }
        pairs.importance[filled] = 0;
    }
    double result[sums];
    sum_of(pairs, filled, scale, result);
    int entry = 0;
    for (int row = 0; row < 6; ++row) {
        for (int column = 0; column <= row; ++column) a[row][column] += result[entry++];
        b[row] += result[triangle + row];
    }
    weight += result[sums - 2];
    squared += result[sums - 1];
    pairs.count = 0;
}

}  // namespace graphreg
