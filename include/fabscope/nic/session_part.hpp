// SPDX-License-Identifier: Apache-2.0
// The adapter's part in one session: what the collector does for it. Layer: nic.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fabscope/nic/csv.hpp>
#include <fabscope/nic/options.hpp>
#include <fabscope/nic/sampler.hpp>
#include <fabscope/scope/link.hpp>
#include <fabscope/session/session.hpp>
#include <fabscope/stats/fabric_rows.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

namespace detail {

/// Made once per session and kept for good: threads may still be in it when the session has ended.
class session_part {
 public:
  session_part(const fabscope_table* table, std::uint32_t number, sampler_options chosen,
               bool waits_for_fabric, session_part* earlier)
      : table_(table),
        number_(number),
        options_(std::move(chosen)),
        waits_(waits_for_fabric),
        earlier_(earlier) {}

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  /// No longer until the fabric is used: at once.
  void hurry() noexcept { __atomic_store_n(&waits_, false, __ATOMIC_RELAXED); }

  /// False if the session has ended.
  bool start() {
    const bool recording = table_->level >= static_cast<std::uint32_t>(level::record);
    if (options_.period_ms == 0) options_.period_ms = recording ? 100 : 1000;
    if (options_.ring_bytes == 0) options_.ring_bytes = recording ? 1024 * 1024 : 256 * 1024;
    fabscope::options session_options;
    std::string node_dir;
    if (fabscope::detail::engine* mine = own_engine()) {
      session_options = mine->settings();
      who_ = mine->who();
      segment_path_ = mine->memory_file().path();
    } else {
      apply_environment(session_options, environment::of_process(), diagnostics{});
      std::string said_already;
      who_ = read_identity(environment::of_process(), &said_already);
      session_options.run_level = static_cast<level>(table_->level);
    }
    node_dir_ = session_options.node_dir.empty() ? "/dev/shm" : session_options.node_dir;
    if (own_engine() == nullptr) {
      segment_path_ =
          node_dir_ + "/fabscope." + who_.host + ".p" + std::to_string(who_.pid) + ".seg";
      directory_.start(session_options.directory.empty()
                           ? std::string("./fabscope.") + (who_.job[0] != '\0' ? who_.job : "out")
                           : session_options.directory,
                       who_.host, who_.rank, who_.pid,
                       static_cast<mode_t>(session_options.file_mode));
    }
    writes_csv_ = (session_options.wanted_outputs() & output_csv) != 0;
    budget_.left = options_.max_mb * 1'000'000;
    const fabscope_client client{sizeof(fabscope_client),
                                 0,
                                 "nic",
                                 this,
                                 [](void* self) { static_cast<session_part*>(self)->tick(); },
                                 [](void* self) { static_cast<session_part*>(self)->finish(); }};
    return table_->client(&client) != 0;
  }

  /// In the child of a fork.
  void forget_locks() noexcept {
    if (sampler_ != nullptr) sampler_->forget_locks();
    if (earlier_ != nullptr) earlier_->forget_locks();
  }

  // Threads: the collector.
  void tick() {
    switch (phase_) {
      case phase::waiting:
        if (is_time_to_start()) prepare();
        break;
      case phase::preparing:
        if (__atomic_load_n(&prepared_, __ATOMIC_ACQUIRE)) begin();
        break;
      case phase::sampling: drain(); break;
      case phase::ended: break;
    }
  }

  // Threads: the collector, once.
  void finish() {
    // A session that ends before its NICs are open has nothing to say about them.
    for (int i = 0; i < 200 && phase_ == phase::preparing; ++i) {
      if (__atomic_load_n(&prepared_, __ATOMIC_ACQUIRE)) break;
      const timespec pause{0, 1'000'000};
      ::nanosleep(&pause, nullptr);
    }
    tick();
    if (phase_ == phase::sampling) {
      const bool ended = sampler_->stop(300'000'000);
      drain();
      copy_of_others();
      if (csv_ != nullptr) {
        csv_->finish(*row_);
        relaxed_store(row_->written, csv_->rows_written());
        relaxed_store(row_->dropped, csv_->rows_lost());
        if (csv_->rows_lost() != 0) {
          diagnostics::on_stderr().say("fabscope: " + std::to_string(csv_->rows_lost()) + " of " +
                                       std::to_string(row_->samples) +
                                       " samples are missing in nic.csv: set FABSCOPE_NIC_MAX_MB "
                                       "higher, or FABSCOPE_NIC_MS");
        }
      }
      if (!ended) {
        diagnostics::on_stderr().say(
            "fabscope: a read of a NIC's counter has not come back; it is left alone");
      }
    }
    phase_ = phase::ended;
  }

 private:
  enum class phase { waiting, preparing, sampling, ended };

  fabscope::detail::engine* own_engine() const noexcept {
    return table_ == &fabscope::detail::owner_table ? fabscope::detail::current_engine() : nullptr;
  }
  result<segment_view> own_view() const noexcept {
    if (fabscope::detail::engine* mine = own_engine()) {
      return segment_view::map(mine->memory_file().descriptor());
    }
    return segment_view::open(segment_path_.c_str());
  }

  // The fabric adapter, of whichever copy, writes a row per NIC that the application has opened.
  bool is_time_to_start() {
    const std::uint64_t now = monotonic_ns();
    if (now < next_look_ns_) return false;
    next_look_ns_ = now + 10'000'000;
    const auto view = own_view();
    std::vector<device_hint> found;
    if (view) {
      view->rows<nic_row>([&](const nic_row& row, std::uint32_t) {
        const std::string name(view->label(row.nic));
        if (!name.empty()) found.push_back({name, {}});
      });
    }
    if (!__atomic_load_n(&waits_, __ATOMIC_RELAXED)) {
      opened_ = std::move(found);
      return true;
    }
    if (found.empty()) return false;
    if (found.size() != opened_.size()) {  // more may follow at once
      opened_ = std::move(found);
      settled_ns_ = now + 20'000'000;
      return false;
    }
    return now >= settled_ns_;
  }

  // Looking at devices and opening their files may take long, or hang where a file system does: a
  // thread of its own does it, and the collector goes on.
  void prepare() {
    phase_ = phase::preparing;
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    ::pthread_attr_init(&detached);
    ::pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t thread{};
    const int failed = ::pthread_create(
        &thread, &detached,
        [](void* self) -> void* {
          static_cast<session_part*>(self)->look();
          return nullptr;
        },
        this);
    ::pthread_attr_destroy(&detached);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed != 0) phase_ = phase::ended;
  }

  void look() {
    ::pthread_setname_np(::pthread_self(), "fabscope-nic-0");
    device_wishes wishes;
    wishes.named = split_list(options_.devices);
    wishes.opened = opened_;
    wishes.numa = numa_of_processors();
    const auto all = find_devices(options_.where);
    counter_selection counters(options_.counters);
    sweep what;
    what.add_devices(select_devices(all, wishes, diagnostics::on_stderr()), counters);
    if (!what.devices().empty()) counters.complain(diagnostics::on_stderr());
    std::vector<node_lock> locks;
    for (const nic_device& one : what.devices()) {
      locks.emplace_back(node_lock::path_for(node_dir_, who_.job, options_.where, one));
      lock_paths_.push_back(node_lock::path_for(node_dir_, who_.job, options_.where, one));
    }
    sampler_ = new (std::nothrow) sampler(
        std::move(what), std::move(locks), lock_holder{who_.pid, segment_path_},
        std::uint64_t{options_.period_ms} * 1'000'000, static_cast<clock_kind>(table_->clock));
    __atomic_store_n(&prepared_, true, __ATOMIC_RELEASE);  // pairs with tick
  }

  // The NUMA node of all processors that the process may run on; -1 if there are several.
  int numa_of_processors() const {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return -1;
    int node = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(static_cast<std::size_t>(cpu), &mine)) continue;
      int its = -1;
      const std::string dir = options_.where.sys + "/devices/system/cpu/cpu" + std::to_string(cpu);
      for (const std::string& name : names_in(dir)) {
        if (name.compare(0, 4, "node") == 0 && all_digits(name.substr(4))) {
          its = std::atoi(name.c_str() + 4);
        }
      }
      if (its < 0 || (node >= 0 && its != node)) return -1;
      node = its;
    }
    return node;
  }

  template <class Row>
  Row* rows(std::size_t count) const noexcept {
    static constexpr char key = 0;
    const fabscope_type about = describe<Row>();
    return static_cast<Row*>(
        table_->memory(nullptr, &key, table_->type(&about), static_cast<std::uint32_t>(count)));
  }
  std::uint32_t label(const std::string& text) const noexcept {
    return table_->label(text.data(), text.size());
  }

  void begin() {
    phase_ = phase::ended;
    if (sampler_ == nullptr || sampler_->counters().columns().empty()) return;
    const std::vector<counter_column>& columns = sampler_->counters().columns();
    const std::vector<nic_device>& devices = sampler_->counters().devices();
    const std::size_t blocks = options_.ring_bytes / sizeof(nic_block_row);
    block_count_ = blocks < 4 ? 4 : blocks;
    blocks_ = rows<nic_block_row>(block_count_);
    counters_ = rows<nic_counter_row>(columns.size());
    device_rows_ = rows<nic_device_row>(devices.size());
    row_ = rows<nic_sampler_row>(1);
    std::size_t with_rate = 0;
    for (const counter_column& one : columns) with_rate += has_rate(one) ? 1U : 0U;
    if (with_rate != 0) rate_rows_ = rows<nic_rate_row>(with_rate);
    if (blocks_ == nullptr || counters_ == nullptr || device_rows_ == nullptr || row_ == nullptr ||
        (with_rate != 0 && rate_rows_ == nullptr) || !decoder_.start(columns.size())) {
      diagnostics::on_stderr().say("fabscope: no room for samples of NIC counters");
      return;
    }
    describe_columns(columns);
    describe_devices(devices);
    if (writes_csv_) open_csv(devices);
    if (sampler_->start(blocks_, block_count_, row_)) phase_ = phase::sampling;
  }

  static bool has_rate(const counter_column& one) noexcept {
    return one.role == nic_role::tx_bytes || one.role == nic_role::rx_bytes;
  }

  void describe_columns(const std::vector<counter_column>& columns) {
    std::size_t rate = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const counter_column& from = columns[i];
      rates_.emplace_back(from.format);
      nic_counter_row& to = counters_[i];
      to.device = label(from.device);
      to.name = label(from.name);
      to.unit = label(from.unit);
      to.source = label(from.path.substr(0, from.path.rfind('/')));
      to.column = static_cast<std::uint32_t>(i);
      to.kind = static_cast<std::uint8_t>(from.format.kind);
      to.bits = from.format.bits;
      to.role = static_cast<std::uint8_t>(from.role);
      to.flags = from.flags;
      to.scale = from.scale;
      to.refresh_ns = from.format.refresh_ns;
      rate_of_.push_back(nullptr);
      if (!has_rate(from)) continue;
      rate_of_.back() = rate_rows_ + rate++;
      rate_of_.back()->device = to.device;
      rate_of_.back()->name = to.name;
    }
    fastest_.assign(columns.size(), 0);
    invalid_.assign(columns.size(), 0);
  }

  void describe_devices(const std::vector<nic_device>& devices) {
    for (std::size_t d = 0; d < devices.size(); ++d) {
      nic_device_row& to = device_rows_[d];
      to.device = label(devices[d].title());
      to.device_class = label(devices[d].device_class);
      to.driver = label(devices[d].driver);
      to.pci = label(devices[d].pci);
      to.about = label(about(devices[d]));
      to.numa = devices[d].numa;
      to.speed_mbps = devices[d].speed_mbps;
      release_store(to.used, row_in_use);
    }
  }

  /// Who the device is, in the words of its files.
  static std::string about(const nic_device& one) {
    std::string out;
    const auto add = [&](const char* key, const std::string& path) {
      const std::string value = read_line(path);
      if (!value.empty()) out += (out.empty() ? "" : " ") + std::string(key) + "=" + value;
    };
    if (one.device_class == "cxi") {
      add("nid", one.dir + "/device/properties/nid");
      add("version", one.dir + "/device/properties/cassini_version");
      add("link", one.dir + "/device/properties/link");
    } else if (one.device_class == "infiniband") {
      add("guid", one.dir + "/node_guid");
      add("fw", one.dir + "/fw_ver");
      add("state", one.dir + "/ports/" + std::to_string(one.port) + "/state");
    } else {
      add("state", one.dir + "/operstate");
      add("mac", one.dir + "/address");
    }
    return out;
  }

  void open_csv(const std::vector<nic_device>& devices) {
    csv_file::description text;
    text.period_ns = sampler_->period_ns();
    const auto view = own_view();
    const clock_snapshot begin =
        view ? view->head().begin : take_snapshot(static_cast<clock_kind>(table_->clock));
    text.anchor_mono_ns = begin.monotonic_ns;
    text.anchor_wall_ns = begin.realtime_ns;
    for (const nic_device& one : devices) {
      const std::string nid =
          one.device_class == "cxi" ? read_line(one.dir + "/device/properties/nid") : "";
      text.devices.push_back(
          one.title() + " nic_addr=? nid=" + (nid.empty() ? std::string("?") : nid) + " class=" +
          one.device_class + " driver=" + (one.driver.empty() ? std::string("?") : one.driver) +
          " pci=" + (one.pci.empty() ? std::string("?") : one.pci) +
          " numa=" + std::to_string(one.numa) + " speed_mbps=" + std::to_string(one.speed_mbps));
    }
    file_sink_options file;
    file.opener = {this, [](void* self, const char* kind) noexcept {
                     auto* part = static_cast<session_part*>(self);
                     fabscope::detail::engine* mine = part->own_engine();
                     return (mine != nullptr ? mine->directory() : part->directory_).open(kind);
                   }};
    file.budget = &budget_;
    file.buffer_bytes = 1024 * 1024;
    file.host = who_.host;
    file.rank = who_.rank;
    file.pid = who_.pid;
    csv_ = std::make_unique<csv_file>(file, std::move(text), sampler_->counters().columns());
  }

  void drain() {
    std::uint64_t number = decoder_.last_block() == 0 ? 1 : decoder_.last_block();
    bool any = false;
    for (;;) {
      copy_block(blocks_[(number - 1) % block_count_], copy_);
      if (copy_.head == 0 || copy_.head != copy_.tail || copy_.head < number) break;
      if (copy_.head > number) {  // overwritten
        const std::uint64_t oldest = copy_.head - block_count_ + 1;
        number = oldest > number ? oldest : number + 1;
        continue;
      }
      decoder_.block(copy_, next_sample_, [&](const nic_sample& one) {
        take(one);
        any = true;
      });
      ++number;
    }
    const std::uint64_t now = monotonic_ns();
    if (any) publish();
    publish_devices();
    if (csv_ != nullptr && now >= next_flush_ns_) {
      csv_->flush();
      next_flush_ns_ = now + 1'000'000'000;
    }
  }

  void take(const nic_sample& one) {
    if (one.number > next_sample_) relaxed_add(row_->overwritten, one.number - next_sample_);
    next_sample_ = one.number + 1;
    const std::uint64_t begin = table_->to_ns(one.begin);
    const std::uint64_t end = table_->to_ns(one.end);
    for (std::size_t i = 0; i < one.values.size(); ++i) {
      if (one.states[i] == sample_state::absent) continue;
      if (one.states[i] != sample_state::good) {
        rates_[i].add_missing();
        invalid_[i] += one.states[i] == sample_state::invalid ? 1U : 0U;
        continue;
      }
      if (rates_[i].samples_total() == 0) relaxed_store(counters_[i].first, one.values[i]);
      const counter_step step = rates_[i].add(begin, one.values[i]);
      if (!step.is_exact() || step.duration_ns == 0) continue;
      const double rate = step.per_second();
      const auto whole = rate < 9e18 ? static_cast<std::uint64_t>(rate) : ~std::uint64_t{0} >> 1;
      if (whole > fastest_[i]) fastest_[i] = whole;
      if (rate_of_[i] == nullptr) continue;
      rate_of_[i]->add(whole * counters_[i].scale);
      if (rate_of_[i]->used == 0) release_store(rate_of_[i]->used, row_in_use);
    }
    if (csv_ != nullptr) {
      csv_->add(one, begin, end);
    } else {
      relaxed_add(row_->filtered, 1);
    }
  }

  void publish() noexcept {
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      const counter_rate& from = rates_[i];
      if (from.samples_total() == 0 && from.missing_total() == 0) continue;
      nic_counter_row& to = counters_[i];
      relaxed_store(to.last, from.value());
      relaxed_store(to.min, (from.min)());
      relaxed_store(to.max, (from.max)());
      relaxed_store(to.total, from.total());
      relaxed_store(to.fastest, fastest_[i]);
      relaxed_store(to.observed, from.observed_ns());
      relaxed_store(to.samples, from.samples_total());
      relaxed_store(to.missing, from.missing_total() - invalid_[i]);
      relaxed_store(to.invalid, invalid_[i]);
      relaxed_store(to.resets, from.resets_total());
      relaxed_store(to.wraps, from.wraps_total());
      relaxed_store(to.saturated, from.saturated_total());
      relaxed_store(to.sampler, static_cast<std::uint64_t>(who_.pid));
      if (to.used == 0) release_store(to.used, row_in_use);
    }
    if (csv_ != nullptr) {
      relaxed_store(row_->written, csv_->rows_written());
      relaxed_store(row_->dropped, csv_->rows_lost());
    }
  }

  void publish_devices() {
    const sweep& what = sampler_->counters();
    for (std::size_t d = 0; d < what.devices().size(); ++d) {
      nic_device_row& to = device_rows_[d];
      const sweep::device_state& from = what.state(d);
      relaxed_store(to.taken_over, sampler_->taken_over(d));
      relaxed_store(to.gone, relaxed_load(from.gone));
      relaxed_store(to.back, relaxed_load(from.back));
      relaxed_store(to.gone_at, ticks_of(relaxed_load(from.gone_at_ns)));
      relaxed_store(to.back_at, ticks_of(relaxed_load(from.back_at_ns)));
      if (sampler_->owns(d)) {
        relaxed_store(to.sampler, static_cast<std::uint64_t>(who_.pid));
      } else if (monotonic_ns() >= next_holder_ns_) {
        next_holder_ns_ = monotonic_ns() + 100'000'000;
        const lock_holder holder = node_lock::read_holder(lock_paths_[d]);
        relaxed_store(to.sampler, static_cast<std::uint64_t>(holder.pid));
      }
    }
  }

  // Ticks of a moment in the past, by how long ago it is.
  std::uint64_t ticks_of(std::uint64_t ns) const noexcept {
    if (ns == 0) return 0;
    const auto kind = static_cast<clock_kind>(table_->clock);
    const std::uint64_t now = now_ticks(kind);
    const std::uint64_t now_ns = table_->to_ns(now);
    const std::uint64_t back_ns = now_ns > ns ? now_ns - ns : 0;
    const std::uint64_t unit = table_->to_ns(now) - table_->to_ns(now - (std::uint64_t{1} << 20));
    if (unit == 0) return now;
    return now - static_cast<std::uint64_t>(static_cast<double>(back_ns) * 1048576.0 /
                                            static_cast<double>(unit));
  }

  // What another process of this node has sampled of our NICs stands in our report too.
  void copy_of_others() {
    const sweep& what = sampler_->counters();
    for (std::size_t d = 0; d < what.devices().size(); ++d) {
      if (sampler_->owns(d)) continue;
      const lock_holder holder = node_lock::read_holder(lock_paths_[d]);
      if (holder.segment.empty() || holder.pid == who_.pid) continue;
      const auto view = segment_view::open(holder.segment.c_str());
      if (!view || view->head().pid != holder.pid) continue;
      const std::string title = what.devices()[d].title();
      view->rows<nic_counter_row>([&](const nic_counter_row& row, std::uint32_t) {
        if (view->label(row.device) != title) return;
        for (std::size_t i = 0; i < what.columns().size(); ++i) {
          nic_counter_row& to = counters_[i];
          if (what.columns()[i].device != title) continue;
          if (what.columns()[i].name != view->label(row.name) || to.used != 0) continue;
          const nic_counter_row mine = to;
          to = row;
          to.used = 0;
          to.device = mine.device;
          to.name = mine.name;
          to.unit = mine.unit;
          to.source = mine.source;
          to.column = mine.column;
          release_store(to.used, row_in_use);
        }
      });
      relaxed_store(device_rows_[d].sampler, static_cast<std::uint64_t>(holder.pid));
    }
  }

  const fabscope_table* table_;
  std::uint32_t number_;
  sampler_options options_;
  bool waits_;
  [[maybe_unused]] session_part* earlier_;
  phase phase_ = phase::waiting;
  identity who_;
  std::string node_dir_;
  std::string segment_path_;
  fabscope::detail::run_directory directory_;
  byte_budget budget_;
  bool writes_csv_ = false;
  bool prepared_ = false;
  std::vector<device_hint> opened_;
  std::vector<std::string> lock_paths_;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t settled_ns_ = 0;
  std::uint64_t next_flush_ns_ = 0;
  std::uint64_t next_holder_ns_ = 0;
  std::uint64_t next_sample_ = 0;
  sampler* sampler_ = nullptr;
  std::size_t block_count_ = 0;
  nic_block_row* blocks_ = nullptr;
  nic_counter_row* counters_ = nullptr;
  nic_rate_row* rate_rows_ = nullptr;
  nic_device_row* device_rows_ = nullptr;
  nic_sampler_row* row_ = nullptr;
  nic_block_row copy_;
  sample_decoder decoder_;
  std::vector<counter_rate> rates_;
  std::vector<nic_rate_row*> rate_of_;
  std::vector<std::uint64_t> fastest_;
  std::vector<std::uint64_t> invalid_;
  std::unique_ptr<csv_file> csv_;
};

inline constinit pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
[[gnu::used]] inline constinit session_part* newest_part = nullptr;
inline constinit bool watches_forks = false;
inline constinit std::uint32_t asked_in = 0;  ///< number of the session

/// True if a session runs for which this copy was told to sample, or not to.
inline bool is_started() noexcept {
  const fabscope_table* table = fabscope::detail::find_session();
  if (table == nullptr) return false;
  const std::uint32_t number = session_number(__atomic_load_n(table->mask, __ATOMIC_ACQUIRE));
  const fabscope::detail::lock_guard starting(start_lock);
  return number != 0 && asked_in == number;
}

inline errc start_part(const sampler_options& chosen, bool waits_for_fabric) {
  const fabscope_table* table = fabscope::detail::find_session();
  if (table == nullptr) return errc::unavailable;
  const std::uint32_t number = session_number(__atomic_load_n(table->mask, __ATOMIC_ACQUIRE));
  if (number == 0) return errc::unavailable;
  const fabscope::detail::lock_guard starting(start_lock);
  asked_in = number;
  if (!chosen.on) return errc::unavailable;
  if (newest_part != nullptr && newest_part->number() == number) {
    if (!waits_for_fabric) newest_part->hurry();
    return errc::ok;
  }
  if (!watches_forks) {
    watches_forks = true;
    fabscope::detail::pin_module();
    ::pthread_atfork(nullptr, nullptr, [] {
      if (newest_part != nullptr) newest_part->forget_locks();
    });
  }
  newest_part = new session_part(table, number, chosen, waits_for_fabric, newest_part);
  return newest_part->start() ? errc::ok : errc::unavailable;
}

}  // namespace detail

/// The options that the variables say.
inline sampler_options options_from_environment(sampler_options defaults = {}) {
  return sampler_options_from(environment::of_process(), diagnostics::on_stderr(),
                              std::move(defaults));
}

/// Samples NIC counters from now on in the running session, until it ends. A second call in the
/// same session changes nothing.  Threads: any.
/// Errors: unavailable if no session runs, or `on` is false.
/// Cost: a thread that wakes up in every period, and one a second for what may block.
inline errc start(const sampler_options& chosen) { return detail::start_part(chosen, false); }
/// The same with options from the variables.
inline errc start() {
  return detail::is_started() ? detail::start_part({}, false) : start(options_from_environment());
}

/// The same from the first NIC on that the application opens through libfabric, as the fabric
/// adapter sees it: a program that opens none has no thread for it and reads no file.
inline errc start_with_fabric(const sampler_options& chosen) {
  return detail::start_part(chosen, true);
}
/// The same with options from the variables, which are read once per session.
inline errc start_with_fabric() {
  return detail::is_started() ? errc::ok : start_with_fabric(options_from_environment());
}

}  // namespace nic

FABSCOPE_NAMESPACE_END
