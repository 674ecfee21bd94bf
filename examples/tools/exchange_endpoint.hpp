// SPDX-License-Identifier: Apache-2.0
// A libfabric endpoint with its completion queue and addresses, and nothing of fabscope: the
// program runs as well without. The counts kept here are what fabscope's are compared with.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "exchange_board.hpp"

namespace exchange {

/// A libfabric call that failed.
struct failure : std::runtime_error {
  failure(const std::string& what, int error);
};
/// Another endpoint has given up.
struct stopped {};

struct closer {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
  template <class Fid>
  void operator()(Fid* object) const {
    fi_close(&object->fid);
  }
};
template <class Fid>
using owned = std::unique_ptr<Fid, closer>;

/// What the provider offers for these options; null if it is not there.
owned<fi_info> find_provider(const options& o);
/// Names of the providers with reliable datagram endpoints, with commas between.
std::string available_providers();

/// Fabric and domain: one of each per process, its endpoints share them.
struct opened {
  owned<fi_info> info;
  owned<fid_fabric> fabric;
  owned<fid_domain> domain;

  explicit opened(owned<fi_info> found);
  /// Separate from the constructor, so that a tool can be attached to the fabric first.
  void open_domain();
};

/// One operation from its call to its completion.
struct request {
  fi_context2 scratch;  ///< first: where a provider in FI_CONTEXT mode writes
  call what;
  unsigned peer;
  char* buffer;
  std::size_t bytes;
  std::uint64_t tag;     ///< of tagged messages
  std::uint64_t offset;  ///< in the peer's memory, of RMA
};

/// Threads: used by one; only its place on the board is seen by others.
class endpoint {
 public:
  endpoint(opened& fabric, board& shared, place& own, const options& o, std::size_t memory_bytes);

  /// Meets the others, then learns their addresses.
  void connect();

  char* memory() { return memory_.data(); }
  bool has_rma() const { return (fabric_.info->caps & FI_RMA) != 0; }

  /// Starts an operation. Where the provider has no room it reads completions and tries again.
  /// The request is gone once its completion has been read.
  request& post(call what, unsigned peer, char* buffer, std::size_t bytes, std::uint64_t tag = 0,
                std::uint64_t offset = 0);
  /// Reads completions until none is missing except `but`.
  void finish(std::uint64_t but = 0);
  /// Waits until every endpoint has come here as often as this one, and reads completions
  /// meanwhile.
  void meet();
  /// Reads what completions there are; true if there were some. May block only where a completion
  /// of this endpoint's own must come: what others do wakes nobody.
  bool progress(bool may_block = false);
  /// Cancels receives, and waits until each has either been canceled or completed.
  void cancel(const std::vector<request*>& receives);
  /// Closes the endpoint however much is outstanding, and then reads what its queue still has to
  /// say.
  void close();

  std::uint64_t outstanding() const { return outstanding_; }
  place& own() { return own_; }

 private:
  ssize_t start(request& r);
  void completed(request& r, std::size_t received);
  void read_error();
  void release(request& r);

  opened& fabric_;
  board& shared_;
  place& own_;
  const options& options_;
  unsigned index_;
  unsigned meetings_ = 0;
  std::uint64_t outstanding_ = 0;
  bool closed_ = false;

  std::vector<char> memory_;
  std::vector<fi_addr_t> peers_;
  std::deque<request> requests_;
  std::vector<request*> free_;

  // In the order in which they are opened; destruction goes the other way.
  owned<fid_cq> queue_;
  owned<fid_av> addresses_;
  owned<fid_mr> region_;
  owned<fid_ep> endpoint_;
  void* descriptor_ = nullptr;
};

}  // namespace exchange
