// What every binding file needs: array types that check shape and dtype, fresh arrays to return, and the functions that
// add each room's kernels to the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace graphreg {

namespace nb = nanobind;

template <class T, class... Shape>
using Input = nb::ndarray<const T, nb::device::cpu, nb::c_contig, Shape...>;
using Points = Input<double, nb::shape<-1, 3>>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::c_contig>;

// An uninitialised array that Python will own.
template <class T>
class Fresh {
public:
    explicit Fresh(std::initializer_list<std::size_t> shape) : shape_(shape) {
        std::size_t size = 1;
        for (const std::size_t side : shape) size *= side;
        data_.reset(new T[size]);
    }

    T* data() { return data_.get(); }

    Output<T> release() {
        T* data = data_.get();
        nb::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
        data_.release();
        return Output<T>(data, shape_.size(), shape_.data(), owner);
    }

private:
    std::vector<std::size_t> shape_;
    std::unique_ptr<T[]> data_;
};

// Runs work without the GIL.
template <class Work>
auto unlocked(Work&& work) {
    nb::gil_scoped_release released;
    return work();
}

void bind_neighbours(nb::module_& module);
void bind_surfaces(nb::module_& module);
void bind_voxels(nb::module_& module);

}  // namespace graphreg
