#include "engine/contacts.hpp"

#include <array>

#include "common/parallel.hpp"

namespace graphreg {

namespace {

constexpr double max_squared_offset = 1;  // of a floating surfel, along the surface: it is above the surface's surfel

// The contacts of one cloud's surfels at a pose; information(i, j) is of its surfel i and the other's j.
template <class Information>
void add_contacts(const SurfelGrid& moving, const SurfelGrid& fixed, const RigidTransform& pose, double max_distance,
                  double min_cosine, std::size_t step, Information&& information, Contacts& contacts) {
    for (std::size_t i = 0; i < moving.size(); i += step) {
        const auto surfel = static_cast<std::int32_t>(i);
        const std::array<double, 3> x = pose.transformed(moving.point(surfel));
        // Where only some are counted, a surfel that is close will do.
        const std::int32_t j = step == 1 ? fixed.nearest(x) : fixed.lookup(x);
        if (j < 0) continue;
        const double *y = fixed.point(j), *m = fixed.normal(j);
        const double squared = squared_distance(x, y);
        if (squared > max_distance * max_distance) {
            const double height = (x[0] - y[0]) * m[0] + (x[1] - y[1]) * m[1] + (x[2] - y[2]) * m[2];
            if (squared - height * height <= max_squared_offset) ++(height > 0 ? contacts.in_front : contacts.behind);
            continue;
        }
        const std::array<double, 3> n = pose.rotated(moving.normal(surfel));
        const double cosine = n[0] * m[0] + n[1] * m[1] + n[2] * m[2];
        if (cosine < min_cosine) {
            ++(cosine < -min_cosine ? contacts.opposing : contacts.crossing);
            continue;
        }
        ++contacts.facing;
        contacts.information += static_cast<double>(information(i, static_cast<std::size_t>(j))) - 1;
    }
}

}  // namespace

void count_contacts(const DescriptorRanks& ranks, const SurfelGrid& source, const SurfelGrid& target,
                    const RigidTransform* poses, std::size_t count, double max_distance, double min_cosine,
                    std::size_t step, int threads, Contacts* contacts) {
    parallel_for(count, 1, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p) {
            contacts[p] = {};
            add_contacts(
                source, target, poses[p], max_distance, min_cosine, step,
                [&](std::size_t i, std::size_t j) { return ranks.information(i, j); }, contacts[p]);
            add_contacts(
                target, source, poses[p].inverse(), max_distance, min_cosine, step,
                [&](std::size_t j, std::size_t i) { return ranks.information(i, j); }, contacts[p]);
            for (double* number : {&contacts[p].facing, &contacts[p].opposing, &contacts[p].crossing,
                                   &contacts[p].in_front, &contacts[p].behind, &contacts[p].information})
                *number *= static_cast<double>(step);
        }
    });
}

}  // namespace graphreg
