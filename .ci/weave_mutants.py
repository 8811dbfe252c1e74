"""weave_mutants.py: writes all mutants of a C++ file into one text, where an environment variable chooses one of them.

A mutant differs from the source in one expression or statement. An expression `e` of a condition, a returned value, or
an assignment becomes `(gs_mutant(7) ? (e7) : gs_mutant(8) ? (e8) : (e))`, so that one build holds all mutants.
"""

import re

# Read once by each process. Constant expressions are never mutated.
PRELUDE = """\
#pragma once
#include <cstdlib>
namespace gs_mutants {
inline int active() {
  static const int id = [] {
    const char* text = std::getenv("GS_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return id;
}
}  // namespace gs_mutants
constexpr bool gs_mutant(int id) {
  return !__builtin_is_constant_evaluated() && gs_mutants::active() == id;
}
"""

FLIPS = {
    " < ": [" <= ", " > "],
    " <= ": [" < "],
    " > ": [" >= ", " < "],
    " >= ": [" > "],
    " == ": [" != "],
    " != ": [" == "],
    " && ": [" || "],
    " || ": [" && "],
    " + 1": [" + 0"],
    " - 1": [" - 0"],
    " + ": [" - "],
    " - ": [" + "],
    " * ": [" + "],
}
OPERATORS = re.compile("|".join(re.escape(text) for text in sorted(FLIPS, key=len, reverse=True)))
NEGATION = re.compile(r"!(?=[\w(])")


def blanked(text):
    """The text with comments, literals of text and preprocessor lines replaced by blanks of equal length."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\d)'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*"
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", "_", m[0]), text, flags=re.DOTALL | re.MULTILINE)


def end_of(code, begin, closers):
    """The place of the first of `closers` behind `begin` that no bracket opened later encloses."""
    depth = 0
    for at in range(begin, len(code)):
        if depth == 0 and code[at] in closers:
            return at
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth < 0:
            return None
    return None


def conditions(code):
    for match in re.finditer(r"\b(if|while|for) \(", code):
        begin, end = match.end(), end_of(code, match.end(), ")")
        if end is None:
            continue
        parts = [begin]
        while (at := end_of(code[:end], parts[-1], ";")) is not None:
            parts.append(at + 1)
        if match[1] == "for":
            if len(parts) == 3:
                yield parts[1], parts[2] - 1, "for"
        elif not re.match(r"\s*(const |auto |int)", code[parts[-1] : end]):
            yield parts[-1], end, match[1]


def values(code):
    for match in re.finditer(r"\breturn\b(?= )|(?<=[\w)\]]) (?:[+\-|&]?=)(?= )", code):
        line = code[code.rfind("\n", 0, match.start()) + 1 : match.start()]
        end = end_of(code, match.end(), ";")
        if end is not None and not re.search(r"\b(constexpr|using|template|for \(|operator)", line):
            yield match.end(), end, "value"


def calls(code):
    name = r"(?:[\w\]\[]+(?:\.|->|::))*(?!return|throw|if|for|while|switch|static_assert)\w+"
    for match in re.finditer(rf"^ +({name}\([^;{{}}]*\)|(?:\+\+|--)[\w.\->]+);$", code, re.MULTILINE):
        # Behind anything else, the line is the rest of a statement.
        if code[: match.start()].rstrip()[-1:] in (";", "{", "}", ")", ":"):
            yield match.start(1), match.end(1) + 1, "call"


def sites(text):
    """The places that can be mutated, as (begin, end, kind), which do not overlap."""
    code = blanked(text)
    taken = []
    for begin, end, kind in sorted([*conditions(code), *values(code), *calls(code)]):
        begin += len(code[begin:end]) - len(code[begin:end].lstrip())
        if begin == end or "{" in code[begin:end] or (taken and begin < taken[-1][1]):
            continue
        taken.append((begin, end, kind))
    return code, taken


def variants(text, code, begin, end, kind):
    """The mutants of one place, as pairs (what changes, mutated text)."""
    source = text[begin:end]
    if kind == "call":
        return [("left out", "")]
    found = []
    for match in OPERATORS.finditer(code, begin, end):
        for other in FLIPS[match[0]]:
            at = match.start() - begin
            mutated = source[:at] + other + source[at + len(match[0]) :]
            found.append((f"{match[0].strip()} to {other.strip()} at {at}", mutated))
    for match in NEGATION.finditer(code, begin, end):
        at = match.start() - begin
        found.append((f"without ! at {at}", source[:at] + source[at + 1 :]))
    if kind == "if":
        found += [("never", "false"), ("always", "true")]
    return found


def mutants_of(path, text):
    """All mutants of a file, as (name, place, mutated text). A name stays the same when other lines change."""
    code, places = sites(text)
    seen = {}
    for begin, end, kind in places:
        shown = " ".join(text[begin:end].split())
        seen[shown] = seen.get(shown, 0) + 1
        repeated = f" #{seen[shown]}" if seen[shown] > 1 else ""
        for change, mutated in variants(text, code, begin, end, kind):
            yield f"{path}: {shown}{repeated}: {change}", (begin, end, kind), mutated


def weave(path, text, number_of):
    """The text with the mutants that `number_of` knows, and the mutant of each line that holds one."""
    by_place = {}
    for name, place, mutated in mutants_of(path, text):
        if name in number_of:
            by_place.setdefault(place, []).append((name, mutated))
    woven, line_of, last = "", {}, 0
    for (begin, end, kind), found in sorted(by_place.items()):
        woven += text[last:begin]
        last = end
        if kind == "call":
            woven += f"if (!gs_mutant({number_of[found[0][0]]})) {text[begin:end]}"
            line_of[woven.count("\n") + 1] = found[0][0]
            continue
        cast = "" if kind == "value" else "static_cast<bool>"  # a condition may be a pointer or an optional
        woven += "("
        for name, mutated in found:
            woven += f"gs_mutant({number_of[name]}) ?\n"
            line_of[woven.count("\n") + 1] = name
            woven += f"{cast}({' '.join(mutated.split())}) :\n"
        woven += f"{cast}({text[begin:end]}))"
    return woven + text[last:], line_of
