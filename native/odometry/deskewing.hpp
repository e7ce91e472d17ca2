// Deskewing: every point of a frame by the pose of the sensor at its own time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/rigid_transforms.hpp"

namespace graphreg {

// points (count, 3), each transformed by the pose of its index: result (count, 3).
void transform_each(const double* points, const std::int32_t* pose_of, std::size_t count, const RigidTransform* poses,
                    int threads, double* result);

}  // namespace graphreg
