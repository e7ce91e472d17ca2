// Ranks of descriptor distances: how rare is a distance as small as this, among all that a surfel could match?
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

// For each descriptor, the distribution of its distances to a sample of the other cloud's. The rank of a pair is the
// share of distances that are smaller: the geometric mean r of the rank among all targets and among all sources. By
// chance -log r has mean 1, however common a descriptor is.
class DescriptorRanks {
public:
    // Descriptors (count, descriptor_size); they must outlive this object. Neither cloud is empty.
    DescriptorRanks(const std::uint8_t* source, std::size_t source_count, const std::uint8_t* target,
                    std::size_t target_count, int threads);

    std::size_t source_count() const { return source_count_; }
    std::size_t target_count() const { return target_count_; }

    // -log r of source i and target j.
    float information(std::size_t i, std::size_t j) const;

private:
    // The ranks of distances between the descriptors of one cloud and a sample of the other's.
    class Tables {
    public:
        Tables(const std::uint8_t* descriptors, std::size_t count, const std::uint8_t* others, std::size_t other_count,
               int threads);
        float minus_log(std::size_t descriptor, std::size_t bin) const;  // of the rank of a distance in the bin

    private:
        std::vector<std::uint16_t> twice_below_;  // of each descriptor and bin: see rank_tables()
        std::vector<float> minus_log_;            // of these
    };

    const std::uint8_t *source_, *target_;
    std::size_t source_count_, target_count_;
    Tables of_source_, of_target_;
};

}  // namespace graphreg
