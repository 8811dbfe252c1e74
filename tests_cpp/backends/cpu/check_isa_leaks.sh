#!/bin/sh
# check_isa_leaks.sh: checks that objects of the wide instruction set levels define symbols in their namespaces only.
# A weak symbol could replace the baseline's copy of an inline function at link time and crash older processors. It also
# checks that no product is fused with a sum, because results would depend on the level. GCC 12 does so in spite of
# -ffp-contract=off.
[ $# -gt 0 ] || { echo "usage: $0 object..."; exit 2; }
status=0

report() {  # report <object> <what> <lines>
  [ -z "$3" ] && return
  printf '%s: %s\n%s\n' "$1" "$2" "$3"
  status=1
}

for object in "$@"; do
  symbols=$(nm -C --defined-only "$object") || exit 2
  [ -n "$symbols" ] || { echo "$object: no symbols at all"; exit 2; }
  exported=$(nm -C --defined-only --extern-only "$object" | sed 's/^[^ ]* . //')
  report "$object" "weak symbols" "$(printf '%s\n' "$symbols" | awk '$2 ~ /^[WwVvuC]$/')"
  report "$object" "symbols outside of gs::cpu::v3 and gs::cpu::v4" \
    "$(printf '%s\n' "$exported" | grep -v -E '^gs::cpu::(v3|v4)::')"
  report "$object" "fused multiply-add" "$(objdump -d --no-show-raw-insn "$object" | grep -E 'vf(n?m(add|sub))')"
  report "$object" "code that runs at start" "$(objdump -h "$object" | grep -E '\.(init_array|ctors)')"
done
exit $status
