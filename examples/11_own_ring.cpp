// SPDX-License-Identifier: Apache-2.0
// A ring of one's own: bounded, says no when it is full, and counts every no.
#include <cstdio>
#include <fabscope/fabscope.hpp>
#include <span>

/// Both ends belong to one thread, so that no word needs to be atomic.
template <class T, std::size_t Capacity>
class local_ring {
 public:
  using value_type = T;

  bool try_push(const T& record) noexcept {
    if (count_ == Capacity) {
      ++dropped_;
      return false;
    }
    slots_[(first_ + count_++) % Capacity] = record;
    return true;
  }
  std::size_t pop_batch(std::span<T> out) noexcept {
    std::size_t taken = 0;
    for (; taken < out.size() && count_ != 0; --count_) {
      out[taken++] = slots_[first_];
      first_ = (first_ + 1) % Capacity;
    }
    return taken;
  }
  [[nodiscard]] std::uint64_t dropped_total() const noexcept { return dropped_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return Capacity; }

 private:
  T slots_[Capacity] = {};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint64_t dropped_ = 0;
};
static_assert(fabscope::event_ring<local_ring<int, 8>>);

/// What every ring must do: accepted records come out once, in order; the others are counted.
template <fabscope::event_ring Ring>
bool is_exact(Ring& ring) {
  std::uint64_t accepted = 0;
  std::uint64_t taken = 0;
  int value = 0;
  int newest = -1;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 7; ++i) accepted += ring.try_push(value++) ? 1U : 0U;
    int out[3];
    const std::size_t got = ring.pop_batch(out);
    for (const int one : std::span(out).first(got)) {
      if (one <= newest) return false;
      newest = one;
    }
    taken += got;
  }
  int rest[64];
  taken += ring.pop_batch(rest);
  return taken == accepted && accepted + ring.dropped_total() == 700 && ring.dropped_total() != 0;
}

int main() {
  local_ring<int, 8> own;
  auto library = fabscope::spsc_ring<int>::create(8);
  const bool good = library && is_exact(own) && is_exact(*library);
  std::printf("%llu and %llu records were refused\n",
              static_cast<unsigned long long>(own.dropped_total()),
              static_cast<unsigned long long>(library->dropped_total()));
  return good && own.dropped_total() == library->dropped_total() ? 0 : 1;
}
