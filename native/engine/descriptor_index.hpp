// Approximate nearest neighbours among many descriptors: an inverted file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

// Descriptors in lists, each around a centre (k-means); a query is compared with the lists of its nearest centres only.
// Distances are L1 norms. A few thousand descriptors are one list, whose search is exact.
class DescriptorIndex {
public:
    // descriptors: (count, descriptor_size), at least one; they are copied.
    DescriptorIndex(const std::uint8_t* descriptors, std::size_t count, int threads);

    std::size_t size() const { return members_.size(); }
    std::size_t lists() const { return starts_.size() - 1; }

    // The k nearest descriptors of each query (count, descriptor_size), nearest first, among those in the lists of its
    // `probes` nearest centres; of equal ones the first. indices, distances: (count, k), -1 where there are fewer.
    void nearest(const std::uint8_t* queries, std::size_t count, std::size_t k, std::size_t probes, int threads,
                 std::int32_t* indices, std::int32_t* distances) const;

private:
    std::vector<std::uint8_t> centres_;      // (lists, descriptor_size)
    std::vector<std::size_t> starts_;        // where each list begins in members, and the end
    std::vector<std::int32_t> members_;      // indices of the descriptors, list by list
    std::vector<std::uint8_t> descriptors_;  // in the order of the members
};

}  // namespace graphreg
