#!/bin/sh
# check_exports.sh: checks that Python modules export their init function, the types of exceptions that one throws into
# another, and nothing else.
[ $# -gt 0 ] || { echo "usage: $0 module..."; exit 2; }
status=0
for module in "$@"; do
  name=$(basename "$module")
  exported=$(nm -D --defined-only "$module" | sed 's/^[^ ]* . //') || exit 2
  printf '%s\n' "$exported" | grep -qx "PyInit_${name%%.*}" || { echo "$name: no init function"; status=1; }
  others=$(printf '%s\n' "$exported" | grep -v -E '^(PyInit_[A-Za-z0-9_]+|_ZT[IS]N2gs6device11(DeviceError|Interrupted)E)$')
  [ -z "$others" ] || { printf '%s exports:\n%s\n' "$name" "$others" | c++filt | head -n 20; status=1; }
done
exit $status
