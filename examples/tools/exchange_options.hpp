// SPDX-License-Identifier: Apache-2.0
// What can be asked of fabscope-exchange on the command line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace exchange {

/// The ways to move a message.
enum class kind : unsigned { send, tagged, write, read };
inline constexpr std::array<const char*, 4> kind_names{"send", "tagged", "write", "read"};

struct options {
  unsigned endpoints = 4;
  unsigned rounds = 0;  ///< 0: as many as fit in `seconds`
  double seconds = 2.5;
  std::vector<std::size_t> sizes{64, 4096, 65536, 1048576};
  std::vector<kind> kinds{kind::send, kind::tagged, kind::write, kind::read};
  unsigned depth = 8;  ///< messages in flight to one peer, fewer where they exceed 1 MiB
  std::string provider = "tcp;ofi_rxm";
  std::string address = "127.0.0.1";  // own address where the provider has Internet addresses
  bool processes = false;
  bool wait = false;  ///< block in fi_cq_sread instead of polling
  bool check = true;
  unsigned cancel = 0;             ///< tagged receives that each endpoint posts and cancels
  unsigned close_outstanding = 0;  ///< receives posted on an extra endpoint that is then closed
  unsigned corrupt =
      0;                ///< the message of endpoint 0, counted from 1, of which one byte is flipped
  double timeout = 60;  ///< seconds without a completion
  std::string directory;  ///< empty: fabscope's default
  std::string reference;  ///< file for the program's own counts, empty: none
  bool help = false;

  bool uses(kind k) const;
  bool uses_rma() const { return uses(kind::write) || uses(kind::read); }
  /// Messages of this size in flight to one peer.
  unsigned in_flight(std::size_t bytes) const;
};

/// Reads the command line. On a mistake: one line on stderr, then exits with status 2.
options parse(int argc, char** argv);

/// The text of --help.
const char* help();

}  // namespace exchange
