#include <algorithm>

#include "bindings/bindings.hpp"
#include "engine/descriptor_index.hpp"
#include "engine/descriptors.hpp"
#include "engine/normal_orientation.hpp"

namespace graphreg {

namespace {

using Descriptors = Input<std::uint8_t, nb::shape<-1, descriptor_size>>;

Output<double> orient(const Points& points, const Points& normals, const IndexTable& neighbours) {
    const std::size_t count = points.shape(0);
    require(normals.shape(0) == count && neighbours.shape(0) == count,
            "points, normals and neighbours must be of one length");
    NewArray<double> oriented({count, 3});
    std::copy_n(normals.data(), 3 * count, oriented.data());
    without_gil(
        [&] { orient_consistently(points.data(), oriented.data(), neighbours.data(), count, neighbours.shape(1)); });
    return oriented.release();
}

void init_index(DescriptorIndex* self, const Descriptors& descriptors, int threads) {
    require(descriptors.shape(0) > 0, "an index needs at least one descriptor");
    without_gil([&] { new (self) DescriptorIndex(descriptors.data(), descriptors.shape(0), threads); });
}

nb::tuple nearest_descriptors(const DescriptorIndex& self, const Descriptors& queries, std::size_t k,
                              std::size_t probes, int threads) {
    require(k > 0 && probes > 0, "k and probes: at least 1 is needed");
    NewArray<std::int32_t> indices({queries.shape(0), k}), distances({queries.shape(0), k});
    without_gil(
        [&] { self.nearest(queries.data(), queries.shape(0), k, probes, threads, indices.data(), distances.data()); });
    return nb::make_tuple(indices.release(), distances.release());
}

}  // namespace

void bind_scene_index(nb::module_& module) {
    module.def("orient_consistently", orient, "points"_a, "normals"_a, "neighbours"_a);
    nb::class_<DescriptorIndex>(module, "DescriptorIndex")
        .def("__init__", init_index, "descriptors"_a, "threads"_a)
        .def("__len__", &DescriptorIndex::size)
        .def("nearest", nearest_descriptors, "queries"_a, "k"_a, "probes"_a, "threads"_a);
}

}  // namespace graphreg
