// Arrays of poses, (count, 4, 4), as rigid transforms.
#pragma once

#include <vector>

#include "bindings/bindings.hpp"
#include "engine/rigid_transforms.hpp"

namespace graphreg {

using Poses = Input<double, nb::shape<-1, 4, 4>>;

inline std::vector<RigidTransform> transforms_of(const Poses& poses) {
    std::vector<RigidTransform> transforms(poses.shape(0));
    for (std::size_t i = 0; i < transforms.size(); ++i)
        transforms[i] = RigidTransform::from_matrix(poses.data() + 16 * i);
    return transforms;
}

}  // namespace graphreg
