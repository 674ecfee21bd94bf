// SPDX-License-Identifier: Apache-2.0
// A sampler without a session: its samples become totals, and rows of a file.
#pragma once

#include <cstdint>
#include <fabscope/nic/csv.hpp>
#include <fabscope/nic/sampler.hpp>
#include <memory>
#include <string>
#include <vector>

#include "nic_options.hpp"

namespace nictool {

/// What is known of one counter so far.
struct counter_state {
  fabscope::counter_rate rate;
  std::uint64_t invalid = 0;
  std::uint64_t latest_ns = 0;  ///< of the newest value
  // When it was shown last:
  std::uint64_t shown_total = 0;
  std::uint64_t shown_ns = 0;
};

/// The devices and counters that were asked for. Ends the program where one does not exist.
fabscope::nic::sweep open_counters(const choices& chosen);

class sampling {
 public:
  sampling(const choices& chosen, fabscope::nic::sweep what);
  sampling(const sampling&) = delete;
  sampling& operator=(const sampling&) = delete;
  ~sampling();

  /// False: no memory, or no thread.
  bool start();
  /// Takes what was sampled since the last call.
  void drain();
  /// The file does not take what it is given.
  [[nodiscard]] bool fails() const { return csv_ != nullptr && csv_->rows_lost() != 0; }
  /// Stops the threads; the file gets its last line. False if samples were lost.
  bool stop();

  [[nodiscard]] const fabscope::nic::sweep& counters() const { return held_->sampler->counters(); }
  [[nodiscard]] std::vector<counter_state>& states() { return states_; }
  [[nodiscard]] std::uint64_t begin_ns() const { return begin_.monotonic_ns; }
  [[nodiscard]] const fabscope::nic_sampler_row& row() const { return held_->row; }

 private:
  /// What threads of the sampler use. Kept for good if one of them hangs in a read.
  struct held {
    std::unique_ptr<fabscope::nic::sampler> sampler;
    std::vector<fabscope::nic_block_row> blocks;
    fabscope::nic_sampler_row row;
  };

  void open_file(const choices& chosen);
  void take(const fabscope::nic_sample& one);

  held* held_;
  bool hangs_ = false;
  std::vector<counter_state> states_;
  fabscope::sample_decoder decoder_;
  fabscope::nic_block_row copy_;
  std::uint64_t next_sample_ = 0;
  std::uint64_t overwritten_ = 0;
  fabscope::clock_snapshot begin_{};
  std::unique_ptr<fabscope::nic::csv_file> csv_;
  std::string path_;
  int file_ = -1;
  char host_[256] = {};
};

}  // namespace nictool
