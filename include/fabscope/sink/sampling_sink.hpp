// SPDX-License-Identifier: Apache-2.0
// A sink in front of another that lets through one record in N of each name. Layer: sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Records that are sampled together: those of one domain and name; of operations, those of one
/// call; of other types, all.
struct sampled_by_name {
  template <event_record Record>
  constexpr std::uint64_t operator()(const Record& record) const noexcept {
    if constexpr (requires { std::uint64_t{record.domain} << 32 | record.name; }) {
      return std::uint64_t{record.domain} << 32 | record.name;
    } else if constexpr (requires { std::uint64_t{record.op}; }) {
      return record.op;
    } else {
      return 0;
    }
  }
};

namespace detail {

/// How often each key came. What finds no room shares one count.  Threads: one.
class FABSCOPE_VISIBLE key_counts {
 public:
  FABSCOPE_HIDDEN explicit key_counts(std::size_t room) : slots_(2 * room), left_(room) {}

  /// Number of earlier ones with this key.
  FABSCOPE_HIDDEN std::uint64_t count(std::uint64_t key, std::uint16_t type) noexcept {
    const std::uint64_t mixed = (key ^ std::uint64_t{type} << 48) * 0x9E3779B97F4A7C15U;
    for (std::size_t at = mixed % slots_.size();; at = at + 1 == slots_.size() ? 0 : at + 1) {
      slot& one = slots_[at];
      if (one.seen != 0 && one.key == key && one.type == type) return one.seen++;
      if (one.seen != 0) continue;
      if (left_ == 0) return others_++;
      --left_;
      one = {key, 1, type};
      return 0;
    }
  }

 private:
  struct slot {
    std::uint64_t key = 0;
    std::uint64_t seen = 0;
    std::uint16_t type = 0;
  };
  std::vector<slot> slots_;
  std::size_t left_;
  std::uint64_t others_ = 0;
};

}  // namespace detail

/// Hands to another sink, of each type and key, the first record and then every `one_in`th: the
/// same ones in every run with the same records. An lvalue sink is referred to and must outlive
/// this one; an rvalue is owned.
///
/// The other sink is told by `about.weight()` how many records each one stands for: the first for
/// itself, a later one for itself and those left out since the one before. So the weights of a key
/// sum to its records up to the last that came; seen_total() - weight_total() came after those.
/// The library's files state the weights.
/// Threads: one at a time.  Errors: those of the other sink. What is left out is counted in
/// filtered_total(). Above `keys` keys, further ones are sampled as if they were one.
/// Cost: a look into a table per record; allocates when it is constructed and never again.
template <class Sink, class Key = sampled_by_name>
  requires event_sink<std::remove_reference_t<Sink>>
class FABSCOPE_VISIBLE sampling_sink {
  using inner = std::remove_reference_t<Sink>;

 public:
  FABSCOPE_HIDDEN explicit sampling_sink(Sink&& to, std::uint32_t one_in, Key key = {},
                                         std::size_t keys = 4096)
      : to_(std::forward<Sink>(to)),
        key_(std::move(key)),
        one_in_(one_in == 0 ? 1 : one_in),
        counts_(keys == 0 ? 1 : keys) {}

  template <event_record Record>
  requires consumes<inner, Record> FABSCOPE_HIDDEN void consume(
      std::span<const Record> batch, const sink_context& about) noexcept {
    if (one_in_ == 1) {
      seen_ += batch.size();
      kept_ += batch.size();
      weight_ += batch.size();
      to_.consume(batch, about);
      return;
    }
    for (std::size_t at = 0; at < batch.size(); ++at) {
      const std::uint64_t earlier = counts_.count(key_(batch[at]), batch[at].header.type);
      ++seen_;
      if (earlier % one_in_ != 0) continue;
      const std::uint32_t weight = earlier == 0 ? 1 : one_in_;
      ++kept_;
      weight_ += weight;
      to_.consume(batch.subspan(at, 1), about.behind(left_out(), one_in_, weight));
    }
  }
  FABSCOPE_HIDDEN void flush(const sink_context& about) noexcept {
    to_.flush(about.behind(left_out(), one_in_));
  }
  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    detail::finish_of(to_, about.behind(left_out(), one_in_));
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return detail::status_of(to_); }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    return detail::lost_by(to_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t filtered_total() const noexcept {
    return left_out() + detail::filtered_by(to_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t seen_total() const noexcept { return seen_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t kept_total() const noexcept { return kept_; }
  /// Records that those handed on stand for.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t weight_total() const noexcept { return weight_; }
  template <event_record Record>
  [[nodiscard]] FABSCOPE_HIDDEN bool takes() const noexcept {
    return detail::takes<Record>(static_cast<const inner&>(to_));
  }

 private:
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t left_out() const noexcept { return seen_ - kept_; }

  Sink to_;
  [[no_unique_address]] Key key_;
  std::uint32_t one_in_;
  detail::key_counts counts_;
  std::uint64_t seen_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t weight_ = 0;
};

template <class Sink, class Key = sampled_by_name>
sampling_sink(Sink&&, std::uint32_t, Key = {}, std::size_t = 0) -> sampling_sink<Sink, Key>;

FABSCOPE_NAMESPACE_END
