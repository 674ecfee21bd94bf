// SPDX-License-Identifier: Apache-2.0
#include "exchange_options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace exchange {
namespace {

[[noreturn]] void mistake(std::string_view name, std::string_view found, std::string_view allowed) {
  std::fprintf(stderr, "fabscope-exchange: %.*s: found '%.*s', allowed: %.*s\n",
               static_cast<int>(name.size()), name.data(), static_cast<int>(found.size()),
               found.data(), static_cast<int>(allowed.size()), allowed.data());
  std::exit(2);
}

/// A number within [low, high], the whole text of it.
template <class Number>
Number number(std::string_view name, std::string_view text, Number low, Number high,
              std::string_view allowed) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || !(value >= low && value <= high)) mistake(name, text, allowed);
  return value;
}

/// The parts of a list that commas separate.
std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> list;
  for (std::size_t at = 0;;) {
    const std::size_t comma = text.find(',', at);
    list.push_back(text.substr(at, comma - at));
    if (comma == text.npos) return list;
    at = comma + 1;
  }
}

std::vector<std::size_t> sizes(std::string_view name, std::string_view text) {
  constexpr std::string_view allowed =
      "1 to 16 sizes in bytes, each 8 to 268435456, with commas between";
  std::vector<std::size_t> list;
  for (std::string_view part : parts(text)) {
    list.push_back(number<std::size_t>(name, part, 8, 268435456, allowed));
  }
  if (list.size() > 16) mistake(name, text, allowed);
  return list;
}

std::vector<kind> kinds(std::string_view name, std::string_view text) {
  std::vector<kind> list;
  for (std::string_view part : parts(text)) {
    const auto found = std::find(kind_names.begin(), kind_names.end(), part);
    if (found == kind_names.end())
      mistake(name, part, "send, tagged, write, read, with commas between");
    list.push_back(static_cast<kind>(found - kind_names.begin()));
  }
  return list;
}

}  // namespace

const char* help() {
  return "fabscope-exchange: endpoints exchange checked messages over libfabric, recorded by "
         "fabscope\n"
         "\n"
         "  --endpoints N          2 to 64, default 4\n"
         "  --provider NAME        as fi_info -l prints it, default \"tcp;ofi_rxm\"; also shm, "
         "sockets,\n"
         "                         \"udp;ofi_rxd\", ...\n"
         "  --address A            own Internet address, default 127.0.0.1: all endpoints are on "
         "this "
         "machine\n"
         "  --processes            one process per endpoint; without: one thread per endpoint\n"
         "  --sizes B,B,...        bytes per message, default 64,4096,65536,1048576\n"
         "  --kinds K,K,...        of send, tagged, write, read; default all that the provider "
         "has\n"
         "  --rounds R             each round moves every size by every kind; default: as many as "
         "fit in\n"
         "  --seconds S            0.1 to 86400, default 2.5\n"
         "  --depth D              messages in flight to one peer, default 8; fewer where they "
         "would exceed\n"
         "                         1 MiB\n"
         "  --wait                 block in fi_cq_sread instead of polling\n"
         "  --check, --no-check    compare every byte at the receiver, default on\n"
         "  --cancel K             each endpoint posts K tagged receives and cancels them\n"
         "  --close-outstanding K  an extra endpoint with K posted receives is closed\n"
         "  --corrupt M            flip one byte of endpoint 0's message M: the check must find "
         "it\n"
         "  --timeout S            seconds without a completion before the run is given up, "
         "default 60\n"
         "  --dir DIR              where fabscope writes; same as FABSCOPE_DIR=DIR\n"
         "  --reference FILE       write the program's own counts as JSON\n"
         "  --help\n"
         "\n"
         "Status: 0 all payload right; 1 a failure, the provider missing or payload wrong; 2 a bad "
         "option;\n"
         "3 no progress within --timeout.\n";
}

bool options::uses(kind k) const { return std::find(kinds.begin(), kinds.end(), k) != kinds.end(); }

unsigned options::in_flight(std::size_t bytes) const {
  const std::size_t fit = std::max<std::size_t>(1, 1048576 / bytes);
  return static_cast<unsigned>(std::min<std::size_t>(depth, fit));
}

options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    if (name == "--help") return o.help = true, o;
    if (name == "--processes") {
      o.processes = true;
      continue;
    }
    if (name == "--wait") {
      o.wait = true;
      continue;
    }
    if (name == "--check") {
      o.check = true;
      continue;
    }
    if (name == "--no-check") {
      o.check = false;
      continue;
    }

    // --name value or --name=value
    std::string_view value;
    const std::size_t equals = name.find('=');
    if (equals != name.npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    constexpr std::array with_value{
        "--endpoints", "--rounds",    "--seconds",           "--sizes",  "--kinds",
        "--depth",     "--address",   "--provider",          "--cancel", "--corrupt",
        "--timeout",   "--reference", "--close-outstanding", "--dir"};
    if (std::find(with_value.begin(), with_value.end(), name) == with_value.end()) {
      mistake("option", argv[i], "those that --help lists");
    }
    if (equals == name.npos) {
      if (i + 1 == argc) mistake(name, "", "a value after it");
      value = argv[++i];
    }

    if (name == "--endpoints")
      o.endpoints = number(name, value, 2u, 64u, "2 to 64");
    else if (name == "--rounds")
      o.rounds = number(name, value, 1u, 1000000u, "1 to 1000000");
    else if (name == "--seconds")
      o.seconds = number(name, value, 0.1, 86400.0, "0.1 to 86400");
    else if (name == "--sizes")
      o.sizes = sizes(name, value);
    else if (name == "--kinds")
      o.kinds = kinds(name, value);
    else if (name == "--depth")
      o.depth = number(name, value, 1u, 4096u, "1 to 4096");
    else if (name == "--cancel")
      o.cancel = number(name, value, 0u, 1000u, "0 to 1000");
    else if (name == "--corrupt")
      o.corrupt = number(name, value, 1u, 1000000000u, "1 to 1000000000");
    else if (name == "--timeout")
      o.timeout = number(name, value, 1.0, 86400.0, "1 to 86400 seconds");
    else if (name == "--close-outstanding") {
      o.close_outstanding = number(name, value, 0u, 1000u, "0 to 1000");
    } else {
      if (value.empty()) mistake(name, value, "a text that is not empty");
      (name == "--provider"  ? o.provider
       : name == "--address" ? o.address
       : name == "--dir"     ? o.directory
                             : o.reference) = value;
    }
  }
  return o;
}

}  // namespace exchange
