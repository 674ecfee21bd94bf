# SPDX-License-Identifier: Apache-2.0
# Sourced by examples/run, tests/run and benchmarks/run; the caller has set -euo pipefail and is in the root.
#   fabscope_setup GROUP...     installs what is missing of these groups of cmake/packages.txt, or says what it is
#   fabscope_configure PRESET   configures build/PRESET; quiet, and a second when nothing has changed
#   fabscope_build PRESET [TARGET...]

say() { printf '%s\n' "== $*"; }

# True when the third word of a package's line, a command or a header, is there.
fabscope_present() {
  case $1 in
    *.h | *.hpp)
      local folder
      for folder in /usr/include /usr/local/include /usr/include/*-linux-gnu ${CPATH:+${CPATH//:/ }}; do
        if [ -e "$folder/$1" ]; then return 0; fi
      done
      return 1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

# Prints the packages of the groups given that are missing.
fabscope_missing() {
  local package group probe wanted=" $* "
  while read -r package group probe; do
    case $package in '' | '#'*) continue ;; esac
    case $wanted in *" $group "*) ;; *) continue ;; esac
    fabscope_present "$probe" || printf '%s\n' "$package"
  done < cmake/packages.txt
}

fabscope_setup() {
  local missing log=build/setup.log
  missing=$(fabscope_missing "$@" | tr '\n' ' ')
  missing=${missing% }
  if [ -z "$missing" ]; then return 0; fi
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    {
      echo "fabscope: these Debian packages (or their equivalents) are missing: $missing"
      echo "fabscope: as root on Debian they are installed by: apt-get install $missing"
    } >&2
    exit 1
  fi
  mkdir -p build
  say "installing: $missing (log: $log)"
  export DEBIAN_FRONTEND=noninteractive
  if ! apt-get update -q >"$log" 2>&1; then
    say "apt-get update failed; going on with the package lists that are here"
  fi
  # shellcheck disable=SC2086  # a list of words
  if ! apt-get install -y -q --no-install-recommends $missing 2>&1 | tee -a "$log" |
    awk '/^Need to get/ || (/^Setting up / && ++n % 10 == 0) { print "   " $0; fflush() }'
  then
    tail -n 20 "$log" >&2
    echo "fabscope: apt-get install failed: $missing" >&2
    exit 1
  fi
  missing=$(fabscope_missing "$@" | tr '\n' ' ')
  if [ -n "$missing" ]; then
    echo "fabscope: installed, but still not found: $missing" >&2
    exit 1
  fi
}

fabscope_configure() {
  local preset=$1 log
  log=build/$preset/configure.log
  mkdir -p "build/$preset"
  say "configuring build/$preset"
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    return 1
  fi
}

fabscope_build() {
  local preset=$1
  shift
  say "building build/$preset${*:+: $*}"
  cmake --build --preset "$preset" --parallel "$(nproc)" ${*:+--target "$@"}
}
