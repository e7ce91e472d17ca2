// An incremental map of planar surfels for LiDAR odometry: a hash table of voxels, each the root of an octree. The
// largest voxel of an octree whose points lie in a plane is a surfel (adaptive voxels, after Yuan et al. 2022).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/rigid_transforms.hpp"
#include "odometry/frame_voxels.hpp"

namespace graphreg {

struct Surfel {
    std::array<double, 3> point, normal;
    double thickness;  // variance along the normal
    double extent;     // smaller variance across it
    double points;     // number of points
};

class SurfelMap {
public:
    // Sizes of voxels are voxel, 2 voxel, ... 2^(levels - 1) voxel. Points lie in a plane if their standard deviation
    // along the normal is at most max_thickness.
    SurfelMap(double voxel, int levels, double max_thickness);

    // Adds a frame.
    void insert(const FrameVoxels& frame, const RigidTransform& T_map_frame, int threads);

    // Removes the largest voxels whose centre is farther than `radius` from `centre`.
    void forget(const double* centre, double radius);

    // The surfel whose voxel contains the point, or null. `occupied`: whether the map has points in the smallest voxel
    // there; where there is a surfel, in the voxel of the surfel.
    const Surfel* find(const std::array<double, 3>& point, bool& occupied) const;

    std::size_t root_count() const { return root_count_; }

private:
    // What is looked up stands together.
    struct Node {
        bool planar = false, waiting = false;  // is a surfel; is among those to be estimated
        std::array<std::int32_t, 8> child = {-1, -1, -1, -1, -1, -1, -1, -1};
        Surfel surfel = {};
        double count = 0, fitted = 0;         // points; points when the surfel was last estimated
        std::array<double, 3> sum = {};       // of the offsets from the centre of the root
        std::array<double, 6> products = {};  // of these
        std::array<double, 3> origin = {};    // the centre of the root
    };

    std::int32_t new_node(const std::array<double, 3>& origin);
    void release(std::int32_t node);
    std::int32_t root_of(std::uint64_t key) const;
    void set_root(std::uint64_t key, std::int32_t node);
    void grow();
    void fit(Node& node, double size) const;

    double voxel_, root_size_;
    int levels_;
    double max_variance_;
    std::vector<Node> nodes_;
    std::vector<std::int32_t> unused_;
    std::vector<std::uint64_t> keys_;  // open addressing; `no_voxel_key` where free
    std::vector<std::int32_t> roots_;
    std::size_t root_count_ = 0;
};

}  // namespace graphreg
