#include "points/point_sampling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "points/point_filters.hpp"

namespace graphreg {

namespace {

struct Candidate {
    std::uint64_t hash;
    std::int32_t row;
};

// The finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t bits) {
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebULL;
    return bits ^ bits >> 31;
}

// The number of a cell along an axis.
std::uint64_t cell_number(double coordinate) {
    constexpr double most = (1 << 21) - 1;
    return static_cast<std::uint64_t>(static_cast<std::int32_t>(std::min(std::abs(coordinate), most)));
}

// By hash; where it is the same by distance from the centre, and then by coordinates. Hashes are spread evenly up to
// `largest`: the buckets that they are distributed to contain a few each.
std::vector<Candidate> sorted_by_hash(const std::vector<Candidate>& candidates, std::uint64_t largest,
                                      const double* points, const double* centre) {
    const int excess = static_cast<int>(std::bit_width(largest)) - static_cast<int>(std::bit_width(candidates.size()));
    const int shift = std::clamp(excess + 1, 0, 63);
    const std::size_t buckets = static_cast<std::size_t>(largest >> shift) + 1;
    std::vector<std::uint32_t> ends(buckets + 1);
    for (const Candidate& each : candidates) ++ends[(each.hash >> shift) + 1];
    for (std::size_t i = 1; i <= buckets; ++i) ends[i] += ends[i - 1];
    std::vector<Candidate> sorted(candidates.size());
    for (const Candidate& each : candidates) sorted[ends[each.hash >> shift]++] = each;
    auto before = [points, centre](const Candidate& a, const Candidate& b) {
        if (a.hash != b.hash) return a.hash < b.hash;
        const double *p = points + 3 * static_cast<std::size_t>(a.row),
                     *q = points + 3 * static_cast<std::size_t>(b.row);
        const double p_distance = squared_distance(p, centre), q_distance = squared_distance(q, centre);
        return p_distance != q_distance ? p_distance < q_distance : std::lexicographical_compare(p, p + 3, q, q + 3);
    };
    Candidate* begin = sorted.data();
    for (std::size_t i = 0; i < buckets; ++i) {
        Candidate* const end = sorted.data() + ends[i];
        if (end - begin > 1) std::sort(begin, end, before);
        begin = end;
    }
    return sorted;
}

bool repeats(const Candidate& a, const Candidate& b, const double* points) {
    const double *p = points + 3 * static_cast<std::size_t>(a.row), *q = points + 3 * static_cast<std::size_t>(b.row);
    return a.hash == b.hash && std::equal(p, p + 3, q);
}

}  // namespace

NearMoments near_moments(const double* points, std::size_t count, double max_ratio, std::size_t sample_size) {
    NearMoments found{};
    found.radius = middle_of(points, count, sample_size, found.middle.data());
    const double scale = 1 / found.radius, limit = max_ratio * max_ratio;
    double number = 0, x = 0, y = 0, z = 0, xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double dx = (points[3 * i] - found.middle[0]) * scale, dy = (points[3 * i + 1] - found.middle[1]) * scale,
                     dz = (points[3 * i + 2] - found.middle[2]) * scale;
        const double dxx = dx * dx, dyy = dy * dy, dzz = dz * dz;
        if (!(dxx + dyy + dzz <= limit)) continue;
        number += 1;
        x += dx, y += dy, z += dz;
        xx += dxx, yy += dyy, zz += dzz;
        xy += dx * dy, xz += dx * dz, yz += dy * dz;
    }
    found.sums = {number, x, y, z, xx, yy, zz, xy, xz, yz};
    return found;
}

std::vector<std::int32_t> sample_by_cell(const double* points, std::size_t count, const double* centre, double limit,
                                         const double* axes, std::size_t size, std::uint64_t seed) {
    constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();
    const auto wanted = static_cast<double>(size);
    const std::uint64_t first = mixed(seed);
    std::vector<Candidate> candidates;
    std::vector<std::int32_t> rows;
    // As many hashes as should be enough, and six standard deviations more; where points coincide they may not be.
    for (double share = (wanted + 6 * std::sqrt(wanted)) / static_cast<double>(count);; share *= 4) {
        const bool all = share >= 1;
        const std::uint64_t largest = all ? highest : static_cast<std::uint64_t>(std::ldexp(share, 64));
        candidates.resize(std::min(count, size + size / 4) + 1);
        std::size_t found = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const double* point = points + 3 * i;
            const double x = point[0] - centre[0], y = point[1] - centre[1], z = point[2] - centre[2];
            if (!(x * x + y * y + z * z <= limit * limit)) continue;
            const std::uint64_t cell = cell_number(axes[0] * x + axes[1] * y + axes[2] * z) |
                                       cell_number(axes[3] * x + axes[4] * y + axes[5] * z) << 21 |
                                       cell_number(axes[6] * x + axes[7] * y + axes[8] * z) << 42;
            const std::uint64_t hash = mixed(cell + first);
            // Written in any case, and kept or not: no branch that cannot be predicted.
            candidates[found] = {hash, static_cast<std::int32_t>(i)};
            found += hash <= largest;
            if (found == candidates.size()) candidates.resize(2 * found);
        }
        candidates.resize(found);
        candidates = sorted_by_hash(candidates, largest, points, centre);
        rows.clear();
        const Candidate* last = nullptr;
        for (const Candidate& each : candidates) {
            if (rows.size() == size) break;
            if (!last || !repeats(*last, each, points)) rows.push_back(each.row);
            last = &each;
        }
        if (rows.size() == size || all) return rows;
    }
}

}  // namespace graphreg
