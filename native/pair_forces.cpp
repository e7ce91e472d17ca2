#include "pair_forces.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

typedef float Eight __attribute__((vector_size(32), aligned(32)));
typedef std::int32_t EightIntegers __attribute__((vector_size(32), aligned(32)));
constexpr std::size_t lanes = 8;
// Its square is still a number; coordinates in single precision do not tell such lengths from 0.
constexpr float least_square = 1e-18f;

GRAPHREG_INLINE Eight all(float value) { return Eight{} + value; }

GRAPHREG_INLINE Eight root(Eight a) {
    Eight result;
    for (std::size_t lane = 0; lane < lanes; ++lane) result[lane] = std::sqrt(a[lane]);
    return result;
}

// exp(x) for x <= 0, to single precision: a power of two times a polynomial for the fraction. 0 below exp(-87).
GRAPHREG_INLINE Eight exp_of_negative(Eight x) {
    const auto vanishing = x < -87.0f;
    const Eight scaled = (vanishing ? all(-87.0f) : x) * 1.44269504f;
    const EightIntegers whole = __builtin_convertvector(scaled - 0.5f, EightIntegers);
    const Eight t = (scaled - __builtin_convertvector(whole, Eight)) * 0.693147181f;
    Eight power = all(1.0f / 5040);
    for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) power = power * t + c;
    const EightIntegers bits = (whole + 127) << 23;
    const Eight two = (Eight)bits;
    return vanishing ? Eight{} : power * two;
}

// The targets, eight side by side: x, y, z, mass, features. Empty places have no mass.
class Targets {
public:
    explicit Targets(const PairSystem& system)
        : size_((system.targets + lanes - 1) / lanes * rows(system.features)), blocks_(new Eight[size_]()) {
        for (std::size_t j = 0; j < system.targets; ++j) {
            Eight* block = blocks_.get() + j / lanes * rows(system.features);
            for (std::size_t a = 0; a < 3; ++a) block[a][j % lanes] = system.target[3 * j + a];
            block[3][j % lanes] = system.target_mass[j];
            for (std::size_t f = 0; f < system.features; ++f)
                block[4 + f][j % lanes] = system.target_features[system.features * j + f];
        }
    }

    const Eight* begin() const { return blocks_.get(); }
    const Eight* end() const { return blocks_.get() + size_; }
    static constexpr std::size_t rows(std::size_t features) { return 4 + features; }

private:
    std::size_t size_;
    std::unique_ptr<Eight[]> blocks_;
};

GRAPHREG_INLINE double sum(const Eight& values) {
    double total = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) total += values[lane];
    return total;
}

// Where `features` is a constant, the compiler unrolls the loop over them.
template <PairLaw law>
GRAPHREG_INLINE void forces_on(const PairSystem& system, std::size_t features, const Targets& targets,
                               std::size_t begin, std::size_t end, double* force, double* weight) {
    const float square = std::max(system.scale * system.scale, least_square);
    const float slope = features ? 2.0f / std::sqrt(static_cast<float>(features)) : 0.0f;
    for (std::size_t i = begin; i < end; ++i) {
        const float* here = system.source + 3 * i;
        const float* mine = system.source_features + features * i;
        Eight fx{}, fy{}, fz{}, total{};
        for (const Eight* block = targets.begin(); block != targets.end(); block += Targets::rows(features)) {
            const Eight dx = block[0] - here[0], dy = block[1] - here[1], dz = block[2] - here[2];
            const Eight r = dx * dx + dy * dy + dz * dz;
            Eight unlike{};
            for (std::size_t f = 0; f < features; ++f) {
                const Eight difference = block[4 + f] - mine[f];
                unlike += difference * difference;
            }
            Eight w = block[3] * (1.0f - slope * unlike);
            if constexpr (law == PairLaw::inverse_square) {
                // The power of 3/2 as square by root: quotient and root need not wait for each other.
                const Eight soft = r + square;
                w = w / (soft * soft) * root(soft);
            } else {
                w *= exp_of_negative(r * (-0.5f / square));
            }
            fx += w * dx;
            fy += w * dy;
            fz += w * dz;
            total += w;
        }
        force[3 * i] = sum(fx);
        force[3 * i + 1] = sum(fy);
        force[3 * i + 2] = sum(fz);
        weight[i] = sum(total);
    }
}

GRAPHREG_DISPATCHED
void inverse_square_on(const PairSystem& system, const Targets& targets, std::size_t begin, std::size_t end,
                       double* force, double* weight) {
    if (system.features == 2)  // as the published method has it
        forces_on<PairLaw::inverse_square>(system, 2, targets, begin, end, force, weight);
    else
        forces_on<PairLaw::inverse_square>(system, system.features, targets, begin, end, force, weight);
}

GRAPHREG_DISPATCHED
void gaussian_on(const PairSystem& system, const Targets& targets, std::size_t begin, std::size_t end, double* force,
                 double* weight) {
    forces_on<PairLaw::gaussian>(system, system.features, targets, begin, end, force, weight);
}

}  // namespace

void pair_forces(const PairSystem& system, int threads, double* force, double* weight) {
    const Targets targets(system);
    auto* const work = system.law == PairLaw::gaussian ? gaussian_on : inverse_square_on;
    // So many pairs take about a tenth of a millisecond: enough to be worth handing out.
    const std::size_t grain = std::max<std::size_t>(1, (1 << 18) / std::max<std::size_t>(1, system.targets));
    parallel_for(system.sources, grain, threads, [&](std::size_t begin, std::size_t end) {
        work(system, targets, begin, end, force, weight);
    });
}

}  // namespace graphreg
