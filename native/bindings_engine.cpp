#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "surfel_grid.hpp"
#include "hypotheses.hpp"
#include "normal_equations.hpp"
#include "descriptors.hpp"

namespace graphreg {

namespace {

using Descriptors = Input<std::uint8_t, nb::shape<-1, descriptor_size>>;
using Poses = Input<double, nb::shape<-1, 4, 4>>;
using Numbers = Input<double, nb::shape<-1>>;
using Indices = Input<std::int32_t, nb::shape<-1>>;

void same_length(std::initializer_list<std::size_t> lengths) {
    for (const std::size_t length : lengths)
        if (length != *lengths.begin()) throw std::invalid_argument("arrays of one length are needed");
}

std::vector<RigidTransform> transforms_of(const Poses& poses) {
    std::vector<RigidTransform> transforms(poses.shape(0));
    for (std::size_t i = 0; i < transforms.size(); ++i) transforms[i] = RigidTransform::from_matrix(poses.data() + 16 * i);
    return transforms;
}

// Keeps alive what it points to.
struct OwnedSurfelPoints {
    nb::object field;
    Points points;
    Indices own;
    Numbers weights;

    SurfelPoints get() const {
        return {nb::cast<const SurfelGrid&>(field), points.data(), own.data(), weights.data(), points.shape(0)};
    }
};

nb::tuple to_tuple(const NormalEquations& sums) {
    Fresh<double> a({6, 6}), b({6});
    for (int row = 0; row < 6; ++row) {
        for (int column = 0; column < 6; ++column)
            a.data()[6 * row + column] = sums.a[std::max(row, column)][std::min(row, column)];
        b.data()[row] = sums.b[row];
    }
    return nb::make_tuple(a.release(), b.release(), sums.weight, sums.squared);
}

template <class Transforms, class Get>
Output<double> matrices(const Transforms& transforms, Get&& get) {
    Fresh<double> result({transforms.size(), 4, 4});
    for (std::size_t i = 0; i < transforms.size(); ++i) get(transforms[i]).to_matrix(result.data() + 16 * i);
    return result.release();
}

}  // namespace

void bind_engine(nb::module_& module) {
    nb::class_<DegreesOfFreedom>(module, "DegreesOfFreedom")
        .def("__init__",
             [](DegreesOfFreedom* self, const std::array<bool, 6>& free, const std::array<double, 3>& pivot) {
                 new (self) DegreesOfFreedom{free, pivot};
             },
             nb::arg("free"), nb::arg("pivot"));
    module.def(
        "descriptors",
        [](const Points& points, const Points& normals, double radius, int threads) {
            same_length({points.shape(0), normals.shape(0)});
            Fresh<std::uint8_t> result({points.shape(0), descriptor_size});
            unlocked([&] {
                descriptors(points.data(), normals.data(), points.shape(0), radius, threads, result.data());
            });
            return result.release();
        },
        nb::arg("points"), nb::arg("normals"), nb::arg("radius"), nb::arg("threads"));
    module.def(
        "match_descriptors",
        [](const Descriptors& a, const Descriptors& b, int threads) {
            if (a.shape(0) == 0 || b.shape(0) == 0) throw std::invalid_argument("no descriptors to match");
            Fresh<std::int32_t> best_of_a({a.shape(0)}), best_of_b({b.shape(0)});
            unlocked([&] {
                match_descriptors(a.data(), a.shape(0), b.data(), b.shape(0), threads, best_of_a.data(), best_of_b.data());
            });
            return nb::make_tuple(best_of_a.release(), best_of_b.release());
        },
        nb::arg("a"), nb::arg("b"), nb::arg("threads"));
    module.def(
        "hypotheses",
        [](const Points& source, const Points& source_normals, const Points& target, const Points& target_normals,
           double tolerance, std::size_t most, const DegreesOfFreedom& dof, int threads) {
            same_length({source.shape(0), source_normals.shape(0), target.shape(0), target_normals.shape(0)});
            const Matches matches{source.data(), source_normals.data(), target.data(), target_normals.data(),
                                  source.shape(0)};
            const auto found = unlocked([&] { return hypotheses(matches, tolerance, most, dof, threads); });
            Fresh<std::int32_t> support({found.size()});
            for (std::size_t i = 0; i < found.size(); ++i) support.data()[i] = found[i].support;
            return nb::make_tuple(matrices(found, [](const Hypothesis& h) { return h.transform; }), support.release());
        },
        nb::arg("source"), nb::arg("source_normals"), nb::arg("target"), nb::arg("target_normals"),
        nb::arg("tolerance"), nb::arg("max_count"), nb::arg("dof"), nb::arg("threads"));
    nb::class_<SurfelGrid>(module, "SurfelGrid")
        .def("__init__",
             [](SurfelGrid* self, const Points& points, const Points& normals,
                const Input<std::int32_t, nb::shape<-1, -1>>& neighbours) {
                 same_length({points.shape(0), normals.shape(0), neighbours.shape(0)});
                 if (points.shape(0) == 0) throw std::invalid_argument("a surfel grid needs at least one surfel");
                 unlocked([&] {
                     new (self) SurfelGrid(points.data(), normals.data(), neighbours.data(), points.shape(0), neighbours.shape(1));
                 });
             },
             nb::arg("points"), nb::arg("normals"), nb::arg("neighbours"))
        .def(
            "nearest",
            [](const SurfelGrid& self, const Points& places, double most, int threads) {
                Fresh<std::int32_t> indices({places.shape(0)});
                unlocked([&] { self.nearest(places.data(), places.shape(0), most, threads, indices.data()); });
                return indices.release();
            },
            nb::arg("queries"), nb::arg("max_distance"), nb::arg("threads"))
        .def(
            "score",
            [](const SurfelGrid& self, const Poses& poses, const Points& points, const Points& normals, double reach,
               int threads) {
                same_length({points.shape(0), normals.shape(0)});
                const auto transforms = transforms_of(poses);
                Fresh<double> scores({transforms.size()});
                unlocked([&] {
                    self.score(transforms.data(), transforms.size(), points.data(), normals.data(), points.shape(0), reach,
                               threads, scores.data());
                });
                return scores.release();
            },
            nb::arg("poses"), nb::arg("points"), nb::arg("normals"), nb::arg("max_distance"), nb::arg("threads"))
        .def(
            "refine",
            [](const SurfelGrid& self, const Poses& poses, const Points& points, const Points& normals,
               const std::optional<Numbers>& weights, const Numbers& scales, const DegreesOfFreedom& dof, int threads) {
                same_length({points.shape(0), normals.shape(0), weights ? weights->shape(0) : points.shape(0)});
                auto transforms = transforms_of(poses);
                const SurfelView source{points.data(), normals.data(), weights ? weights->data() : nullptr, points.shape(0)};
                unlocked([&] {
                    self.refine(transforms.data(), transforms.size(), source, scales.data(), scales.shape(0), dof, threads);
                });
                return matrices(transforms, [](const RigidTransform& m) { return m; });
            },
            nb::arg("poses"), nb::arg("points"), nb::arg("normals"), nb::arg("weights").none(), nb::arg("scales"),
            nb::arg("dof"), nb::arg("threads"))
        .def(
            "equations",
            [](const SurfelGrid& self, const Input<double, nb::shape<4, 4>>& pose, const Points& points,
               const Points& normals, const std::optional<Numbers>& weights, double scale, int threads) {
                same_length({points.shape(0), normals.shape(0), weights ? weights->shape(0) : points.shape(0)});
                const SurfelView source{points.data(), normals.data(), weights ? weights->data() : nullptr, points.shape(0)};
                const NormalEquations sums =
                    unlocked([&] { return self.equations(RigidTransform::from_matrix(pose.data()), source, scale, threads); });
                return to_tuple(sums);
            },
            nb::arg("pose"), nb::arg("points"), nb::arg("normals"), nb::arg("weights").none(), nb::arg("scale"),
            nb::arg("threads"));
    nb::class_<OwnedSurfelPoints>(module, "SurfelPoints")
        .def("__init__",
             [](OwnedSurfelPoints* self, nb::object field, const Points& points, const Indices& own, const Numbers& weights) {
                 const std::size_t pieces = nb::cast<const SurfelGrid&>(field).size();
                 same_length({points.shape(0), own.shape(0)});
                 same_length({pieces, weights.shape(0)});
                 for (std::size_t i = 0; i < own.shape(0); ++i)
                     if (own.data()[i] >= static_cast<std::int64_t>(pieces)) throw std::invalid_argument("surfels: index out of range");
                 new (self) OwnedSurfelPoints{std::move(field), points, own, weights};
             },
             nb::arg("grid"), nb::arg("points"), nb::arg("surfels"), nb::arg("weights"));
    module.def(
        "symmetric_equations",
        [](const OwnedSurfelPoints& source, const OwnedSurfelPoints& target, const Input<double, nb::shape<4, 4>>& pose,
           double scale, int threads) {
            const SurfelPoints x = source.get(), y = target.get();
            return to_tuple(unlocked(
                [&] { return symmetric_equations(x, y, RigidTransform::from_matrix(pose.data()), scale, threads); }));
        },
        nb::arg("source"), nb::arg("target"), nb::arg("pose"), nb::arg("scale"), nb::arg("threads"));
    module.def(
        "refine_symmetric",
        [](const OwnedSurfelPoints& source, const OwnedSurfelPoints& target, const Input<double, nb::shape<4, 4>>& start,
           double scale, int most_steps, double enough, const DegreesOfFreedom& dof, int threads) {
            const SurfelPoints x = source.get(), y = target.get();
            const RigidTransform transform = unlocked([&] {
                return refine_symmetric(x, y, RigidTransform::from_matrix(start.data()), scale, most_steps, enough, dof, threads);
            });
            Fresh<double> result({4, 4});
            transform.to_matrix(result.data());
            return result.release();
        },
        nb::arg("source"), nb::arg("target"), nb::arg("start"), nb::arg("scale"), nb::arg("max_steps"),
        nb::arg("tolerance"), nb::arg("dof"), nb::arg("threads"));
}

}  // namespace graphreg
