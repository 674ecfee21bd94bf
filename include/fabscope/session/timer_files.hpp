// SPDX-License-Identifier: Apache-2.0
// The files of the replaced intercept_timer, under its names. Layer: session.
#pragma once

#include <unistd.h>

#include <cstring>
#include <string>

#include <fabscope/core/descriptor.hpp>
#include <fabscope/session/identity.hpp>
#include <fabscope/session/options.hpp>
#include <fabscope/session/report_timer.hpp>
#include <fabscope/session/run_directory.hpp>
#include <fabscope/sink/file_opener.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// `intercept_timer.<host>.r<rank|NA>.p<pid>.txt` and `intercept_timer_ops.<...>.csv` in the
/// directory that INTERCEPT_TIMER_DIR names; nothing without it. Threads: one at a time.
class timer_files {
 public:
  timer_files(const options& chosen, const identity& who)
      : wanted_(!chosen.timer_directory.empty()), on_stderr_(chosen.timer_on_stderr) {
    if (!wanted_) return;
    char host[256] = {};  // the whole name, as that tool did
    if (::gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "?");
    const auto mode = static_cast<mode_t>(chosen.file_mode);
    constexpr const char* variable = "INTERCEPT_TIMER_DIR";
    report_.start(chosen.timer_directory, host, who.rank, who.pid, mode, "intercept_timer",
                  variable);
    operations_.start(chosen.timer_directory, host, who.rank, who.pid, mode, "intercept_timer_ops",
                      variable);
  }

  [[nodiscard]] bool wanted() const noexcept { return wanted_; }
  [[nodiscard]] std::string operations_path() const { return operations_.path_of("csv"); }

  /// For a sink; this must stay where it is.
  file_opener operations_opener() noexcept {
    return {this, [](void* self, const char* kind) noexcept {
              return static_cast<timer_files*>(self)->operations_.open(kind);
            }};
  }

  void write_report(const segment_view& view, const report_extra& extra) {
    if (!wanted_) return;
    const std::string text = render_timer_report(view, extra);
    if (text.empty()) return;
    if (on_stderr_) {
      if (!stderr_is_closed) write_all(STDERR_FILENO, text.data(), text.size());
      return;
    }
    const int fd = report_.open("txt");
    if (fd < 0) return;
    const write_result end = write_all(fd, text.data(), text.size());
    ::close(fd);
    if (end.error == 0) return;
    diagnostics::on_stderr().say("fabscope: " + report_.path_of("txt") +
                                 " is incomplete: " + std::strerror(end.error));
  }

  void say_where(const diagnostics& user) const {
    for (const run_directory* one : {&report_, &operations_}) {
      for (const run_directory::file& file : one->files()) user.say("fabscope: " + file.path);
    }
  }

 private:
  bool wanted_;
  bool on_stderr_;
  run_directory report_;
  run_directory operations_;
};

}  // namespace detail

FABSCOPE_NAMESPACE_END
