// SPDX-License-Identifier: Apache-2.0
#include "exchange_endpoint.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace exchange {
namespace {

constexpr std::uint32_t api = FI_VERSION(1, 17);

/// Throws unless a libfabric call succeeded.
void must(const char* what, ssize_t rc) {
  if (rc < 0) throw failure(what, static_cast<int>(-rc));
}

owned<fi_info> ask(const options& o, std::uint64_t caps) {
  owned<fi_info> hints{fi_allocinfo()};
  hints->caps = caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  // Untagged messages of one sender match receives in the order in which they were sent.
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = ::strdup(o.provider.c_str());
  fi_info* found = nullptr;
  if (fi_getinfo(api, nullptr, nullptr, 0, hints.get(), &found) != 0) return nullptr;
  owned<fi_info> first{found};
  if (first->addr_format != FI_SOCKADDR_IN && first->addr_format != FI_SOCKADDR_IN6) return first;
  const char* node = o.address.c_str();
  if (fi_getinfo(api, node, nullptr, FI_SOURCE, hints.get(), &found) != 0) return nullptr;
  return owned<fi_info>{found};
}

}  // namespace

failure::failure(const std::string& what, int error)
    : std::runtime_error(what + ": " + fi_strerror(error)) {}

owned<fi_info> find_provider(const options& o) {
  const std::uint64_t messages = FI_MSG | FI_TAGGED;
  const std::uint64_t rma = o.uses_rma() ? FI_RMA : 0;
  const std::uint64_t directed = FI_DIRECTED_RECV;  // receives that name their sender
  for (const std::uint64_t more : {rma | directed, rma, directed, std::uint64_t{0}}) {
    if (owned<fi_info> found = ask(o, messages | more)) return found;
  }
  return nullptr;
}

std::string available_providers() {
  owned<fi_info> hints{fi_allocinfo()};
  hints->caps = FI_MSG | FI_TAGGED;
  hints->mode = ~0ULL;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = ~3;  // every bit but the two historic modes
  fi_info* found = nullptr;
  std::set<std::string> names;
  if (fi_getinfo(api, nullptr, nullptr, 0, hints.get(), &found) == 0) {
    owned<fi_info> list{found};
    for (const fi_info* i = found; i != nullptr; i = i->next)
      names.insert(i->fabric_attr->prov_name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

opened::opened(owned<fi_info> found) : info(std::move(found)) {
  fid_fabric* made = nullptr;
  must("fi_fabric", fi_fabric(info->fabric_attr, &made, nullptr));
  fabric.reset(made);
}

void opened::open_domain() {
  fid_domain* made = nullptr;
  must("fi_domain", fi_domain(fabric.get(), info.get(), &made, nullptr));
  domain.reset(made);
}

endpoint::endpoint(opened& fabric, board& shared, place& own, const options& o,
                   std::size_t memory_bytes)
    : fabric_(fabric),
      shared_(shared),
      own_(own),
      options_(o),
      index_(static_cast<unsigned>(&own - shared.places.data())),
      memory_(memory_bytes) {
  fid_domain* domain = fabric.domain.get();
  own.process = ::getpid();

  // Room for every completion that can be outstanding at once.
  const std::size_t most = 2 * o.depth * o.endpoints + o.cancel + o.close_outstanding;
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_TAGGED;
  queue.size = std::max<std::size_t>(1024, 2 * most);
  queue.wait_obj = o.wait ? FI_WAIT_UNSPEC : FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  must(o.wait ? "fi_cq_open for --wait" : "fi_cq_open", fi_cq_open(domain, &queue, &cq, nullptr));
  queue_.reset(cq);

  fi_av_attr addresses{};
  addresses.type = fabric.info->domain_attr->av_type;
  addresses.count = o.endpoints;
  fid_av* av = nullptr;
  must("fi_av_open", fi_av_open(domain, &addresses, &av, nullptr));
  addresses_.reset(av);

  fid_ep* ep = nullptr;
  must("fi_endpoint", fi_endpoint(domain, fabric.info.get(), &ep, nullptr));
  endpoint_.reset(ep);
  must("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
  must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
  must("fi_enable", fi_enable(ep));

  const int mr_mode = fabric.info->domain_attr->mr_mode;
  if (has_rma() || (mr_mode & FI_MR_LOCAL) != 0) {
    const std::uint64_t access =
        FI_SEND | FI_RECV | (has_rma() ? FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE : 0);
    fid_mr* mr = nullptr;
    must("fi_mr_reg",
         fi_mr_reg(domain, memory_.data(), memory_.size(), access, 0, index_ + 1, 0, &mr, nullptr));
    region_.reset(mr);
    if ((mr_mode & FI_MR_ENDPOINT) != 0) {
      must("fi_mr_bind", fi_mr_bind(mr, &ep->fid, 0));
      must("fi_mr_enable", fi_mr_enable(mr));
    }
    descriptor_ = fi_mr_desc(mr);
    own.key = fi_mr_key(mr);
    own.memory =
        (mr_mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<std::uintptr_t>(memory_.data()) : 0;
  }

  own.address_bytes = sizeof own.address;
  must("fi_getname", fi_getname(&ep->fid, own.address, &own.address_bytes));
  std::size_t text_bytes = sizeof own.text;
  fi_av_straddr(av, own.address, own.text, &text_bytes);
  own.text[sizeof own.text - 1] = '\0';
}

void endpoint::connect() {
  meet();
  peers_.resize(options_.endpoints);
  for (unsigned i = 0; i < options_.endpoints; ++i) {
    if (fi_av_insert(addresses_.get(), shared_.places[i].address, 1, &peers_[i], 0, nullptr) != 1) {
      throw failure("fi_av_insert", FI_EADDRNOTAVAIL);
    }
  }
}

ssize_t endpoint::start(request& r) {
  fid_ep* ep = endpoint_.get();
  const fi_addr_t peer = r.peer == nobody ? FI_ADDR_UNSPEC : peers_[r.peer];
  const place& remote = shared_.places[r.peer == nobody ? index_ : r.peer];
  switch (r.what) {
    case call::send: return fi_send(ep, r.buffer, r.bytes, descriptor_, peer, &r);
    case call::recv: return fi_recv(ep, r.buffer, r.bytes, descriptor_, peer, &r);
    case call::tsend: return fi_tsend(ep, r.buffer, r.bytes, descriptor_, peer, r.tag, &r);
    case call::trecv: return fi_trecv(ep, r.buffer, r.bytes, descriptor_, peer, r.tag, 0, &r);
    case call::write:
      return fi_write(ep, r.buffer, r.bytes, descriptor_, peer, remote.memory + r.offset,
                      remote.key, &r);
    case call::read:
      return fi_read(ep, r.buffer, r.bytes, descriptor_, peer, remote.memory + r.offset, remote.key,
                     &r);
  }
  return -FI_EINVAL;
}

request& endpoint::post(call what, unsigned peer, char* buffer, std::size_t bytes,
                        std::uint64_t tag, std::uint64_t offset) {
  if (free_.empty()) free_.push_back(&requests_.emplace_back());
  request& r = *free_.back();
  free_.pop_back();
  r = request{{}, what, peer, buffer, bytes, tag, offset};
  for (;;) {
    const ssize_t rc = start(r);
    if (rc == 0) break;
    if (rc != -FI_EAGAIN) must(call_names[static_cast<unsigned>(what)], rc);
    own_.of(what, peer).again.add();
    progress();
  }
  own_.of(what, peer).posted.add();
  ++outstanding_;
  return r;
}

void endpoint::release(request& r) {
  --outstanding_;
  free_.push_back(&r);
}

void endpoint::completed(request& r, std::size_t received) {
  const bool receive = r.what == call::recv || r.what == call::trecv;
  counts& n = own_.of(r.what, r.peer);
  n.completed.add();
  n.bytes.add(receive ? received : r.bytes);
  if (receive && received != r.bytes) throw failure("a message of another size came", FI_EMSGSIZE);
  release(r);
}

void endpoint::read_error() {
  fi_cq_err_entry entry{};
  const ssize_t rc = fi_cq_readerr(queue_.get(), &entry, 0);
  if (rc == -FI_EAGAIN) return;
  must("fi_cq_readerr", rc);
  if (entry.op_context == nullptr) throw failure("an operation without context", entry.err);
  request& r = *static_cast<request*>(entry.op_context);
  release(r);
  if (closed_) return own_.of(r.what, r.peer).late.add();
  own_.of(r.what, r.peer).fail(entry.err);
  if (entry.err != FI_ECANCELED) {
    throw failure(std::string(call_names[static_cast<unsigned>(r.what)]) + " with endpoint " +
                      std::to_string(r.peer),
                  entry.err);
  }
}

bool endpoint::progress(bool may_block) {
  if (shared_.failed.load(std::memory_order_relaxed)) throw stopped{};
  fi_cq_tagged_entry entries[16];
  const bool block = may_block && options_.wait;
  const ssize_t n = block ? fi_cq_sread(queue_.get(), entries, 16, nullptr, 20)
                          : fi_cq_read(queue_.get(), entries, 16);
  // Nothing there, in the words of several providers' fi_cq_sread.
  if (n == -FI_EAGAIN || n == -FI_ETIMEDOUT || n == -FI_EINTR || n == -FI_ECANCELED) {
    if (!block) ::sched_yield();
    return false;
  }
  if (n == -FI_EAVAIL) return read_error(), true;
  must("fi_cq_read", n);
  for (ssize_t i = 0; i < n; ++i) {
    // Completions without context tell a target of remote accesses: not asked for.
    if (entries[i].op_context == nullptr) continue;
    completed(*static_cast<request*>(entries[i].op_context), entries[i].len);
  }
  return n > 0;
}

void endpoint::finish(std::uint64_t but) {
  while (outstanding_ > but) progress(true);
}

void endpoint::meet() {
  // Pairs with the acquire in board::all_arrived.
  own_.arrived.store(++meetings_, std::memory_order_release);
  while (!shared_.all_arrived(meetings_)) progress();
}

void endpoint::cancel(const std::vector<request*>& receives) {
  const std::uint64_t others = outstanding_ - receives.size();
  for (request* r : receives) fi_cancel(&endpoint_->fid, r);
  finish(others);
}

void endpoint::close() {
  for (auto& peers : own_.calls) {
    for (counts& n : peers) n.closed.add(n.open());
  }
  closed_ = true;
  endpoint_.reset();
  // Providers differ: some still report each operation as canceled, others say nothing.
  for (int empty = 0; empty < 100;) empty = progress() ? 0 : empty + 1;
}

}  // namespace exchange
