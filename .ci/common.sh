# common.sh: functions that the scripts of this folder share; it is sourced, never run.

# The compiler that CMake uses.
cxx=${CXX:-c++}

# Catch2 is a package of the system, because there is no Python package of it.
have_catch2() {
  local probe='#if !__has_include(<catch2/catch_test_macros.hpp>) && !__has_include(<catch2/catch.hpp>)
#error no Catch2
#endif'
  "$cxx" -std=c++20 -x c++ -fsyntax-only - <<<"$probe" 2>/dev/null
}

need_catch2() {
  have_catch2 && return
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "Catch2 is missing; installing it"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq catch2 </dev/null
    have_catch2 && return
  fi
  echo "Catch2 (2.13 or 3) is missing, and the C++ tests need it. Install it and start again:" >&2
  echo "    sudo apt-get update && sudo apt-get install -y catch2" >&2
  return 1
}

# make_venv <folder>: creates a virtual environment unless it exists already.
make_venv() {
  [ -x "$1/bin/python" ] || "${PYTHON:-python3}" -m venv "$1"
}

# timed <title> <command...>: runs the command and records its time for print_times. A failure ends the script (set -e).
times=()
timed() {
  local title=$1 started=$SECONDS
  shift
  printf '== %s\n' "$title"
  "$@"
  times+=("$(printf '%5d s  %s' $((SECONDS - started)) "$title")")
}

print_times() {
  [ ${#times[@]} -eq 0 ] || printf '%s\n' "${times[@]}"
}
