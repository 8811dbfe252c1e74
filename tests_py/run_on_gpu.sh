#!/usr/bin/env bash
# run_on_gpu.sh: proves or disproves on a machine with a GPU what was only compiled elsewhere. Needs no network.
#
#   bash tests_py/run_on_gpu.sh [part...]     parts: build tests sanitize bench; all of them by default
#
# PYTHON chooses the interpreter, whose pybind11, scikit-build-core, torch and CuPy are used; OUT is where logs and JSON go
# (build/gpu/results by default). Every part stays under ten minutes. Ends with a line for each part, and with 1 if one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
out=${OUT:-build/gpu/results}
site=build/gpu/site
mkdir -p "$out"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(build tests sanitize bench)
export PYTHONPATH=$PWD/$site:$PWD/tests_py GS_TEST_NEEDS_GPU=1 CUDA_MODULE_LOADING=EAGER XLA_PYTHON_CLIENT_PREALLOCATE=false
jobs=$(nproc)
report=()
failures=0


build() {
  command -v nvcc || { echo "no nvcc on PATH" >&2; return 1; }
  local capability tests=OFF
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
  echo '#include <catch2/catch_test_macros.hpp>' | ${CXX:-c++} -std=c++20 -x c++ -fsyntax-only - 2>/dev/null && tests=ON
  [ $tests = ON ] || echo "Catch2 is not installed: the C++ tests are left out"
  rm -rf $site
  "$python" -m pip install --quiet --no-index --no-deps --no-build-isolation --target $site \
    -C build-dir=build/gpu/cmake -C cmake.define.GS_CUDA=ON -C cmake.define.GS_BUILD_TESTS=$tests \
    -C "cmake.define.GS_CUDA_ARCHITECTURES=$capability-real" . &&
    (cd "$out" && "$python" -P -c 'import gatherscatter as gs; gs.show_config(); assert gs.cuda.is_available(), "no GPU in sight"')
}

tests() {
  local status=0 parallel=()
  if [ -f build/gpu/cmake/tests_cpp/CTestTestfile.cmake ]; then
    ctest --test-dir build/gpu/cmake -j "$jobs" --output-on-failure || status=1
  fi
  "$python" -c 'import xdist' 2>/dev/null && parallel=(-n "$jobs")
  # First what needs the GPU, in one process; then everything, on which the GPU is one more array library.
  timeout 280 "$python" -P -m pytest -p no:cacheprovider -W default -q -c pyproject.toml --rootdir . \
    --junit-xml "$out/tests-cuda.xml" tests_py/test_cuda.py || status=1
  timeout 300 "$python" -P -m pytest -p no:cacheprovider -W default -q -c pyproject.toml --rootdir . "${parallel[@]}" \
    --junit-xml "$out/tests.xml" tests_py || status=1
  return $status
}

sanitize() {
  local status=0 tool
  command -v compute-sanitizer || { echo "no compute-sanitizer on PATH" >&2; return 1; }
  # torch's pool would hide what is outside of an array but inside of a block.
  export PYTORCH_NO_CUDA_MEMORY_CACHING=1
  for tool in memcheck racecheck initcheck synccheck; do
    echo "-- $tool"
    timeout 140 compute-sanitizer --tool $tool --error-exitcode 9 --target-processes all \
      "$python" -P -m pytest -p no:cacheprovider -W default -q -c pyproject.toml --rootdir . \
      -k "smoke and not graph" tests_py/test_cuda.py > "$out/$tool.txt" 2>&1 || status=1
    tail -n 5 "$out/$tool.txt"
  done
  unset PYTORCH_NO_CUDA_MEMORY_CACHING
  return $status
}

bench() {
  "$python" -m benchmarks.gpu --seconds 4 --json "$out/gpu.json" | tee "$out/gpu.md"
}

for part in "${parts[@]}"; do
  case $part in build | tests | sanitize | bench) ;; *)
    echo "no such part: $part" >&2
    exit 2
    ;;
  esac
  echo "=== $part"
  started=$SECONDS
  set -o pipefail
  if (set -e; $part) 2>&1 | tee "$out/$part.log"; then state=ok; else state=FAILED failures=$((failures + 1)); fi
  report+=("{\"part\": \"$part\", \"state\": \"$state\", \"seconds\": $((SECONDS - started))}")
done

{
  printf '{"gpu": "%s", "commit": "%s", "date": "%s", "parts": [\n' \
    "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)" \
    "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" "$(date -u +%FT%TZ)"
  (IFS=,; printf '%s\n' "${report[*]}")
  echo ']}'
} > "$out/run.json"
echo "=== summary"
cat "$out/run.json"
[ $failures -eq 0 ]
