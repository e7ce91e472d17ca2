#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "field.hpp"
#include "hypotheses.hpp"
#include "refinement.hpp"
#include "signatures.hpp"

namespace graphreg {

namespace {

using Signatures = Input<std::uint8_t, nb::shape<-1, signature_size>>;
using Poses = Input<double, nb::shape<-1, 4, 4>>;
using Numbers = Input<double, nb::shape<-1>>;
using Indices = Input<std::int32_t, nb::shape<-1>>;

void same_length(std::initializer_list<std::size_t> lengths) {
    for (const std::size_t length : lengths)
        if (length != *lengths.begin()) throw std::invalid_argument("arrays of one length are needed");
}

std::vector<Motion> motions_of(const Poses& poses) {
    std::vector<Motion> motions(poses.shape(0));
    for (std::size_t i = 0; i < motions.size(); ++i) motions[i] = Motion::from_matrix(poses.data() + 16 * i);
    return motions;
}

// Keeps alive what it points to.
struct KeptSettling {
    nb::object field;
    Points points;
    Indices own;
    Numbers weights;

    Settling get() const {
        return {nb::cast<const Field&>(field), points.data(), own.data(), weights.data(), points.shape(0)};
    }
};

nb::tuple told(const NormalEquations& sums) {
    Fresh<double> a({6, 6}), b({6});
    for (int row = 0; row < 6; ++row) {
        for (int column = 0; column < 6; ++column)
            a.data()[6 * row + column] = sums.a[std::max(row, column)][std::min(row, column)];
        b.data()[row] = sums.b[row];
    }
    return nb::make_tuple(a.release(), b.release(), sums.weight, sums.squared);
}

template <class Motions, class Get>
Output<double> matrices(const Motions& motions, Get&& get) {
    Fresh<double> result({motions.size(), 4, 4});
    for (std::size_t i = 0; i < motions.size(); ++i) get(motions[i]).to_matrix(result.data() + 16 * i);
    return result.release();
}

}  // namespace

void bind_search(nb::module_& module) {
    nb::class_<Freedom>(module, "DegreesOfFreedom")
        .def("__init__",
             [](Freedom* self, const std::array<bool, 6>& free, const std::array<double, 3>& pivot) {
                 new (self) Freedom{free, pivot};
             },
             nb::arg("free"), nb::arg("pivot"));
    module.def(
        "descriptors",
        [](const Points& points, const Points& normals, double radius, int threads) {
            same_length({points.shape(0), normals.shape(0)});
            Fresh<std::uint8_t> result({points.shape(0), signature_size});
            unlocked([&] {
                signatures(points.data(), normals.data(), points.shape(0), radius, threads, result.data());
            });
            return result.release();
        },
        nb::arg("points"), nb::arg("normals"), nb::arg("radius"), nb::arg("threads"));
    module.def(
        "match_descriptors",
        [](const Signatures& a, const Signatures& b, int threads) {
            if (a.shape(0) == 0 || b.shape(0) == 0) throw std::invalid_argument("no descriptors to match");
            Fresh<std::int32_t> best_of_a({a.shape(0)}), best_of_b({b.shape(0)});
            unlocked([&] {
                match(a.data(), a.shape(0), b.data(), b.shape(0), threads, best_of_a.data(), best_of_b.data());
            });
            return nb::make_tuple(best_of_a.release(), best_of_b.release());
        },
        nb::arg("a"), nb::arg("b"), nb::arg("threads"));
    module.def(
        "hypotheses",
        [](const Points& source, const Points& source_normals, const Points& target, const Points& target_normals,
           double tolerance, std::size_t most, const Freedom& freedom, int threads) {
            same_length({source.shape(0), source_normals.shape(0), target.shape(0), target_normals.shape(0)});
            const Matches matches{source.data(), source_normals.data(), target.data(), target_normals.data(),
                                  source.shape(0)};
            const auto found = unlocked([&] { return hypotheses(matches, tolerance, most, freedom, threads); });
            Fresh<std::int32_t> support({found.size()});
            for (std::size_t i = 0; i < found.size(); ++i) support.data()[i] = found[i].support;
            return nb::make_tuple(matrices(found, [](const Hypothesis& h) { return h.motion; }), support.release());
        },
        nb::arg("source"), nb::arg("source_normals"), nb::arg("target"), nb::arg("target_normals"),
        nb::arg("tolerance"), nb::arg("most"), nb::arg("dof"), nb::arg("threads"));
    nb::class_<Field>(module, "SurfelGrid")
        .def("__init__",
             [](Field* self, const Points& points, const Points& normals,
                const Input<std::int32_t, nb::shape<-1, -1>>& neighbours) {
                 same_length({points.shape(0), normals.shape(0), neighbours.shape(0)});
                 if (points.shape(0) == 0) throw std::invalid_argument("a field needs points");
                 unlocked([&] {
                     new (self) Field(points.data(), normals.data(), neighbours.data(), points.shape(0), neighbours.shape(1));
                 });
             },
             nb::arg("points"), nb::arg("normals"), nb::arg("neighbours"))
        .def(
            "nearest",
            [](const Field& self, const Points& places, double most, int threads) {
                Fresh<std::int32_t> indices({places.shape(0)});
                unlocked([&] { self.nearest(places.data(), places.shape(0), most, threads, indices.data()); });
                return indices.release();
            },
            nb::arg("places"), nb::arg("most"), nb::arg("threads"))
        .def(
            "score",
            [](const Field& self, const Poses& poses, const Points& points, const Points& normals, double reach,
               int threads) {
                same_length({points.shape(0), normals.shape(0)});
                const auto motions = motions_of(poses);
                Fresh<double> scores({motions.size()});
                unlocked([&] {
                    self.score(motions.data(), motions.size(), points.data(), normals.data(), points.shape(0), reach,
                               threads, scores.data());
                });
                return scores.release();
            },
            nb::arg("poses"), nb::arg("points"), nb::arg("normals"), nb::arg("reach"), nb::arg("threads"))
        .def(
            "refine",
            [](const Field& self, const Poses& poses, const Points& points, const Points& normals,
               const std::optional<Numbers>& weights, const Numbers& scales, const Freedom& freedom, int threads) {
                same_length({points.shape(0), normals.shape(0), weights ? weights->shape(0) : points.shape(0)});
                auto motions = motions_of(poses);
                const Surface source{points.data(), normals.data(), weights ? weights->data() : nullptr, points.shape(0)};
                unlocked([&] {
                    self.refine(motions.data(), motions.size(), source, scales.data(), scales.shape(0), freedom, threads);
                });
                return matrices(motions, [](const Motion& m) { return m; });
            },
            nb::arg("poses"), nb::arg("points"), nb::arg("normals"), nb::arg("weights").none(), nb::arg("scales"),
            nb::arg("dof"), nb::arg("threads"))
        .def(
            "equations",
            [](const Field& self, const Input<double, nb::shape<4, 4>>& pose, const Points& points,
               const Points& normals, const std::optional<Numbers>& weights, double scale, int threads) {
                same_length({points.shape(0), normals.shape(0), weights ? weights->shape(0) : points.shape(0)});
                const Surface source{points.data(), normals.data(), weights ? weights->data() : nullptr, points.shape(0)};
                const NormalEquations sums =
                    unlocked([&] { return self.equations(Motion::from_matrix(pose.data()), source, scale, threads); });
                return told(sums);
            },
            nb::arg("pose"), nb::arg("points"), nb::arg("normals"), nb::arg("weights").none(), nb::arg("scale"),
            nb::arg("threads"));
    nb::class_<KeptSettling>(module, "SurfelPoints")
        .def("__init__",
             [](KeptSettling* self, nb::object field, const Points& points, const Indices& own, const Numbers& weights) {
                 const std::size_t pieces = nb::cast<const Field&>(field).size();
                 same_length({points.shape(0), own.shape(0)});
                 same_length({pieces, weights.shape(0)});
                 for (std::size_t i = 0; i < own.shape(0); ++i)
                     if (own.data()[i] >= static_cast<std::int64_t>(pieces)) throw std::invalid_argument("no such piece");
                 new (self) KeptSettling{std::move(field), points, own, weights};
             },
             nb::arg("grid"), nb::arg("points"), nb::arg("own"), nb::arg("weights"));
    module.def(
        "symmetric_equations",
        [](const KeptSettling& source, const KeptSettling& target, const Input<double, nb::shape<4, 4>>& pose,
           double scale, int threads) {
            const Settling x = source.get(), y = target.get();
            return told(unlocked(
                [&] { return settling_equations(x, y, Motion::from_matrix(pose.data()), scale, threads); }));
        },
        nb::arg("source"), nb::arg("target"), nb::arg("pose"), nb::arg("scale"), nb::arg("threads"));
    module.def(
        "refine_symmetric",
        [](const KeptSettling& source, const KeptSettling& target, const Input<double, nb::shape<4, 4>>& start,
           double scale, int most_steps, double enough, const Freedom& freedom, int threads) {
            const Settling x = source.get(), y = target.get();
            const Motion motion = unlocked([&] {
                return settle(x, y, Motion::from_matrix(start.data()), scale, most_steps, enough, freedom, threads);
            });
            Fresh<double> result({4, 4});
            motion.to_matrix(result.data());
            return result.release();
        },
        nb::arg("source"), nb::arg("target"), nb::arg("start"), nb::arg("scale"), nb::arg("most_steps"),
        nb::arg("enough"), nb::arg("dof"), nb::arg("threads"));
}

}  // namespace graphreg
