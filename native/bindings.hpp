// What every binding file needs: array types that check shape and dtype, fresh arrays to return, and the functions that
// add each room's kernels to the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace graphreg {

namespace nb = nanobind;

template <class T, class... Shape>
using Input = nb::ndarray<const T, nb::device::cpu, nb::c_contig, Shape...>;
using Points = Input<double, nb::shape<-1, 3>>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::c_contig>;

// Memory that Python will own from now on, as an array.
template <class T>
Output<T> hand_over(std::unique_ptr<T[]> values, const std::vector<std::size_t>& shape) {
    T* const data = values.get();
    nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
    values.release();
    return Output<T>(data, shape.size(), shape.data(), owner);
}

// An uninitialised array to fill and hand over.
template <class T>
class Fresh {
public:
    explicit Fresh(std::initializer_list<std::size_t> shape) : shape_(shape) {
        std::size_t size = 1;
        for (const std::size_t side : shape) size *= side;
        values_.reset(new T[size]);
    }

    T* data() { return values_.get(); }

    Output<T> release() { return hand_over(std::move(values_), shape_); }

private:
    std::vector<std::size_t> shape_;
    std::unique_ptr<T[]> values_;
};

// Runs work without the GIL.
template <class Work>
auto unlocked(Work&& work) {
    nb::gil_scoped_release released;
    return work();
}

void bind_alignment(nb::module_& module);
void bind_cliques(nb::module_& module);
void bind_fpfh(nb::module_& module);
void bind_gaussian_sums(nb::module_& module);
void bind_kd_tree(nb::module_& module);
void bind_pair_forces(nb::module_& module);
void bind_parsing(nb::module_& module);
void bind_engine(nb::module_& module);
void bind_local_geometry(nb::module_& module);
void bind_voxels(nb::module_& module);

}  // namespace graphreg
