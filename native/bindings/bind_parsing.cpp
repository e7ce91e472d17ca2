#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <string>
#include <tuple>

#include "bindings/bindings.hpp"
#include "files/lzf.hpp"
#include "files/packed_records.hpp"
#include "files/table_parser.hpp"

namespace graphreg {

namespace {

void check_start(const Bytes& data, std::size_t start) {
    require(start <= data.size(), "start: behind the end of the data");
}

nb::tuple parse_table(const Bytes& data, std::size_t start, std::int64_t rows, const std::string& kinds,
                      const std::string& delimiter, bool exact, bool comments, const std::string& prefix) {
    check_start(data, start);
    const LineFormat format{kinds, delimiter.empty() ? '\0' : delimiter[0], exact, comments, prefix};
    const std::size_t max_rows = rows < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(rows);
    Table table = without_gil([&] {
        return TableParser(format).parse({reinterpret_cast<const char*>(data.data()), data.size()}, start, max_rows);
    });
    return nb::make_tuple(to_numpy(std::move(table.values), {table.rows, table.columns}), table.stop);
}

nb::tuple pack(const Bytes& data, std::size_t start, std::size_t rows,
               const std::vector<std::tuple<std::size_t, std::size_t, std::size_t, bool>>& parts, bool big_endian) {
    check_start(data, start);
    std::vector<RecordPart> layout;
    for (const auto& [fixed, count, item, is_signed] : parts) {
        require(count <= 8 && (count == 0 || item > 0), "parts: a list with a length of at most 8 bytes is expected");
        layout.push_back({fixed, count, item, is_signed});
    }
    Records records =
        without_gil([&] { return pack_records({data.data(), data.size()}, start, rows, layout, big_endian); });
    return nb::make_tuple(to_numpy(std::move(records.bytes), {records.rows, records.width}), records.stop);
}

Output<std::uint8_t> decode_lzf(const Bytes& data, std::size_t size) {
    // Three bytes decompress to at most 264, so that a larger size is wrong, and need not be allocated first.
    require(size / 88 <= data.size(), "not LZF data of this size");
    std::unique_ptr<std::uint8_t[]> out(new std::uint8_t[size]);
    const bool valid = without_gil([&] { return lzf_decode({data.data(), data.size()}, {out.get(), size}); });
    require(valid, "not LZF data of this size");
    return to_numpy(std::move(out), {size});
}

}  // namespace

void bind_parsing(nb::module_& module) {
    module.def("parse_table", parse_table, "data"_a, "start"_a, "rows"_a, "kinds"_a, nb::kw_only(), "delimiter"_a = "",
               "exact"_a = true, "comments"_a = false, "prefix"_a = "");
    module.def("pack_records", pack, "data"_a, "start"_a, "rows"_a, "parts"_a, nb::kw_only(), "big_endian"_a);
    module.def("lzf_decode", decode_lzf, "data"_a, "size"_a);
}

}  // namespace graphreg
