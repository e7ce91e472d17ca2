// Shared by the bindings: array types that check shape and dtype, new arrays to return, and the functions that add the
// kernels of each file to the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace graphreg {

namespace nb = nanobind;
using namespace nanobind::literals;

template <class T, class... Shape>
using Input = nb::ndarray<const T, nb::device::cpu, nb::c_contig, Shape...>;
using Points = Input<double, nb::shape<-1, 3>>;
using Numbers = Input<double, nb::shape<-1>>;
using NumberTable = Input<double, nb::shape<-1, -1>>;
using Bytes = Input<std::uint8_t, nb::ndim<1>>;
using Indices = Input<std::int32_t, nb::shape<-1>>;
using LongIndices = Input<std::int64_t, nb::shape<-1>>;
using IndexTable = Input<std::int32_t, nb::shape<-1, -1>>;
using Pose = Input<double, nb::shape<4, 4>>;
using FloatPoints = Input<float, nb::shape<-1, 3>>;
using FloatNumbers = Input<float, nb::shape<-1>>;
using FloatTable = Input<float, nb::shape<-1, -1>>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::c_contig>;

// An array that takes ownership of memory.
template <class T>
Output<T> to_numpy(std::unique_ptr<T[]> values, const std::vector<std::size_t>& shape) {
    T* const data = values.get();
    nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
    values.release();
    return Output<T>(data, shape.size(), shape.data(), owner);
}

// An uninitialised array to fill and return.
template <class T>
class NewArray {
public:
    explicit NewArray(std::initializer_list<std::size_t> shape) : shape_(shape) {
        std::size_t size = 1;
        for (const std::size_t length : shape) size *= length;
        values_.reset(new T[size]);
    }

    T* data() { return values_.get(); }

    Output<T> release() { return to_numpy(std::move(values_), shape_); }

private:
    std::vector<std::size_t> shape_;
    std::unique_ptr<T[]> values_;
};

// Of an optional array.
template <class Array>
auto data_or_null(const std::optional<Array>& array) {
    return array ? array->data() : nullptr;
}

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// Calls work() without the GIL.
template <class Work>
auto without_gil(Work&& work) {
    nb::gil_scoped_release released;
    return work();
}

void bind_alignment(nb::module_& module);
void bind_cliques(nb::module_& module);
void bind_descriptors(nb::module_& module);
void bind_features(nb::module_& module);
void bind_gaussian_sums(nb::module_& module);
void bind_hypotheses(nb::module_& module);
void bind_kd_tree(nb::module_& module);
void bind_local_geometry(nb::module_& module);
void bind_meshes(nb::module_& module);
void bind_pair_forces(nb::module_& module);
void bind_parsing(nb::module_& module);
void bind_scene_index(nb::module_& module);
void bind_smooth_union(nb::module_& module);
void bind_surfel_map(nb::module_& module);
void bind_surfels(nb::module_& module);
void bind_voxels(nb::module_& module);

}  // namespace graphreg
