// SPDX-License-Identifier: Apache-2.0
// Keeps a map from ticks to CLOCK_MONOTONIC true while the program runs. Layer: clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/clock/clock_anchor.hpp>
#include <fabscope/clock/clock_map_data.hpp>
#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/clock/detail/thin.hpp>
#include <fabscope/clock/steady_clock.hpp>
#include <fabscope/core/config.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Maps the ticks of a session to CLOCK_MONOTONIC.
///
/// Values are within 1 us of CLOCK_MONOTONIC from start() on, as long as refresh() is called at
/// least every 250 ms and the kernel changes the rate of its clock by less than 2 ppm between two
/// calls (an NTP daemon in steady state changes it by hundredths); error_ns() says what was found
/// in fact.
///
/// A map never steps back: an update appends pieces that begin where the present one will be in
/// 200 us and lead to the truth within milliseconds; it changes nothing before that. If counter and
/// kernel part by more than 10 ms (a virtual machine was moved), the map jumps forwards, or goes on
/// at an eighth of its rate until the truth has caught up. Pieces older than the newest 60 can be
/// thinned out, by which an old tick's value can move by the `slack_ns` of its piece.
///
/// Threads: start, update and refresh: one at a time; to_ns and error_ns: any, at any time.
class FABSCOPE_VISIBLE clock_map {
 public:
  /// Binds to the map's memory, which outlives it.
  FABSCOPE_HIDDEN explicit clock_map(clock_map_data& data) noexcept : data_(&data) {}

  /// Begins a new map with a first rate measured over 1 ms, in which it spins.
  /// Errors: a counter that does not run is replaced; returns the kind to stamp with.
  FABSCOPE_HIDDEN clock_kind start(clock_kind kind) noexcept {
    if (kind != clock_kind::monotonic) {
      const clock_anchor first = sample_anchor(kind);
      while (monotonic_ns() - first.ns < 1'000'000) {
        cpu_relax();
      }
      if (start(kind, first, sample_anchor(kind))) {
        return kind;
      }
    }
    reset(clock_kind::monotonic);
    append({0, 0, std::uint64_t{1} << shift, shift, 0, 0});
    return clock_kind::monotonic;
  }

  /// The same from two anchors taken by the caller. Errors: false if they give no rate.
  FABSCOPE_HIDDEN bool start(clock_kind kind, const clock_anchor& first,
                             const clock_anchor& second) noexcept {
    const std::uint64_t mult = rate(first, second);
    if (mult == 0) {
      return false;
    }
    reset(kind);
    mult_ = mult;
    old_reference_ = new_reference_ = first;
    last_ = second;
    interval_ticks_ = to_ticks(1'000'000);
    due_ticks_ = second.ticks + interval_ticks_;
    append({first.ticks, first.ns, mult, shift, 0, 0});
    note_error(second.width_ticks, 0);
    return true;
  }

  /// Compares with CLOCK_MONOTONIC and corrects the map if that is due: 1, 2, 4 ms after the start
  /// and so on, then every 125 ms. Returns whether it compared. Cost: one clock read, or about 4
  /// us.
  FABSCOPE_HIDDEN bool refresh() noexcept {
    const auto kind = static_cast<clock_kind>(data_->kind);
    if (kind == clock_kind::monotonic) {
      return false;
    }
    const std::uint64_t now = now_ticks(kind);
    if (now < due_ticks_ && now >= last_.ticks) {
      return false;
    }
    correct(sample_anchor(kind), [kind]() noexcept { return now_ticks(kind); });
    return true;
  }

  /// The same with an anchor taken by the caller, at once.
  FABSCOPE_HIDDEN void update(const clock_anchor& anchor) noexcept {
    if (static_cast<clock_kind>(data_->kind) == clock_kind::monotonic) {
      return;
    }
    correct(anchor, [&anchor]() noexcept { return anchor.ticks; });
  }

  /// Units: ns of CLOCK_MONOTONIC. See ticks_to_ns.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
    return ticks_to_ns(*data_, ticks);
  }

  /// The greatest distance from CLOCK_MONOTONIC found by any comparison so far, with the error of
  /// the comparison itself. Units: ns.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t error_ns() const noexcept {
    return detail::load_relaxed(data_->worst_error_ns);
  }

  [[nodiscard]] FABSCOPE_HIDDEN const clock_map_data& data() const noexcept { return *data_; }

 private:
  using table = clock_map_data::table;

  static constexpr std::uint16_t shift = 48;
  static constexpr std::int64_t tolerance_ns = 50;     // below it, a piece goes on
  static constexpr std::int64_t jump_ns = 10'000'000;  // beyond it, the clocks have parted
  static constexpr std::uint64_t lead_ns = 200'000;    // from deciding on a piece to its begin
  static constexpr std::uint64_t look_ahead_ns = 500'000'000;
  static constexpr std::uint64_t reference_ns = 1'000'000'000;

  /// Rate between two anchors as a multiplier; 0 where there is none. Below 16 kHz it would not
  /// fit.
  FABSCOPE_HIDDEN static std::uint64_t rate(const clock_anchor& a, const clock_anchor& b) noexcept {
    if (b.ticks <= a.ticks || b.ns <= a.ns) {
      return 0;
    }
    const detail::uint128 mult = (detail::uint128{b.ns - a.ns} << shift) / (b.ticks - a.ticks);
    return mult >> 64 == 0 ? static_cast<std::uint64_t>(mult) : 0;
  }

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t to_ticks(std::uint64_t ns) const noexcept {
    return static_cast<std::uint64_t>((detail::uint128{ns} << shift) / mult_) + 1;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t span_ns(std::uint64_t ticks,
                                                      std::uint64_t mult) const noexcept {
    return static_cast<std::uint64_t>((detail::uint128{ticks} * mult) >> shift);
  }

  FABSCOPE_HIDDEN void reset(clock_kind kind) noexcept {
    for (table& one : data_->tables) {
      detail::store_release(one.count, std::uint64_t{0});
    }
    detail::store_release(data_->kind, static_cast<std::uint32_t>(kind));
  }

  FABSCOPE_HIDDEN void note_error(std::uint64_t width_ticks, std::uint64_t distance_ns) noexcept {
    const std::uint64_t error = distance_ns + span_ns(width_ticks, mult_) / 2 + 1;
    detail::store_relaxed(data_->last_error_ns, error);
    if (error > data_->worst_error_ns) {
      detail::store_relaxed(data_->worst_error_ns, error);
    }
  }

  FABSCOPE_HIDDEN static void count(std::uint64_t& total) noexcept {
    detail::store_relaxed(total, total + 1);
  }

  FABSCOPE_HIDDEN table& current() noexcept { return data_->tables[data_->generation & 1]; }
  FABSCOPE_HIDDEN clock_segment& newest() noexcept {
    return current().segments[current().count - 1];
  }

  FABSCOPE_HIDDEN void append(const clock_segment& piece) noexcept {
    if (current().count == clock_map_data::capacity) {
      detail::thin(*data_);
    }
    table& to = current();
    detail::store_segment(to.segments[to.count], piece);
    detail::store_release(to.count, to.count + 1);  // pairs with the acquire in ticks_to_ns
  }

  FABSCOPE_HIDDEN void restart_references(const clock_anchor& anchor) noexcept {
    old_reference_ = new_reference_ = anchor;
  }

  template <class Now>
  FABSCOPE_HIDDEN void correct(const clock_anchor& anchor, Now now) noexcept {
    count(data_->updates_total);
    if (anchor.ticks < last_.ticks) {
      went_back(anchor);
    } else if (span_ns(anchor.width_ticks, mult_) <= 2'000 ||
               span_ns(anchor.ticks - last_.ticks, mult_) > 2 * reference_ns) {
      // A wide bracket says little; without a better one for two seconds it is still the best.
      steer(anchor, now);
    }
    interval_ticks_ = detail::lesser(2 * interval_ticks_, to_ticks(125'000'000));
    due_ticks_ = anchor.ticks + interval_ticks_;
  }

  FABSCOPE_HIDDEN void went_back(const clock_anchor& anchor) noexcept {
    count(data_->backward_total);
    const std::uint64_t reached = detail::greater(to_ns(last_.ticks), newest().ns0);
    append({anchor.ticks, detail::greater(anchor.ns, reached), mult_, shift, 1, 0});
    restart_references(anchor);
    last_ = anchor;
  }

  template <class Now>
  FABSCOPE_HIDDEN void steer(const clock_anchor& anchor, Now now) noexcept {
    const auto off = static_cast<std::int64_t>(anchor.ns - to_ns(anchor.ticks));
    note_error(anchor.width_ticks, detail::absolute(off));
    update_rate(anchor, off);
    last_ = anchor;

    // Where the map and the truth will be when the new piece begins.
    std::uint64_t read = detail::greater(now(), anchor.ticks);
    std::uint64_t begin = 0;
    std::int64_t gap = 0;
    clock_segment piece{};
    for (int attempt = 0; attempt < 8; ++attempt) {
      begin = read + to_ticks(lead_ns);
      if (begin <= newest().ticks0) {
        return;  // an earlier correction is still under way
      }
      piece = {begin, to_ns(begin), mult_, shift, 0, 0};
      const std::uint64_t truth = anchor.ns + span_ns(begin - anchor.ticks, mult_);
      gap = static_cast<std::int64_t>(truth - piece.ns0);
      const std::uint64_t again = detail::greater(now(), anchor.ticks);
      if (again - read < to_ticks(lead_ns / 2)) {
        break;
      }
      read = again;  // this thread was put aside meanwhile: decide again
    }
    if (detail::absolute(gap) <= tolerance_ns && rate_change_ns(newest().mult) <= tolerance_ns) {
      return;
    }

    if (gap > jump_ns) {
      count(data_->jump_total);
      piece.ns0 += static_cast<std::uint64_t>(gap);
      piece.jump = 1;
      publish(piece, now);
      return;
    }
    if (current().count + 2 > clock_map_data::capacity) {
      detail::thin(*data_);
    }
    std::uint64_t length_ns =
        detail::least_most(detail::absolute(gap) * 5'000, 1'000'000, 50'000'000);
    if (gap < -jump_ns) {
      count(data_->jump_total);
      length_ns = detail::absolute(gap) / 7 * 8;
    }
    const std::uint64_t length = to_ticks(length_ns);
    // gap > -length_ns, so the rate stays above zero.
    piece.mult = static_cast<std::uint64_t>(static_cast<detail::int128>(mult_) +
                                            (detail::int128{gap} * (detail::int128{1} << shift)) /
                                                static_cast<detail::int128>(length));
    publish(piece, now);
    append({begin + length, detail::piece_ns(piece, begin + length), mult_, shift, 0, 0});
  }

  template <class Now>
  FABSCOPE_HIDDEN void publish(const clock_segment& piece, Now now) noexcept {
    append(piece);
    if (now() >= piece.ticks0) {
      count(data_->late_total);
    }
  }

  /// The rate over the last one to two seconds. A sudden distance spoils it: then the old rate
  /// stays for one interval and the measurement begins anew; if the distance comes again, the rate
  /// has changed.
  FABSCOPE_HIDDEN void update_rate(const clock_anchor& anchor, std::int64_t off) noexcept {
    const bool sudden = detail::absolute(off) > 100'000;
    if (!sudden || was_sudden_) {
      const std::uint64_t measured = rate(old_reference_, anchor);
      if (measured != 0 && anchor.ns - old_reference_.ns >= 500'000) {
        mult_ = measured;
      }
    }
    if (sudden) {
      restart_references(anchor);
    }
    was_sudden_ = sudden;
    if (anchor.ns - new_reference_.ns >= reference_ns) {
      old_reference_ = new_reference_;
      new_reference_ = anchor;
    }
  }

  /// What a wrong rate would cost until look_ahead_ns from now.
  [[nodiscard]] FABSCOPE_HIDDEN std::int64_t rate_change_ns(std::uint64_t mult) const noexcept {
    const std::uint64_t change = mult > mult_ ? mult - mult_ : mult_ - mult;
    return static_cast<std::int64_t>(
        detail::lesser(static_cast<std::uint64_t>(detail::uint128{change} * look_ahead_ns / mult_),
                       look_ahead_ns));
  }

  clock_map_data* data_;
  std::uint64_t mult_ = std::uint64_t{1} << shift;  // the rate as last measured
  clock_anchor old_reference_;                      // where the measurement of the rate begins
  clock_anchor new_reference_;                      // where the next one will begin
  clock_anchor last_;
  std::uint64_t interval_ticks_ = 0;
  std::uint64_t due_ticks_ = 0;
  bool was_sudden_ = false;
};

FABSCOPE_NAMESPACE_END
