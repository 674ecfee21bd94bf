// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/event/collective_record.hpp>

namespace {

namespace fs = fabscope;

TEST_CASE("event.collective_record: a communicator's text is read back, whatever its name has") {
  const auto one = fs::communicator_text::parse("0xfedcba9876543210 3 8 2 4 group 0 \"x\" ");
  CHECK(one.id == "0xfedcba9876543210");
  CHECK(one.rank == 3);
  CHECK(one.ranks == 8);
  CHECK(one.nodes == 2);
  CHECK(one.generation == 4);
  CHECK(one.name == "group 0 \"x\" ");
  const auto none = fs::communicator_text::parse("");
  CHECK(none.id.empty());
  CHECK(none.ranks == 0);
  CHECK(fs::communicator_text::parse("0x1 2 3 4 5 ").name.empty());
}

TEST_CASE("event.collective_record: kind, method and flags share their bytes") {
  fs::collective_record record;
  record.kind = static_cast<std::uint8_t>(static_cast<unsigned>(fs::collective::hypercube) |
                                          unsigned{fs::datatype_names.find("ncclFloat8e5m2")} << 4);
  record.method = static_cast<std::uint8_t>(unsigned{fs::algorithm_names.find("NVLS_TREE")} |
                                            unsigned{fs::protocol_names.find("LL128")} << 4);
  record.flags = static_cast<std::uint8_t>(static_cast<unsigned>(fs::timing_source::kernel_cpu) |
                                           fs::collective_record::captured);
  CHECK(record.function() == fs::collective::hypercube);
  CHECK(fs::datatype_names.at(record.datatype()) == "ncclFloat8e5m2");
  CHECK(fs::algorithm_names.at(record.algorithm()) == "NVLS_TREE");
  CHECK(fs::protocol_names.at(record.protocol()) == "LL128");
  CHECK(record.source() == fs::timing_source::kernel_cpu);
}

TEST_CASE("event.collective_record: names and types that are not known") {
  CHECK(fs::algorithm_names.find("HOLOGRAPHIC") == 0);
  CHECK(fs::algorithm_names.at(15) == "Unknown");
  CHECK(fs::datatype_bytes(fs::datatype_names.find("Unknown")) == 1);
  CHECK(fs::datatype_bytes(fs::datatype_names.find("ncclFloat64")) == 8);
  CHECK(fs::datatype_bytes(fs::datatype_names.find("ncclBfloat16")) == 2);
}

}  // namespace
