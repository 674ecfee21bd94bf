// SPDX-License-Identifier: Apache-2.0
// Plays a collective library towards its profiler plugin: NCCL 2.23 to 2.31 or RCCL. What it does
// is synthetic; nothing of fabscope is included here, so that its own totals are an independent
// answer.
//
// Built as a library whose file is named like the real one, because plugins look at that.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using u64 = std::uint64_t;

/// The table: name and five functions. `init` differs between versions.
struct table {
  const char* name;
  void* init;
  int (*start)(void*, void**, void*);
  int (*stop)(void*);
  int (*record)(void*, int, void*);
  int (*finalize)(void*);
};

/// A descriptor as bytes. Garbage where the host does not write: a plugin must not look there.
struct descriptor {
  alignas(8) unsigned char byte[192];
  explicit descriptor(int version, u64 type, void* parent, int rank) {
    std::memset(byte, 0xa5, sizeof byte);
    if (version >= 5)
      put(0, type);
    else
      put(0, static_cast<std::uint8_t>(type));
    put(8, parent);
    put(16, rank);
  }
  template <class T>
  descriptor& put(std::size_t at, T value) {
    std::memcpy(byte + at, &value, sizeof value);
    return *this;
  }
};

struct function {
  const char* name;
  std::uint8_t number;  // version 1
};
constexpr function functions[] = {
    {"AllReduce", 4}, {"AllGather", 2}, {"ReduceScatter", 3}, {"Broadcast", 0}, {"Reduce", 1}};

struct totals {
  u64 count = 0;
  u64 bytes = 0;
};

struct options {
  std::string plugin;
  int version = 7;
  int comms = 1;
  int ops = 100;
  int channels = 4;
  int announced = -1;  // what the uint8 says; -1: the channels
  int rounds = 1;      // generations of the communicators
  bool faults = false;
  bool amd = false;
  bool control = false;  // stops in the middle and starts again
};

int logged = 0;
void logger(int, unsigned long, const char*, int, const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  ++logged;
  std::fprintf(stderr, "host: %s\n", line);
}

class host {
 public:
  explicit host(const options& chosen) : o(chosen) {
    const bool in_program = o.plugin == "STATIC_PLUGIN";
    library = ::dlopen(in_program ? nullptr : o.plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail(::dlerror());
    for (int v = o.version; v >= 1 && t == nullptr; --v) {
      const std::string symbol = "ncclProfiler_v" + std::to_string(v);
      t = static_cast<table*>(::dlsym(library, symbol.c_str()));
      version = v;
    }
    if (t == nullptr) fail("no table");
  }

  int run() {
    for (int round = 0; round < o.rounds; ++round) {
      std::vector<std::thread> ranks;
      for (int c = 0; c < o.comms; ++c) ranks.emplace_back([this, c] { communicator(c); });
      for (std::thread& one : ranks) one.join();
    }
    print();
    return 0;
  }

 private:
  struct work {
    void* operation;
    int channel;
    u64 begin;
    u64 end;
    int fault;
  };

  [[noreturn]] static void fail(const char* why) {
    std::fprintf(stderr, "host: %s\n", why);
    std::exit(2);
  }

  void command(const char* name, int argument) {
    auto* const function = reinterpret_cast<int (*)(int)>(::dlsym(library, name));
    if (function == nullptr || function(argument) != 0) fail(name);
  }

  void communicator(int c) {
    const u64 id = 0xfedcba9876540000U + static_cast<u64>(c);
    const std::string name = "group " + std::to_string(c) + " \"x\"\n";
    void* context = nullptr;
    int status = 0;
    if (version < 4) {
      status = reinterpret_cast<int (*)(void**, int*)>(t->init)(&context, &mask);
    } else if (version == 4) {
      status = reinterpret_cast<int (*)(
          void**, int*, const char*, u64, int, int, int,
          void (*)(int, unsigned long, const char*, int, const char*, ...))>(t->init)(
          &context, &mask, name.c_str(), id, 2, 8, c, c == 0 ? &logger : nullptr);
    } else {
      status = reinterpret_cast<int (*)(
          void**, u64, int*, const char*, int, int, int,
          void (*)(int, unsigned long, const char*, int, const char*, ...))>(t->init)(
          &context, id, &mask, name.c_str(), 2, 8, c, c == 0 ? &logger : nullptr);
    }
    if (status != 0) fail("init failed");
    std::deque<work> queue;
    std::mutex lock;
    std::condition_variable changed;
    bool done = false;
    std::map<std::string, totals> mine;
    std::map<std::string, u64> wrong;
    std::map<std::string, u64> wrong_there;  // the proxy thread's
    std::thread proxy([&] {
      for (;;) {
        std::unique_lock<std::mutex> hold(lock);
        changed.wait(hold, [&] { return done || !queue.empty(); });
        if (queue.empty()) return;
        std::deque<work> batch;
        batch.swap(queue);
        hold.unlock();
        changed.notify_all();
        for (const work& one : batch) kernel(one, wrong_there);
      }
    });
    const auto post = [&](std::vector<work>& items) {
      std::unique_lock<std::mutex> hold(lock);
      changed.wait(hold, [&] { return queue.size() < 4096; });
      for (const work& one : items) queue.push_back(one);
      changed.notify_all();
    };
    void* first = nullptr;
    const bool asked = __atomic_load_n(&mask, __ATOMIC_RELAXED) != 0;
    for (int n = 0; asked && n < o.ops; ++n) {
      if (o.control && n == o.ops / 3) command("fabscope_profiler_stop", 0);
      if (o.control && n == o.ops / 3 * 2) command("fabscope_profiler_start", 0x46);
      if (__atomic_load_n(&mask, __ATOMIC_RELAXED) == 0) {
        ++skipped;
        continue;
      }
      const bool pair = n % 6 == 5;
      const function& f = functions[n % 6 % 5];
      const std::string what = pair ? (n % 12 == 5 ? "Send" : "Recv") : f.name;
      const u64 count = 1024U << (n % 7);
      const bool in_bytes = what == "AllGather" || what == "Broadcast";  // as the host sends them
      void* api = nullptr;
      if (version >= 5) {
        descriptor d(version, pair ? 0x400 : 0x200, nullptr, c);
        d.put(24, what.c_str()).put(32, count).put(40, "ncclFloat32");
        d.put(pair ? 56 : 64, false);
        t->start(context, &api, d.byte);
        t->stop(api);
      }
      void* group = nullptr;
      descriptor g(version, 0x1, nullptr, c);
      t->start(context, &group, g.byte);
      void* handle = reinterpret_cast<void*>(0xdead);
      start(context, &handle, api, group, c, n, f, what, pair, in_bytes ? count * 4 : count,
            in_bytes ? "ncclInt8" : "ncclFloat32", in_bytes ? 0 : 7);
      totals& sum = mine[what];
      ++sum.count;
      sum.bytes += count * 4;
      const bool kernels = version >= 3 && (__atomic_load_n(&mask, __ATOMIC_RELAXED) & 0x40) != 0;
      if (kernels) {
        std::vector<work> items;
        const u64 at = 1756135989724672000U + static_cast<u64>(n) * 100000;
        for (int k = 0; k < o.channels; ++k) {
          const u64 begin = at + static_cast<u64>(k) * 100;
          const int fault = o.faults && k == 0 ? n % 5 : 0;
          items.push_back(
              {handle, (k * 7 + 3) & 63, begin, begin + 5000 + static_cast<u64>(k) * 10, fault});
        }
        post(items);
      }
      t->stop(handle);
      t->stop(group);
      if (n == 0) first = handle;
      if (o.faults && n % 10 == 9) anomalies(context, handle, c, wrong);
    }
    {
      const std::lock_guard<std::mutex> hold(lock);
      done = true;
    }
    changed.notify_all();
    proxy.join();
    for (const auto& [why, count] : wrong_there) wrong[why] += count;
    if (o.faults && asked &&
        version >= 3) {  // what a replayed graph brings: an operation long over
      descriptor d(version, 0x40, first, c);
      d.put(24, std::uint8_t{0}).put(32, u64{1});
      void* handle = reinterpret_cast<void*>(0xdead);
      t->start(context, &handle, d.byte);
      if (handle != nullptr) fail("a channel of an operation that is over gave a handle");
      ++wrong["stale handle"];
    }
    t->finalize(context);
    if (o.faults && asked) {  // what comes after the end
      void* late = reinterpret_cast<void*>(0xdead);
      start(context, &late, nullptr, nullptr, c, 0, functions[0], "AllReduce", false, 1, "ncclInt8",
            0);
      ++wrong["communicator not known"];
      if (late != nullptr) fail("a communicator that is gone gave a handle");
    }
    const std::lock_guard<std::mutex> hold(all_lock);
    for (const auto& [what, sum] : mine) {
      totals& to = all[version < 4 ? 0 : id][what];
      to.count += sum.count;
      to.bytes += sum.bytes;
    }
    for (const auto& [why, count] : wrong) ignored[why] += count;
  }

  void start(void* context, void** handle, void* api, void* group, int rank, int n,
             const function& f, const std::string& what, bool pair, u64 count, const char* type,
             std::uint8_t type_number) {
    const auto channels = static_cast<std::uint8_t>(o.announced < 0 ? o.channels : o.announced);
    const char* const name = literal(what);
    descriptor d(version, pair ? 0x4 : 0x2, version >= 5 ? api : group, rank);
    if (version < 4) {
      d.put(24, static_cast<const char*>(nullptr)).put(32, u64{0});
      if (pair) {
        if (version == 1)
          d.put(40, static_cast<std::uint8_t>(what == "Send" ? 6 : 7)).put(56, type_number);
        else
          d.put(40, name).put(56, type);
        d.put(64, count).put(72, 3);
      } else {
        d.put(40, static_cast<u64>(n)).put(72, count).put(80, 0);
        if (version == 1) {
          d.put(48, f.number).put(84, type_number).put(104, channels);
          d.put(106, std::uint8_t{1}).put(107, std::uint8_t{2});
        } else {
          d.put(48, name).put(88, type);
          d.put(version == 2 ? 104 : 96, channels);
          d.put(version == 2 ? 112 : 104, "RING").put(version == 2 ? 120 : 112, "SIMPLE");
        }
      }
    } else if (pair) {
      d.put(24, name).put(40, type).put(48, count).put(56, 3).put(60, channels);
      if (version >= 5) d.put(64, group);
      if (version >= 7) d.put(72, u64{0});
    } else {
      d.put(24, static_cast<u64>(n)).put(32, name).put(56, count).put(64, 0).put(72, type);
      d.put(80, channels).put(81, std::uint8_t{16}).put(88, "RING").put(96, "SIMPLE");
      if (version >= 5) d.put(104, group);
      if (version >= 7)
        d.put(112, static_cast<const char*>(nullptr)).put(120, false).put(128, u64{0});
    }
    t->start(context, handle, d.byte);
  }

  static const char* literal(const std::string& what) {
    for (const char* one :
         {"Send", "Recv", "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce"}) {
      if (what == one) return one;
    }
    fail("no such function");
  }

  void kernel(const work& one, std::map<std::string, u64>& wrong) {
    const u64 scale = o.amd ? 10 : 1;  // 100 MHz
    descriptor d(version, 0x40, one.operation, -1);
    d.put(24, static_cast<std::uint8_t>(one.channel));
    if (version >= 4) d.put(32, one.begin / scale);
    void* handle = nullptr;
    t->start(nullptr, &handle, d.byte);
    u64 timer[3] = {one.end / scale, 0xa5a5, 0xa5a5};  // RCCL's union is longer
    if (version >= 4) t->record(handle, 22, timer);
    if (version >= 4 && one.fault == 1) {  // a second record: the first one counts
      u64 other[3] = {one.end / scale + 99999, 0, 0};
      t->record(handle, 22, other);
      ++wrong["repeated"];
    }
    t->stop(handle);
    if (one.fault == 2) {
      t->stop(handle);
      ++wrong["stale handle"];
    }
    if (version >= 4 && one.fault == 3) {  // a record of a channel that is over
      t->record(handle, 22, timer);
      ++wrong["stale handle"];
    }
  }

  /// What hosts have been seen to do, and worse.
  void anomalies(void* context, void* repeated, int rank, std::map<std::string, u64>& wrong) {
    void* handle = reinterpret_cast<void*>(0xdead);
    {  // PXN: parent, context and pid are another process's
      descriptor d(version, 0x8, reinterpret_cast<void*>(0x7f0000001234), rank);
      d.put(24, ::getpid() + 1)
          .put(28, std::uint8_t{0})
          .put(32, 1)
          .put(36, 4)
          .put(40, 4096)
          .put(44, 1);
      t->start(reinterpret_cast<void*>(0x7f0000005678), &handle, d.byte);
      t->stop(handle);
      ++wrong["of another process"];
    }
    t->stop(repeated);  // over, or about to be: both are counted
    ++wrong["repeated or stale"];
    t->stop(nullptr);
    t->record(nullptr, 9, nullptr);
    if (version >= 5) {
      descriptor d(version, 0x100000, nullptr, rank);
      t->start(context, &handle, d.byte);
      if (handle != nullptr) fail("an unknown type gave a handle");
      ++wrong["type not known"];
    }
    if (version >= 3) {
      descriptor d(version, 0x40, nullptr, rank);
      d.put(24, std::uint8_t{0}).put(32, u64{0});
      t->start(context, &handle, d.byte);
      if (handle != nullptr) fail("a channel without parent gave a handle");
      ++wrong["no parent"];
    }
  }

  void print() const {
    std::printf("{\"version\":%d,\"mask\":%d,\"logged\":%d,\"skipped\":%d,\"collectives\":{",
                version, mask, logged, skipped);
    const char* separator = "";
    for (const auto& [id, kinds] : all) {
      std::printf("%s\"0x%llx\":{", separator, static_cast<unsigned long long>(id));
      const char* inner = "";
      for (const auto& [what, sum] : kinds) {
        std::printf("%s\"%s\":[%llu,%llu]", inner, what.c_str(),
                    static_cast<unsigned long long>(sum.count),
                    static_cast<unsigned long long>(sum.bytes));
        inner = ",";
      }
      std::printf("}");
      separator = ",";
    }
    std::printf("},\"ignored\":{");
    separator = "";
    for (const auto& [why, count] : ignored) {
      std::printf("%s\"%s\":%llu", separator, why.c_str(), static_cast<unsigned long long>(count));
      separator = ",";
    }
    std::printf("}}\n");
  }

  options o;
  void* library = nullptr;
  table* t = nullptr;
  int version = 0;
  int mask = 0;
  int skipped = 0;
  std::mutex all_lock;
  std::map<u64, std::map<std::string, totals>> all;
  std::map<std::string, u64> ignored;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int play(int argc, char** argv) {
  options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    const int number = std::atoi(argv[i + 1]);
    if (key == "--plugin") o.plugin = argv[i + 1];
    if (key == "--version") o.version = number;
    if (key == "--comms") o.comms = number;
    if (key == "--ops") o.ops = number;
    if (key == "--channels") o.channels = number;
    if (key == "--announced") o.announced = number;
    if (key == "--rounds") o.rounds = number;
    if (key == "--faults") o.faults = number != 0;
    if (key == "--control") o.control = number != 0;
    if (key == "--amd") o.amd = number != 0;
  }
  return host(o).run();
}
