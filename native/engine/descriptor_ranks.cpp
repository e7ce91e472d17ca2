#include "engine/descriptor_ranks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/dispatch.hpp"
#include "common/parallel.hpp"
#include "engine/descriptor_distances.hpp"
#include "engine/descriptors.hpp"

namespace graphreg {

namespace {

constexpr std::size_t bins = 256;
constexpr int bin_bits = 6;               // a bin is 64 wide; distances reach 24,480, and few exceed 16,384
constexpr std::size_t sample_size = 256;  // distances that ranks are taken among

using Counts = std::array<std::int32_t, bins>;

GRAPHREG_INLINE std::size_t bin_of(int distance) {
    return std::min(static_cast<std::size_t>(distance) >> bin_bits, bins - 1);
}

// Evenly spaced descriptors of a cloud, to which the distances of others are counted.
class Sample {
public:
    Sample(const std::uint8_t* descriptors, std::size_t count) {
        const std::size_t step = (count + sample_size - 1) / sample_size;
        for (std::size_t i = 0; i < count; i += step)
            rows_.insert(rows_.end(), descriptors + i * descriptor_size, descriptors + (i + 1) * descriptor_size);
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) {
            grouped_ = size() / group_size;
            groups_ = interleaved(rows_.data(), grouped_);
        }
#endif
    }

    std::size_t size() const { return rows_.size() / descriptor_size; }

    void count_distances(const std::uint8_t* descriptor, Counts& counts) const {
        std::size_t first = 0;
#if defined(__x86_64__)
        if (grouped_ > 0) count_groups(descriptor, counts);
        first = grouped_ * group_size;
#endif
        for (std::size_t j = first; j < size(); ++j)
            ++counts[bin_of(l1_distance(descriptor, rows_.data() + j * descriptor_size))];
    }

private:
#if defined(__x86_64__)
    __attribute__((target("avx2"))) void count_groups(const std::uint8_t* descriptor, Counts& counts) const {
        __m256i row[chunks];
        for (std::size_t c = 0; c < chunks; ++c) {
            long long bytes;
            std::memcpy(&bytes, descriptor + c * chunk, chunk);
            row[c] = _mm256_set1_epi64x(bytes);
        }
        for (std::size_t g = 0; g < grouped_; ++g) {
            const auto* group = reinterpret_cast<const __m256i*>(groups_.data() + g * group_size * descriptor_size);
            __m256i even = _mm256_setzero_si256(), odd = even;
            for (std::size_t c = 0; c < chunks; c += 2) {
                even = _mm256_add_epi64(even, _mm256_sad_epu8(row[c], _mm256_loadu_si256(group + c)));
                odd = _mm256_add_epi64(odd, _mm256_sad_epu8(row[c + 1], _mm256_loadu_si256(group + c + 1)));
            }
            alignas(32) long long distances[group_size];
            _mm256_store_si256(reinterpret_cast<__m256i*>(distances), _mm256_add_epi64(even, odd));
            for (const long long distance : distances) {
                const auto bin = static_cast<std::size_t>(distance) >> bin_bits;
                ++counts[bin < bins ? bin : bins - 1];
            }
        }
    }

    std::size_t grouped_ = 0;
    std::vector<std::uint8_t> groups_;
#endif
    std::vector<std::uint8_t> rows_;
};

// Twice the number of sampled distances below each bin, half of the bin's own among them.
std::vector<std::uint16_t> rank_tables(const std::uint8_t* descriptors, std::size_t count, const Sample& sample,
                                       int threads) {
    std::vector<std::uint16_t> tables(count * bins);
    parallel_for(count, 64, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            Counts counts = {};
            sample.count_distances(descriptors + i * descriptor_size, counts);
            std::int32_t below = 0;
            for (std::size_t b = 0; b < bins; ++b) {
                tables[i * bins + b] = static_cast<std::uint16_t>(2 * below + counts[b]);
                below += counts[b];
            }
        }
    });
    return tables;
}

}  // namespace

DescriptorRanks::Tables::Tables(const std::uint8_t* descriptors, std::size_t count, const std::uint8_t* others,
                                std::size_t other_count, int threads) {
    const Sample sample(others, other_count);
    twice_below_ = rank_tables(descriptors, count, sample, threads);
    minus_log_.resize(2 * sample.size() + 2);
    for (std::size_t twice = 0; twice < minus_log_.size(); ++twice)
        minus_log_[twice] = static_cast<float>(
            -std::log((static_cast<double>(twice) + 1) / 2 / (static_cast<double>(sample.size()) + 1)));
}

float DescriptorRanks::Tables::minus_log(std::size_t descriptor, std::size_t bin) const {
    return minus_log_[twice_below_[descriptor * bins + bin]];
}

DescriptorRanks::DescriptorRanks(const std::uint8_t* source, std::size_t source_count, const std::uint8_t* target,
                                 std::size_t target_count, int threads)
    : source_(source),
      target_(target),
      source_count_(source_count),
      target_count_(target_count),
      of_source_(source, source_count, target, target_count, threads),
      of_target_(target, target_count, source, source_count, threads) {}

float DescriptorRanks::information(std::size_t i, std::size_t j) const {
    const std::size_t bin = bin_of(l1_distance(source_ + i * descriptor_size, target_ + j * descriptor_size));
    return (of_source_.minus_log(i, bin) + of_target_.minus_log(j, bin)) / 2;
}

}  // namespace graphreg
