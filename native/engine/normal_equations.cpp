#include "engine/normal_equations.hpp"

#include "common/simd.hpp"

namespace graphreg {

namespace {

// Angles between normals that are noise, as 1 - cos: the weights of larger ones fall.
constexpr double normal_noise = 0.02;
// Sums: the lower triangle of a, b, the weights, the squared residuals.
constexpr int triangle = 21, sum_count = triangle + 6 + 2;

GRAPHREG_INLINE Four load(const double* from) { return *reinterpret_cast<const Four*>(from); }

GRAPHREG_DISPATCHED
void sum_batch(const CorrespondenceBatch& batch, std::size_t filled, double scale, double* result) {
    const double inverse_scale = 1 / (8 * scale * scale);
    Four sum[sum_count] = {};
    for (std::size_t i = 0; i < filled; i += four_lanes) {
        Four x[3], nx[3], ny[3], offset[3], normal[3];
        Four cosine{}, squared{}, residual{};
        for (int axis = 0; axis < 3; ++axis) {
            x[axis] = load(batch.x[axis] + i), nx[axis] = load(batch.nx[axis] + i), ny[axis] = load(batch.ny[axis] + i);
            offset[axis] = x[axis] - load(batch.y[axis] + i);
            cosine += nx[axis] * ny[axis];
            squared += offset[axis] * offset[axis];
        }
        // (1 - d^2 / 8 s^2)^4: close to the Gaussian of width s, and 0 beyond 2.8 s.
        const Four near = 1 - squared * inverse_scale;
        const FourIntegers counts = (near > 0.0) & (cosine > 0.0);
        const Four squared_length = 2 + 2 * cosine;  // of the sum of two unit normals
        const Four inverse_length = 1 / square_root(counts ? squared_length : broadcast(1.0));
        for (int axis = 0; axis < 3; ++axis) {
            normal[axis] = (nx[axis] + ny[axis]) * inverse_length;
            residual += offset[axis] * normal[axis];
            x[axis] -= 0.5 * offset[axis];  // the rotation acts on the midpoint
        }
        const Four near2 = near * near;
        const Four product = load(batch.weight + i) * near2 * near2 / (1 - cosine + normal_noise);
        const Four w = counts ? product : Four{};
        const Four j[6] = {x[1] * normal[2] - x[2] * normal[1],
                           x[2] * normal[0] - x[0] * normal[2],
                           x[0] * normal[1] - x[1] * normal[0],
                           normal[0],
                           normal[1],
                           normal[2]};
        int entry = 0;
        for (int row = 0; row < 6; ++row) {
            const Four wj = w * j[row];
            for (int column = 0; column <= row; ++column) sum[entry++] += wj * j[column];
            sum[triangle + row] -= wj * residual;
        }
        sum[sum_count - 2] += w;
        sum[sum_count - 1] += w * residual * residual;
    }
    for (int entry = 0; entry < sum_count; ++entry) result[entry] = sum_lanes(sum[entry]);
}

// Fills the unused lanes with copies of the first correspondence, of weight 0; returns the number of filled entries.
std::size_t pad(CorrespondenceBatch& batch) {
    std::size_t filled = batch.count;
    for (; filled % four_lanes != 0; ++filled) {
        for (int axis = 0; axis < 3; ++axis) {
            batch.x[axis][filled] = batch.x[axis][0], batch.nx[axis][filled] = batch.nx[axis][0];
            batch.y[axis][filled] = batch.y[axis][0], batch.ny[axis][filled] = batch.ny[axis][0];
        }
        batch.weight[filled] = 0;
    }
    return filled;
}

}  // namespace

void NormalEquations::add(const NormalEquations& other) {
    for (int row = 0; row < 6; ++row) {
        for (int column = 0; column <= row; ++column) a[row][column] += other.a[row][column];
        b[row] += other.b[row];
    }
    weight += other.weight;
    squared_residual += other.squared_residual;
}

void NormalEquations::add(CorrespondenceBatch& batch, double scale) {
    if (batch.count == 0) return;
    double result[sum_count];
    sum_batch(batch, pad(batch), scale, result);
    int entry = 0;
    for (int row = 0; row < 6; ++row) {
        for (int column = 0; column <= row; ++column) a[row][column] += result[entry++];
        b[row] += result[triangle + row];
    }
    weight += result[sum_count - 2];
    squared_residual += result[sum_count - 1];
    batch.count = 0;
}

}  // namespace graphreg
