#include "paper/pair_forces.hpp"

#include <algorithm>
#include <cmath>

#include "common/parallel.hpp"
#include "common/simd.hpp"

namespace graphreg {

namespace {

// The least squared scale: its square does not underflow, and coordinates in single precision do not resolve such
// lengths.
constexpr float min_squared_scale = 1e-18f;

// exp(x) for x <= 0, to single precision: a power of two times a polynomial for the fraction. 0 below exp(-87).
GRAPHREG_INLINE Eight exp_of_negative(Eight x) {
    const auto vanishing = x < -87.0f;
    const Eight scaled = (vanishing ? broadcast(-87.0f) : x) * 1.44269504f;
    const EightIntegers whole = __builtin_convertvector(scaled - 0.5f, EightIntegers);
    const Eight t = (scaled - __builtin_convertvector(whole, Eight)) * 0.693147181f;
    Eight power = broadcast(1.0f / 5040);
    for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) power = power * t + c;
    const EightIntegers bits = (whole + 127) << 23;
    const Eight two = (Eight)bits;
    return vanishing ? Eight{} : power * two;
}

// The targets, eight side by side: x, y, z, mass, features. Unused lanes have no mass.
class TargetBlocks {
public:
    explicit TargetBlocks(const ParticleSystem& system)
        : blocks_((system.targets + eight_lanes - 1) / eight_lanes * rows(system.features)) {
        for (std::size_t j = 0; j < system.targets; ++j) {
            Eight* block = blocks_.data() + j / eight_lanes * rows(system.features);
            const std::size_t lane = j % eight_lanes;
            for (std::size_t axis = 0; axis < 3; ++axis) block[axis][lane] = system.target[3 * j + axis];
            block[3][lane] = system.target_mass[j];
            for (std::size_t f = 0; f < system.features; ++f)
                block[4 + f][lane] = system.target_features[system.features * j + f];
        }
    }

    const Eight* begin() const { return blocks_.data(); }
    const Eight* end() const { return blocks_.data() + blocks_.size(); }
    static constexpr std::size_t rows(std::size_t features) { return 4 + features; }

private:
    EightArray blocks_;
};

// Where `features` is a constant, the compiler unrolls the loop over them.
template <ForceLaw law>
GRAPHREG_INLINE void forces_on(const ParticleSystem& system, std::size_t features, const TargetBlocks& targets,
                               std::size_t begin, std::size_t end, double* force, double* weight) {
    const float square = std::max(system.scale * system.scale, min_squared_scale);
    const float slope = features ? 2.0f / std::sqrt(static_cast<float>(features)) : 0.0f;
    for (std::size_t i = begin; i < end; ++i) {
        const float* here = system.source + 3 * i;
        const float* own_features = system.source_features + features * i;
        Eight fx{}, fy{}, fz{}, total{};
        for (const Eight* block = targets.begin(); block != targets.end(); block += TargetBlocks::rows(features)) {
            const Eight dx = block[0] - here[0], dy = block[1] - here[1], dz = block[2] - here[2];
            const Eight r = dx * dx + dy * dy + dz * dz;
            Eight feature_distance{};
            for (std::size_t f = 0; f < features; ++f) {
                const Eight difference = block[4 + f] - own_features[f];
                feature_distance += difference * difference;
            }
            Eight w = block[3] * (1.0f - slope * feature_distance);
            if constexpr (law == ForceLaw::inverse_square) {
                // The power of -3/2 as root over square: the quotient and the root do not wait for each other.
                const Eight soft = r + square;
                w = w / (soft * soft) * square_root(soft);
            } else {
                w *= exp_of_negative(r * (-0.5f / square));
            }
            fx += w * dx;
            fy += w * dy;
            fz += w * dz;
            total += w;
        }
        force[3 * i] = sum_lanes(fx);
        force[3 * i + 1] = sum_lanes(fy);
        force[3 * i + 2] = sum_lanes(fz);
        weight[i] = sum_lanes(total);
    }
}

GRAPHREG_DISPATCHED
void inverse_square_on(const ParticleSystem& system, const TargetBlocks& targets, std::size_t begin, std::size_t end,
                       double* force, double* weight) {
    if (system.features == 2)  // as the published method has it
        forces_on<ForceLaw::inverse_square>(system, 2, targets, begin, end, force, weight);
    else
        forces_on<ForceLaw::inverse_square>(system, system.features, targets, begin, end, force, weight);
}

GRAPHREG_DISPATCHED
void gaussian_on(const ParticleSystem& system, const TargetBlocks& targets, std::size_t begin, std::size_t end,
                 double* force, double* weight) {
    forces_on<ForceLaw::gaussian>(system, system.features, targets, begin, end, force, weight);
}

}  // namespace

void pair_forces(const ParticleSystem& system, int threads, double* force, double* weight) {
    const TargetBlocks targets(system);
    auto* const work = system.law == ForceLaw::gaussian ? gaussian_on : inverse_square_on;
    // 2^18 pairs take about a tenth of a millisecond: enough to be worth a thread.
    const std::size_t grain = std::max<std::size_t>(1, (1 << 18) / std::max<std::size_t>(1, system.targets));
    parallel_for(system.sources, grain, threads,
                 [&](std::size_t begin, std::size_t end) { work(system, targets, begin, end, force, weight); });
}

}  // namespace graphreg
