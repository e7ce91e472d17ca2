#include "engine/descriptor_index.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "common/dispatch.hpp"
#include "common/parallel.hpp"
#include "engine/descriptor_distances.hpp"
#include "engine/descriptors.hpp"

namespace graphreg {

namespace {

constexpr std::size_t one_list = 4096;       // descriptors that are one list
constexpr std::size_t max_lists = 1024;      // their centres fit into the cache
constexpr std::size_t sample_per_list = 32;  // descriptors that k-means is run on
constexpr int k_means_rounds = 6;

// Offers all candidates (count, descriptor_size) to the k best matches of a query, which are sorted. Of candidate n the
// index is indices[n], or n.
GRAPHREG_DISPATCHED
void offer(const std::uint8_t* query, const std::uint8_t* candidates, const std::int32_t* indices, std::size_t count,
           std::size_t k, Ranked* best) {
    for (std::size_t n = 0; n < count; ++n) {
        const std::size_t index = indices ? static_cast<std::size_t>(indices[n]) : n;
        const Ranked match = ranked(l1_distance(query, candidates + n * descriptor_size), index);
        if (match >= best[k - 1]) continue;
        std::size_t slot = k - 1;
        for (; slot > 0 && best[slot - 1] > match; --slot) best[slot] = best[slot - 1];
        best[slot] = match;
    }
}

// The nearest centre of each descriptor.
std::vector<std::int32_t> nearest_centres(const std::uint8_t* descriptors, std::size_t count, std::size_t stride,
                                          const std::vector<std::uint8_t>& centres, int threads) {
    std::vector<std::int32_t> nearest(count);
    parallel_for(count, 256, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            Ranked best = worst_match;
            offer(descriptors + i * stride * descriptor_size, centres.data(), nullptr, centres.size() / descriptor_size,
                  1, &best);
            nearest[i] = static_cast<std::int32_t>(best);
        }
    });
    return nearest;
}

// k-means on evenly spaced descriptors, centres rounded to whole numbers; a centre that loses all members stays.
std::vector<std::uint8_t> fit_centres(const std::uint8_t* descriptors, std::size_t count, std::size_t lists,
                                      int threads) {
    const std::size_t stride = std::max<std::size_t>(1, count / (lists * sample_per_list)), sampled = count / stride;
    std::vector<std::uint8_t> centres(lists * descriptor_size);
    for (std::size_t c = 0; c < lists; ++c)
        std::copy_n(descriptors + (c * count / lists) * descriptor_size, descriptor_size,
                    centres.data() + c * descriptor_size);
    for (int round = 0; round < k_means_rounds; ++round) {
        const std::vector<std::int32_t> nearest = nearest_centres(descriptors, sampled, stride, centres, threads);
        std::vector<std::int64_t> sums(lists * descriptor_size), members(lists);
        for (std::size_t i = 0; i < sampled; ++i) {
            const auto list = static_cast<std::size_t>(nearest[i]);
            ++members[list];
            for (std::size_t f = 0; f < descriptor_size; ++f)
                sums[list * descriptor_size + f] += descriptors[i * stride * descriptor_size + f];
        }
        for (std::size_t c = 0; c < lists; ++c)
            for (std::size_t f = 0; f < descriptor_size && members[c] > 0; ++f)
                centres[c * descriptor_size + f] =
                    static_cast<std::uint8_t>((sums[c * descriptor_size + f] + members[c] / 2) / members[c]);
    }
    return centres;
}

}  // namespace

DescriptorIndex::DescriptorIndex(const std::uint8_t* descriptors, std::size_t count, int threads)
    : members_(count), descriptors_(count * descriptor_size) {
    const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
    const std::size_t lists = count <= one_list ? 1 : std::min(root, max_lists);
    centres_ = fit_centres(descriptors, count, lists, threads);
    const std::vector<std::int32_t> nearest = nearest_centres(descriptors, count, 1, centres_, threads);
    starts_.assign(lists + 1, 0);
    for (const std::int32_t list : nearest) ++starts_[static_cast<std::size_t>(list) + 1];
    for (std::size_t list = 0; list < lists; ++list) starts_[list + 1] += starts_[list];
    std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t slot = next[static_cast<std::size_t>(nearest[i])]++;
        members_[slot] = static_cast<std::int32_t>(i);
        std::copy_n(descriptors + i * descriptor_size, descriptor_size, descriptors_.data() + slot * descriptor_size);
    }
}

void DescriptorIndex::nearest(const std::uint8_t* queries, std::size_t count, std::size_t k, std::size_t probes,
                              int threads, std::int32_t* indices, std::int32_t* distances) const {
    probes = std::min(probes, lists());
    // The lists of each query, then the queries of each list: a list is read once for all of them.
    std::vector<Ranked> probed(count * probes, worst_match);
    parallel_for(count, 64, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t q = begin; q < end; ++q)
            offer(queries + q * descriptor_size, centres_.data(), nullptr, lists(), probes, probed.data() + q * probes);
    });
    std::vector<std::vector<std::size_t>> of_list(lists());
    for (std::size_t slot = 0; slot < probed.size(); ++slot)
        of_list[static_cast<std::size_t>(static_cast<std::int32_t>(probed[slot]))].push_back(slot);
    std::vector<Ranked> found(probed.size() * k, worst_match);
    parallel_for(lists(), 1, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t list = begin; list < end; ++list)
            for (const std::size_t slot : of_list[list])
                offer(queries + slot / probes * descriptor_size, descriptors_.data() + starts_[list] * descriptor_size,
                      members_.data() + starts_[list], starts_[list + 1] - starts_[list], k, found.data() + slot * k);
    });
    parallel_for(count, 256, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t q = begin; q < end; ++q) {
            Ranked* first = found.data() + q * probes * k;
            std::partial_sort(first, first + k, first + probes * k);
            for (std::size_t n = 0; n < k; ++n) {
                indices[q * k + n] = first[n] == worst_match ? -1 : static_cast<std::int32_t>(first[n]);
                distances[q * k + n] = first[n] == worst_match ? -1 : static_cast<std::int32_t>(first[n] >> 32);
            }
        }
    });
}

}  // namespace graphreg
