#include "odometry/deskewing.hpp"

#include "common/parallel.hpp"

namespace graphreg {

void transform_each(const double* points, const std::int32_t* pose_of, std::size_t count, const RigidTransform* poses,
                    int threads, double* result) {
    parallel_for(count, 1 << 14, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const auto point = poses[pose_of[i]].transformed(points + 3 * i);
            for (std::size_t axis = 0; axis < 3; ++axis) result[3 * i + axis] = point[axis];
        }
    });
}

}  // namespace graphreg
