#include <algorithm>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/pose_arrays.hpp"
#include "engine/contacts.hpp"
#include "engine/descriptor_matching.hpp"
#include "engine/descriptor_ranks.hpp"
#include "engine/descriptors.hpp"

namespace graphreg {

namespace {

using Descriptors = Input<std::uint8_t, nb::shape<-1, descriptor_size>>;

Output<std::uint8_t> compute(const Points& points, const Points& normals, double radius, int threads) {
    require(normals.shape(0) == points.shape(0), "normals: one for each point is needed");
    NewArray<std::uint8_t> result({points.shape(0), descriptor_size});
    without_gil([&] { descriptors(points.data(), normals.data(), points.shape(0), radius, threads, result.data()); });
    return result.release();
}

nb::tuple match(const Descriptors& a, const Descriptors& b, int threads) {
    require(a.shape(0) > 0 && b.shape(0) > 0, "no descriptors to match");
    NewArray<std::int32_t> best_of_a({a.shape(0)}), best_of_b({b.shape(0)});
    without_gil([&] {
        match_descriptors(a.data(), a.shape(0), b.data(), b.shape(0), threads, best_of_a.data(), best_of_b.data());
    });
    return nb::make_tuple(best_of_a.release(), best_of_b.release());
}

nb::tuple match_near(const Descriptors& a, const Descriptors& b, const LongIndices& offsets, const Indices& near) {
    const std::size_t rows = a.shape(0), columns = b.shape(0), pairs = near.shape(0);
    require(offsets.shape(0) == rows + 1, "offsets must have one row more than a");
    require(offsets.data()[0] == 0 && offsets.data()[rows] == static_cast<std::int64_t>(pairs), "wrong offsets");
    for (std::size_t i = 0; i < rows; ++i) require(offsets.data()[i] <= offsets.data()[i + 1], "wrong offsets");
    for (std::size_t n = 0; n < pairs; ++n)
        require(near.data()[n] >= 0 && static_cast<std::size_t>(near.data()[n]) < columns, "index out of range");
    NewArray<std::int32_t> best_of_a({rows}), best_of_b({columns});
    without_gil([&] {
        match_near_descriptors(a.data(), rows, b.data(), columns, offsets.data(), near.data(), best_of_a.data(),
                               best_of_b.data());
    });
    return nb::make_tuple(best_of_a.release(), best_of_b.release());
}

// Python's DescriptorRanks: keeps the arrays alive.
struct OwnedRanks {
    Descriptors source, target;
    DescriptorRanks ranks;
};

void init_ranks(OwnedRanks* self, const Descriptors& source, const Descriptors& target, int threads) {
    require(source.shape(0) > 0 && target.shape(0) > 0, "no descriptors to rank");
    DescriptorRanks ranks = without_gil(
        [&] { return DescriptorRanks(source.data(), source.shape(0), target.data(), target.shape(0), threads); });
    new (self) OwnedRanks{source, target, std::move(ranks)};
}

Output<float> information(const OwnedRanks& self, const Indices& i, const Indices& j) {
    require(i.shape(0) == j.shape(0), "i and j must be of one length");
    NewArray<float> result({i.shape(0)});
    for (std::size_t n = 0; n < i.shape(0); ++n) {
        const auto x = static_cast<std::size_t>(i.data()[n]), y = static_cast<std::size_t>(j.data()[n]);
        require(x < self.ranks.source_count() && y < self.ranks.target_count(), "index out of range");
        result.data()[n] = self.ranks.information(x, y);
    }
    return result.release();
}

Output<double> contacts(const OwnedRanks& self, const SurfelGrid& source, const SurfelGrid& target, const Poses& poses,
                        double max_distance, double min_cosine, std::size_t step, int threads) {
    require(step > 0, "step must be positive");
    require(self.ranks.source_count() == source.size() && self.ranks.target_count() == target.size(),
            "surfels and descriptors must be of one length");
    const auto transforms = transforms_of(poses);
    std::vector<Contacts> found(transforms.size());
    without_gil([&] {
        count_contacts(self.ranks, source, target, transforms.data(), transforms.size(), max_distance, min_cosine, step,
                       threads, found.data());
    });
    constexpr std::size_t columns = 6;
    NewArray<double> result({transforms.size(), columns});
    for (std::size_t p = 0; p < found.size(); ++p) {
        const Contacts& of = found[p];
        const double row[columns] = {of.facing, of.opposing, of.crossing, of.in_front, of.behind, of.information};
        std::copy_n(row, columns, result.data() + columns * p);
    }
    return result.release();
}

}  // namespace

void bind_descriptors(nb::module_& module) {
    module.def("descriptors", compute, "points"_a, "normals"_a, "radius"_a, "threads"_a);
    module.def("match_descriptors", match, "a"_a, "b"_a, "threads"_a);
    module.def("match_near_descriptors", match_near, "a"_a, "b"_a, "offsets"_a, "near"_a);
    nb::class_<OwnedRanks>(module, "DescriptorRanks")
        .def("__init__", init_ranks, "source"_a, "target"_a, "threads"_a)
        .def("information", information, "i"_a, "j"_a)
        .def("contacts", contacts, "source"_a, "target"_a, "poses"_a, "max_distance"_a, "min_cosine"_a, "step"_a,
             "threads"_a);
}

}  // namespace graphreg
