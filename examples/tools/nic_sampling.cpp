// SPDX-License-Identifier: Apache-2.0
#include "nic_sampling.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace nictool {

namespace fs = fabscope;
namespace nic = fabscope::nic;

namespace {

constexpr auto clock = fs::clock_kind::monotonic;  // ticks are nanoseconds
constexpr std::size_t block_count = 1024;          // 4 MiB: seconds of samples

std::string names_of(const std::vector<nic::nic_device>& all) {
  std::string out = "all";
  for (const nic::nic_device& one : all) out += ", " + one.title();
  return out;
}

std::string about(const nic::nic_device& one) {
  const std::string nid = one.device_class == "cxi"
                              ? nic::detail::read_line(one.dir + "/device/properties/nid")
                              : std::string();
  return one.title() + " nic_addr=? nid=" + (nid.empty() ? "?" : nid) +
         " class=" + one.device_class + " driver=" + (one.driver.empty() ? "?" : one.driver) +
         " pci=" + (one.pci.empty() ? "?" : one.pci) + " numa=" + std::to_string(one.numa) +
         " speed_mbps=" + std::to_string(one.speed_mbps);
}

}  // namespace

nic::sweep open_counters(const choices& chosen) {
  const std::vector<nic::nic_device> all = nic::find_devices(chosen.where);
  if (all.empty()) {
    std::fprintf(stderr, "fabscope-nic: no NIC in %s/class/cxi, infiniband and net\n",
                 chosen.where.sys.c_str());
    std::exit(1);
  }
  nic::device_wishes wishes;
  wishes.named = nic::split_list(chosen.devices);
  for (const std::string& token : wishes.named) {
    bool found = token == "all";
    for (const nic::nic_device& one : all) found = found || nic::detail::names_device(token, one);
    if (!found) mistake("--devices", token, names_of(all));
  }
  nic::counter_selection counters(chosen.list && chosen.counters.empty() ? "all,ethtool:"
                                                                         : chosen.counters);
  nic::sweep what;
  const bool every = chosen.list && chosen.devices.empty();
  what.add_devices(every ? all : nic::select_devices(all, wishes, fs::diagnostics{}), counters);
  bool complained = false;
  const fs::diagnostics user{[](void* said, const char* line) {
                               const char* text = std::strstr(line, "NIC_COUNTERS: ");
                               std::fprintf(stderr, "fabscope-nic: --counters: %s\n",
                                            text == nullptr ? line : text + 14);
                               *static_cast<bool*>(said) = true;
                             },
                             &complained};
  counters.complain(user);
  if (complained) std::exit(2);
  return what;
}

sampling::sampling(const choices& chosen, nic::sweep what) : held_(new held()) {
  for (const nic::counter_column& one : what.columns()) {
    states_.emplace_back();
    states_.back().rate = fs::counter_rate(one.format);
  }
  begin_ = fs::take_snapshot(clock);
  for (counter_state& one : states_) one.shown_ns = begin_.monotonic_ns;
  held_->blocks.resize(block_count);
  held_->sampler =
      std::make_unique<nic::sampler>(std::move(what), std::vector<nic::node_lock>(),
                                     nic::lock_holder{static_cast<long>(::getpid()), ""},
                                     std::uint64_t{chosen.interval_ms} * 1'000'000, clock);
  if (!chosen.csv.empty()) open_file(chosen);
}

sampling::~sampling() {
  csv_.reset();  // it refers to the columns
  if (!hangs_) delete held_;
}

void sampling::open_file(const choices& chosen) {
  path_ = chosen.csv;
  file_ = path_ == "-"
              ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
              : ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644);
  if (file_ < 0) {
    const std::string why = std::strerror(errno);
    mistake("--csv", path_, "a file that is not there yet and can be written (" + why + ")");
  }
  nic::csv_file::description text;
  text.period_ns = held_->sampler->period_ns();
  text.anchor_mono_ns = begin_.monotonic_ns;
  text.anchor_wall_ns = begin_.realtime_ns;
  for (const nic::nic_device& one : counters().devices()) text.devices.push_back(about(one));
  ::gethostname(host_, sizeof host_ - 1);
  fs::file_sink_options file;
  file.opener = {this, [](void* self, const char*) noexcept {
                   return std::exchange(static_cast<sampling*>(self)->file_, -1);
                 }};
  file.buffer_bytes = 1024 * 1024;
  file.host = host_;
  file.pid = static_cast<int>(::getpid());
  csv_ = std::make_unique<nic::csv_file>(file, std::move(text), counters().columns());
}

bool sampling::start() {
  return decoder_.start(states_.size()) &&
         held_->sampler->start(held_->blocks.data(), block_count, &held_->row);
}

void sampling::drain() {
  std::uint64_t number = decoder_.last_block() == 0 ? 1 : decoder_.last_block();
  for (;; ++number) {
    fs::copy_block(held_->blocks[(number - 1) % block_count], copy_);
    if (copy_.head == 0 || copy_.head != copy_.tail || copy_.head < number) break;
    if (copy_.head > number) {  // overwritten
      const std::uint64_t oldest = copy_.head - block_count + 1;
      number = (oldest > number ? oldest : number + 1) - 1;
      continue;
    }
    decoder_.block(copy_, next_sample_, [this](const fs::nic_sample& one) { take(one); });
  }
  if (csv_ != nullptr) csv_->flush();
}

void sampling::take(const fs::nic_sample& one) {
  overwritten_ += one.number - next_sample_;
  next_sample_ = one.number + 1;
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    counter_state& to = states_[i];
    if (one.states[i] == fs::sample_state::absent) continue;
    if (one.states[i] != fs::sample_state::good) {
      to.rate.add_missing();
      to.invalid += one.states[i] == fs::sample_state::invalid ? 1U : 0U;
      continue;
    }
    to.rate.add(one.begin, one.values[i]);
    to.latest_ns = one.begin;
    if (to.rate.samples_total() == 1) to.shown_ns = one.begin;
  }
  if (csv_ != nullptr) csv_->add(one, one.begin, one.end);
}

bool sampling::stop() {
  hangs_ = !held_->sampler->stop(2'000'000'000);
  drain();
  held_->row.overwritten = overwritten_;
  bool good = true;
  if (csv_ != nullptr) {
    csv_->finish(held_->row);
    if (csv_->rows_lost() != 0) {
      good = false;
      std::fprintf(stderr, "fabscope-nic: %llu of %llu samples are missing in '%s'\n",
                   static_cast<unsigned long long>(csv_->rows_lost()),
                   static_cast<unsigned long long>(held_->row.samples), path_.c_str());
    }
  }
  if (overwritten_ != 0) {
    good = false;
    std::fprintf(stderr,
                 "fabscope-nic: %llu of %llu samples were overwritten before they were "
                 "taken\n",
                 static_cast<unsigned long long>(overwritten_),
                 static_cast<unsigned long long>(held_->row.samples));
  }
  if (hangs_) {
    std::fprintf(stderr, "fabscope-nic: a read of a counter has not come back; it is left alone\n");
  }
  return good;
}

}  // namespace nictool
