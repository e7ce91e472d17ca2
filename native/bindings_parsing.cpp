// Text tables, packed records and LZF for the readers of graphreg.files.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "parsing.hpp"

using namespace nanobind::literals;

namespace graphreg {

namespace {

using Bytes = Input<std::uint8_t, nb::ndim<1>>;

void check_start(const Bytes& data, std::size_t start) {
    if (start > data.size()) throw nb::value_error("start lies behind the end of the data");
}

nb::tuple parse_table(Bytes data, std::size_t start, std::int64_t rows, const std::string& kinds,
                      const std::string& delimiter, bool exact, bool comments, const std::string& prefix) {
    check_start(data, start);
    const LineFormat format{kinds, delimiter.empty() ? '\0' : delimiter[0], exact, comments, prefix};
    const std::size_t most = rows < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(rows);
    Table table;
    {
        nb::gil_scoped_release release;
        table = TableParser(format).parse({reinterpret_cast<const char*>(data.data()), data.size()}, start, most);
    }
    const std::size_t stop = table.stop, height = table.rows, width = table.columns;
    return nb::make_tuple(hand_over(std::move(table.values), {height, width}), stop);
}

nb::tuple pack(Bytes data, std::size_t start, std::size_t rows,
               const std::vector<std::tuple<std::size_t, std::size_t, std::size_t, bool>>& parts, bool big_endian) {
    check_start(data, start);
    std::vector<RecordPart> layout;
    for (const auto& [fixed, count, item, is_signed] : parts) {
        if (count > 8 || (count > 0 && item == 0)) throw nb::value_error("a list that cannot be");
        layout.push_back({fixed, count, item, is_signed});
    }
    Records records;
    {
        nb::gil_scoped_release release;
        records = pack_records({data.data(), data.size()}, start, rows, layout, big_endian);
    }
    const std::size_t stop = records.stop, height = records.rows, width = records.width;
    return nb::make_tuple(hand_over(std::move(records.bytes), {height, width}), stop);
}

Output<std::uint8_t> lzf(Bytes data, std::size_t size) {
    // Three bytes make 264 at most, so a size beyond that is a lie that need not be set aside first.
    if (size / 88 > data.size()) throw nb::value_error("not LZF data of this size");
    std::unique_ptr<std::uint8_t[]> out(new std::uint8_t[size]);
    bool fits = false;
    {
        nb::gil_scoped_release release;
        fits = lzf_decode({data.data(), data.size()}, {out.get(), size});
    }
    if (!fits) throw nb::value_error("not LZF data of this size");
    return hand_over(std::move(out), {size});
}

}  // namespace

void bind_parsing(nb::module_& module) {
    module.def("parse_table", parse_table, "data"_a, "start"_a, "rows"_a, "kinds"_a, nb::kw_only(), "delimiter"_a = "",
               "exact"_a = true, "comments"_a = false, "prefix"_a = "");
    module.def("pack_records", pack, "data"_a, "start"_a, "rows"_a, "parts"_a, nb::kw_only(), "big_endian"_a);
    module.def("lzf_decode", lzf, "data"_a, "size"_a);
}

}  // namespace graphreg
