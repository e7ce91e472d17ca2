#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include "bindings/bindings.hpp"
#include "files/polygons.hpp"
#include "meshes/triangle_tree.hpp"
#include "meshes/triangulation.hpp"

namespace graphreg {

namespace {

using Faces = Input<std::int32_t, nb::shape<-1, 3>>;

template <class T>
Output<T> copied(const std::vector<T>& values) {
    NewArray<T> array({values.size()});
    std::copy(values.begin(), values.end(), array.data());
    return array.release();
}

nb::tuple as_tuple(const Polygons& found) {
    return nb::make_tuple(copied(found.corners), copied(found.sizes), found.stop);
}

std::string_view text_of(const Bytes& data) { return {reinterpret_cast<const char*>(data.data()), data.size()}; }

nb::tuple list_faces(const Bytes& data, std::size_t start, std::size_t rows, const std::string& kinds) {
    require(start <= data.size(), "start: behind the end of the data");
    return as_tuple(without_gil([&] { return parse_list_faces(text_of(data), start, rows, kinds); }));
}

nb::tuple obj_faces(const Bytes& data) {
    return as_tuple(without_gil([&] { return parse_obj_faces(text_of(data)); }));
}

nb::tuple binary_faces(const Bytes& data, std::size_t start, std::size_t rows,
                       const std::vector<std::tuple<std::size_t, std::size_t, std::size_t, bool>>& parts,
                       std::size_t list, bool signed_corners, bool big_endian) {
    require(start <= data.size(), "start: behind the end of the data");
    std::vector<RecordPart> layout;
    for (const auto& [fixed, count, item, is_signed] : parts) {
        require(count <= 8 && (count == 0 || (item > 0 && item <= 8)), "parts: lists of small numbers are expected");
        layout.push_back({fixed, count, item, is_signed});
    }
    require(list < layout.size() && layout[list].count > 0, "list: no list");
    return as_tuple(without_gil([&] {
        return unpack_faces({data.data(), data.size()}, start, rows, layout, list, signed_corners, big_endian);
    }));
}

Output<std::int32_t> triangles_of(const Points& vertices, const Indices& corners, const LongIndices& sizes) {
    const std::vector<std::int32_t> triangles = without_gil(
        [&] { return triangulate(vertices.data(), {corners.data(), corners.size()}, {sizes.data(), sizes.size()}); });
    NewArray<std::int32_t> result({triangles.size() / 3, 3});
    std::copy(triangles.begin(), triangles.end(), result.data());
    return result.release();
}

void init_tree(TriangleTree* self, const Points& vertices, const Faces& faces) {
    require(faces.shape(0) > 0, "a tree needs triangles");
    require(faces.shape(0) < std::numeric_limits<std::int32_t>::max() / 2, "a tree has at most 2^30 triangles");
    without_gil([&] { new (self) TriangleTree(vertices.data(), faces.data(), faces.shape(0)); });
}

nb::tuple closest(const TriangleTree& tree, const Points& queries, int threads) {
    const std::size_t count = queries.shape(0);
    require(count < std::numeric_limits<std::int32_t>::max(), "at most 2^31 queries at a time");
    NewArray<double> distances({count}), points({count, 3});
    NewArray<std::int32_t> faces({count});
    NewArray<std::uint8_t> regions({count});
    without_gil([&] {
        tree.closest(queries.data(), count, threads, {distances.data(), faces.data(), regions.data(), points.data()});
    });
    return nb::make_tuple(distances.release(), points.release(), faces.release(), regions.release());
}

}  // namespace

void bind_meshes(nb::module_& module) {
    module.def("parse_list_faces", list_faces, "data"_a, "start"_a, "rows"_a, "kinds"_a);
    module.def("parse_obj_faces", obj_faces, "data"_a);
    module.def("unpack_faces", binary_faces, "data"_a, "start"_a, "rows"_a, "parts"_a, "list"_a, nb::kw_only(),
               "signed_corners"_a, "big_endian"_a);
    module.def("triangulate", triangles_of, "vertices"_a, "corners"_a, "sizes"_a);
    nb::class_<TriangleTree>(module, "TriangleTree")
        .def("__init__", init_tree, "vertices"_a, "faces"_a)
        .def("__len__", &TriangleTree::size)
        .def("closest", closest, "queries"_a, "threads"_a);
}

}  // namespace graphreg
