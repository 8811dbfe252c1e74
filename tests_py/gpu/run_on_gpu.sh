#!/usr/bin/env bash
# run_on_gpu.sh: proves or disproves on a machine with a GPU what was only compiled elsewhere. Needs no network.
#
#   bash tests_py/gpu/run_on_gpu.sh [part...]     parts: build gpu suite sanitize bench; all of them, in this order, by default
#
# `gpu` is what only a GPU can show, `suite` all other tests, with the GPU as one more device; both need what `build` made.
# Every part ends within ten minutes. One tool of compute-sanitizer has them for itself when it is named as a part.
# PYTHON chooses the interpreter, whose pybind11, scikit-build-core, torch and CuPy are used; OUT is where logs and JSON go
# (build/gpu/results by default). Ends with a line for each part, and with 1 if one failed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
. .ci/common.sh
export PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:${CUDA_HOME:-/usr/local/cuda}/compute-sanitizer
python=$(command -v "${PYTHON:-python3}") || { echo "no Python: ${PYTHON:-python3}" >&2; exit 1; }
case $python in /*) ;; *) python=$PWD/$python ;; esac
mkdir -p "${OUT:-build/gpu/results}" && out=$(cd "${OUT:-build/gpu/results}" && pwd) || exit
site=$PWD/build/gpu/site
export PYTHONPATH=$site GS_TEST_NEEDS_GPU=1 XLA_PYTHON_CLIENT_PREALLOCATE=false
jobs=$(nproc)
tools=(memcheck racecheck initcheck synccheck)
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(build gpu suite sanitize bench)
report=()
failures=0

build() {
  local capability tests=OFF
  command -v nvcc || { echo "no nvcc on PATH or in ${CUDA_HOME:-/usr/local/cuda}" >&2; return 1; }
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d '. ')
  [ -n "$capability" ] || { echo "nvidia-smi names no GPU" >&2; return 1; }
  if have_catch2; then tests=ON; else echo "Catch2 is not installed: the C++ tests are left out"; fi
  rm -rf "$site"
  timeout 570 "$python" -m pip install --quiet --no-index --no-deps --no-build-isolation --target "$site" \
    -C build-dir=build/gpu/cmake -C cmake.define.GS_CUDA=ON -C cmake.define.GS_BUILD_TESTS=$tests \
    -C "cmake.define.GS_CUDA_ARCHITECTURES=$capability-real" . || return
  "$python" -P -m gatherscatter info &&
    "$python" -P -c 'import gatherscatter as gs; assert gs.cuda.is_available(), gs.cuda.why_not()'
}

# Without the options of pyproject.toml: its strict mode and its `timeout` need a plugin that may be absent here.
pytest=("$python" -P -m pytest -p no:cacheprovider -W default -c pyproject.toml --rootdir . -o addopts=-ra)

gpu() {
  local status=0
  if [ -f build/gpu/cmake/tests_cpp/CTestTestfile.cmake ]; then
    timeout 150 ctest --test-dir build/gpu/cmake -j "$jobs" --output-on-failure || status=1
  fi
  timeout 420 "${pytest[@]}" -v --run-large --junit-xml "$out/gpu.xml" tests_py/gpu/test_cuda.py || status=1
  return $status
}

suite() {
  # As everywhere else, JAX's arrays are of the host where a test asks for no other device.
  if "$python" -c 'import jax; jax.devices("gpu")' 2>/dev/null; then export JAX_PLATFORMS=cpu,cuda; fi
  if "$python" -c 'import xdist' 2>/dev/null; then
    timeout 580 "${pytest[@]}" -q -n "$jobs" --junit-xml "$out/suite.xml" --ignore tests_py/gpu/test_cuda.py tests_py
  else # one process for each file, the longest first; 5: all of it was left out
    printf '%s\n' tests_py/*/test_*.py | grep -v /test_cuda.py | xargs ls -S |
      timeout 580 xargs -P "$jobs" -n 1 sh -c '"$@" || [ $? -eq 5 ]' sh "${pytest[@]}" -q
  fi
}

# sanitizer <tool> <seconds>
sanitizer() {
  local options=() status=0
  command -v compute-sanitizer || { echo "no compute-sanitizer on PATH" >&2; return 1; }
  # Libraries ask the driver for what may not be there, and see to the answer themselves.
  [ "$1" != memcheck ] || options=(--report-api-errors no)
  # torch's pool would hide what is outside of an array but inside of a block.
  PYTORCH_NO_CUDA_MEMORY_CACHING=1 timeout "$2" compute-sanitizer --tool "$1" ${options[@]+"${options[@]}"} \
    --error-exitcode 9 --target-processes all \
    "${pytest[@]}" -v -k smoke tests_py/gpu/test_cuda.py > "$out/$1.txt" 2>&1 || status=$?
  tail -n 5 "$out/$1.txt"
  [ $status -ne 124 ] || echo "$1 was stopped after $2 s; bash tests_py/gpu/run_on_gpu.sh $1 gives it more" >&2
  return $status
}

sanitize() {
  local tool status=0
  for tool in "${tools[@]}"; do
    echo "-- $tool"
    sanitizer "$tool" 140 || status=1
  done
  return $status
}
memcheck() { sanitizer memcheck 570; }
racecheck() { sanitizer racecheck 570; }
initcheck() { sanitizer initcheck 570; }
synccheck() { sanitizer synccheck 570; }

bench() {
  timeout 580 "$python" -m benchmarks.gpu --seconds 4 --json "$out/bench.json" | tee "$out/bench.md"
}

for part in "${parts[@]}"; do
  case $part in build | gpu | suite | sanitize | memcheck | racecheck | initcheck | synccheck | bench) ;; *)
    echo "no such part: $part" >&2
    exit 2
    ;;
  esac
done
for part in "${parts[@]}"; do
  echo "=== $part"
  started=$SECONDS
  state=ok
  "$part" 2>&1 | tee "$out/$part.log" || { state=FAILED; failures=$((failures + 1)); }
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
