#include "features/nearest_features.hpp"

#include <algorithm>
#include <limits>

#include "common/parallel.hpp"
#include "common/simd.hpp"

namespace graphreg {

namespace {

constexpr std::size_t queries_per_pass = 4;

// Eight features are stored side by side, column after column; four queries share each vector that is loaded.
GRAPHREG_DISPATCHED
void search(const Eight* blocks, std::size_t block_count, const float* queries, std::size_t query_count,
            std::size_t width, std::int32_t* nearest) {
    for (std::size_t q = 0; q < query_count; q += queries_per_pass) {
        const std::size_t used = std::min(queries_per_pass, query_count - q);
        const float* row[queries_per_pass];
        for (std::size_t n = 0; n < queries_per_pass; ++n) row[n] = queries + width * (q + std::min(n, used - 1));
        float best[queries_per_pass];
        std::fill_n(best, queries_per_pass, std::numeric_limits<float>::infinity());
        for (std::size_t b = 0; b < block_count; ++b) {
            const Eight* block = blocks + b * width;
            Eight distance[queries_per_pass] = {};
            for (std::size_t f = 0; f < width; ++f)
                for (std::size_t n = 0; n < queries_per_pass; ++n) {
                    const Eight apart = block[f] - row[n][f];
                    distance[n] += apart * apart;
                }
            for (std::size_t n = 0; n < used; ++n)
                for (std::size_t lane = 0; lane < eight_lanes; ++lane)
                    if (distance[n][lane] < best[n]) {
                        best[n] = distance[n][lane];
                        nearest[q + n] = static_cast<std::int32_t>(b * eight_lanes + lane);
                    }
        }
    }
}

}  // namespace

void nearest_features(const float* features, std::size_t count, const float* queries, std::size_t query_count,
                      std::size_t width, int threads, std::int32_t* nearest) {
    const std::size_t block_count = (count + eight_lanes - 1) / eight_lanes;
    EightArray blocks(block_count * width);
    // Unused lanes repeat the last feature, which is found before them.
    for (std::size_t n = 0; n < block_count * eight_lanes; ++n)
        for (std::size_t f = 0; f < width; ++f)
            blocks[n / eight_lanes * width + f][n % eight_lanes] = features[width * std::min(n, count - 1) + f];
    parallel_for(query_count, 16 * queries_per_pass, threads, [&](std::size_t begin, std::size_t end) {
        search(blocks.data(), block_count, queries + width * begin, end - begin, width, nearest + begin);
    });
}

}  // namespace graphreg
