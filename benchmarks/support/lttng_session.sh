#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lttng_session.sh DIR: an LTTng session daemon of its own in DIR, with a live session that records the events
# fabscope_bench:scope_* into rings that overwrite. Prints "ready", or "not available: <reason>". When its
# standard input ends it takes a snapshot, prints how many bytes that has, and ends everything it started.
# root's daemon always lives in /var/run/lttng, so that one gets a mount of its own there.
dir=$1
made=
sockets=
say() { printf 'not available: %s\n' "$*"; exit 0; }
for program in lttng lttng-sessiond; do
  command -v "$program" >/dev/null 2>&1 || say "$program was not found (Debian: lttng-tools)"
done
if [ "$(id -u)" -eq 0 ] && [ -z "$FABSCOPE_BENCH_OWN_MOUNTS" ]; then
  unshare --mount true 2>/dev/null || say "root may not make a mount namespace here"
  FABSCOPE_BENCH_OWN_MOUNTS=1 exec unshare --mount sh "$0" "$dir"
fi
export LTTNG_HOME="$dir" HOME="$dir"
mkdir -p "$dir/.lttng" "$dir/run" || say "no directory $dir"
if [ "$(id -u)" -eq 0 ]; then
  mkdir /run/lttng 2>/dev/null && made=1
  mount --bind "$dir/run" /run/lttng 2>/dev/null || say "nothing may be mounted here"
  sockets="--apps-sock=$dir/.lttng/lttng-ust-sock-8"
fi
# shellcheck disable=SC2086
lttng-sessiond --no-kernel --quiet $sockets >"$dir/daemon.log" 2>&1 &
daemon=$!
stop() {
  kill "$daemon" 2>/dev/null
  wait "$daemon" 2>/dev/null
  if [ -n "$made" ]; then umount /run/lttng && rmdir /run/lttng; fi
}
tries=0
until lttng --no-sessiond list >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ $tries -gt 100 ] || ! kill -0 "$daemon" 2>/dev/null; then
    stop
    say "the session daemon does not answer: $(tail -n 1 "$dir/daemon.log")"
  fi
  sleep 0.05
done
quietly() {
  lttng --no-sessiond "$@" >>"$dir/daemon.log" 2>&1 || {
    stop
    say "lttng $1 failed: $(tail -n 1 "$dir/daemon.log")"
  }
}
quietly create fabscope --snapshot --output="$dir/trace"
quietly enable-channel --userspace --subbuf-size=256k --num-subbuf=4 rings
quietly enable-event --userspace --channel=rings 'fabscope_bench:scope_*'
quietly start
echo ready
cat >/dev/null
quietly snapshot record
quietly destroy fabscope
stop
find "$dir/trace" -type f ! -name metadata -exec cat {} + 2>/dev/null | wc -c
