"""documented_tables.py: examples and error rows of libcudf's two documents and of its tests, as tables.

They are verbatim facts, with the names of the catalogue that they were copied from (cu: cuDF; g gather, s scatter of
rows, ss of scalars, b and bs with a boolean mask, n segmented gather, e errors). A column is its type in front of its
values, `name=i32[1,∅]`; columns are separated by `; `, scalars are `i32 100`. The native calls and the strict interface
run all of these rows.
"""

from __future__ import annotations

import decimal
import re

import pyarrow as pa

SIMPLE = {
    "b": pa.bool_(),
    "str": pa.string(),
    "string": pa.string(),
    "f32": pa.float32(),
    "timestamp[ms]": pa.timestamp("ms"),
}
SIMPLE |= {
    f"{letter}{bits}": getattr(pa, f"{word}{bits}")()
    for letter, word in [("i", "int"), ("u", "uint")]
    for bits in (8, 16, 32, 64)
}
SIMPLE |= {f"{word}{bits}": getattr(pa, f"{word}{bits}")() for word in ("int", "uint") for bits in (8, 16, 32, 64)}


def type_of(text: str) -> pa.DataType:
    """`list<list<int32>>`, `struct<f:int32>`, `dictionary<string>`, `decimal64(scale=-8)`, `i32`, `str`."""
    if text in SIMPLE:
        return SIMPLE[text]
    if match := re.fullmatch(r"decimal(32|64)\(scale=-(\d+)\)", text):
        return {"32": pa.decimal32, "64": pa.decimal64}[match[1]](9 if match[1] == "32" else 18, int(match[2]))
    outer, inner = re.fullmatch(r"(\w+)<(.*)>", text).groups()
    if outer == "struct":
        return pa.struct([(name, type_of(kind)) for name, kind in (field.split(":") for field in inner.split(","))])
    return {"list": pa.list_, "dictionary": lambda keys: pa.dictionary(pa.int32(), keys)}[outer](type_of(inner))


def values_of(text: str, kind: pa.DataType):
    """Python values; decimals are given unscaled."""
    text = re.sub(r"\b(\w+):", r'"\1":', text.replace("∅", "None"))
    values = eval(text, {"__builtins__": {}}, {"T": True, "F": False})
    if pa.types.is_decimal(kind):
        return [decimal.Decimal(value).scaleb(-kind.scale) for value in values]
    return values


def column_of(text: str) -> pa.Array:
    """`i32[1,∅]`: a type, then its values."""
    kind, values = re.fullmatch(r"(timestamp\[ms\]|[^\[]*)(\[.*\])", text).groups()
    kind = type_of(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(values_of(values, kind), kind.value_type).dictionary_encode()
    return pa.array(values_of(values, kind), kind)


def table_of(text: str) -> pa.Table:
    """`a=i32[1,2]; b=str["x",∅]`, or `4 rows` for a table without columns."""
    if text.endswith(" rows"):
        return pa.table({"a": pa.nulls(int(text.split()[0]))}).select([])
    return pa.table({name: column_of(column) for name, column in (part.split("=", 1) for part in text.split("; "))})


def scalars_of(text: str) -> list[pa.Scalar]:
    """`i32 0, str "A"`: a row of typed scalars."""
    return [
        pa.scalar(values_of(value, type_of(kind)), type_of(kind))
        for kind, value in re.findall(r"([\w<>:]+) (\{.*\}|\[.*\]|[^,]+)", text)
    ]


def source_of(text: str) -> pa.Table | list[pa.Scalar]:
    """A table or a list of scalars."""
    return table_of(text) if re.match(r"\w+=|\d+ rows", text) else scalars_of(text)


# ---- gather: source table, map, policy, answer

JAVA = 'c0=i32[1,2,3,4,5]; c1=str["A","AA","AAA","AAAA","AAAAA"]; c2=decimal32(scale=-3)[1,2,3,4,5]; '
JAVA += "c3=decimal64(scale=-8)[100001,200002,300003,400004,500005]"
JAVA_ANSWER = 'c0=i32[1,3,5,4]; c1=str["A","AAA","AAAAA","AAAA"]; c2=decimal32(scale=-3)[1,3,5,4]; '
JAVA_ANSWER += "c3=decimal64(scale=-8)[100001,300003,500005,400004]"
STRUCT_OF_LISTS = "c=struct<f:list<int32>>[{f:∅},{f:[10,15]},{f:[20,25,30]},{f:∅},{f:[55,60,65]},{f:[70,75]},{f:∅},"
STRUCT_OF_LISTS += "{f:[]},{f:[]}]"
LONG_ROW = "[[15,16],[17,18],[17,18],[17,18],[17,18]]"

GATHER = {
    "cu-g-java-simple": (JAVA, "i32[0,2,4,-2]", "DONT_CHECK", JAVA_ANSWER),
    "cu-g-str-nulls": (
        'a=i16[1,2,∅,4,∅,6]; b=str["This","is","not","a","string",∅]',
        "i16[0,1,3,4]",
        "DONT_CHECK",
        'a=i16[1,2,4,∅]; b=str["This","is","a","string"]',
    ),
    "cu-g-str-dontcheck": (
        's=str["eee","bb","","aa","bbb","ééé"]',
        "i32[3,4,0,0]",
        "DONT_CHECK",
        's=str["aa","bbb","eee","eee"]',
    ),
    "cu-g-str-empty-map": ("s=str[]", "i32[]", "NULLIFY", "s=str[]"),
    "cu-g-sliced-strings": ('s=str["a","string",∅]', "i16[2,1,0]", "DONT_CHECK", 's=str[∅,"string","a"]'),
    "cu-g-every-other-null-odd": (
        "c=i64[∅,1,∅,3,∅,5,∅,7,∅,9,∅,11,∅,13,∅,15]",
        "i32[1,3,5,7,9,11,13,15]",
        "DONT_CHECK",
        "c=i64[1,3,5,7,9,11,13,15]",
    ),
    "cu-g-reverse-multicol": (
        "a=f32[0,1,2]; b=f32[0,∅,2]; c=b[T,F,∅]",
        "i32[2,1,0]",
        "DONT_CHECK",
        "a=f32[2,1,0]; b=f32[2,∅,0]; c=b[∅,F,T]",
    ),
    "cu-g-empty-map-keeps-type": ("c=list<list<int32>>[[[1,2]],[]]", "i32[]", "DONT_CHECK", "c=list<list<int32>>[]"),
    "cu-g-list": (
        "c=list<int32>[[1,2,3,4],[5],[6,7],[8,9,10]]",
        "i32[0,2]",
        "DONT_CHECK",
        "c=list<int32>[[1,2,3,4],[6,7]]",
    ),
    "cu-g-list-null-elems": (
        "c=list<int32>[[1,∅,3,∅],[5],[6,∅],[8,∅,10]]",
        "i32[0,2]",
        "DONT_CHECK",
        "c=list<int32>[[1,∅,3,∅],[6,∅]]",
    ),
    "cu-g-listlist-order": (
        f"c=list<list<int32>>[[[2,3],[4,5]],[[6,7,8],[9,10,11],[12,13,14]],{LONG_ROW}]",
        "i32[1,2,0]",
        "DONT_CHECK",
        f"c=list<list<int32>>[[[6,7,8],[9,10,11],[12,13,14]],{LONG_ROW},[[2,3],[4,5]]]",
    ),
    "cu-g-listlist-empties": (
        "c=list<list<int32>>[[[2,3],[]],[[6,7,8],[9,10,11],[12,13,14]],[[]]]",
        "i32[0,2]",
        "DONT_CHECK",
        "c=list<list<int32>>[[[2,3],[]],[[]]]",
    ),
    "cu-g-struct-of-lists-nullify": (
        STRUCT_OF_LISTS,
        "i32[2147483647,4,3,2,1,7,3]",
        "NULLIFY",
        "c=struct<f:list<int32>>[∅,{f:[55,60,65]},{f:∅},{f:[20,25,30]},{f:[10,15]},{f:[]},{f:∅}]",
    ),
    "cu-g-dict": (
        'c=dictionary<string>["eee","aaa","ddd","bbb","ccc","ccc","ccc","eee","aaa"]',
        "i32[0,4,3,1]",
        "DONT_CHECK",
        'c=dictionary<string>["eee","ccc","bbb","aaa"]',
    ),
    "cu-g-zero-col": ("5 rows", "i32[0,2,4,1]", "DONT_CHECK", "4 rows"),
    "cu-ge-float-map": ("c=i32[10,20,30]", "f32[0,1]", "DONT_CHECK", "error logic"),
}

# ---- scatter of a table, of scalars: source, map, target, answer

EIGHT = "i32[10,20,30,40,50,60,70,80]"
NULL_TARGET = "a=i32[∅,∅,∅,∅,50,60,70,80]"
WORDS = '["zero"],["one","one"],["two","two"],["three","three","three"],["four","four","four","four"]'

SCATTER = {
    "cu-s-both-nulls": ("a=i32[2,4,∅,∅]", "i32[1,3,-3,-1]", NULL_TARGET, "a=i32[∅,2,∅,4,50,∅,70,∅]"),
    "cu-s-empty-map": ("a=i32[1,2]", "i32[]", NULL_TARGET, NULL_TARGET),
    "cu-s-lists": (
        "a=list<int32>[[9,9,9,9],[8,8,8]]",
        "i32[2,0]",
        "a=list<int32>[[0,0],[1,1],[2,2],[3,3],[4,4],[5,5],[6,6]]",
        "a=list<int32>[[8,8,8],[1,1],[9,9,9,9],[3,3],[4,4],[5,5],[6,6]]",
    ),
    "cu-s-lists-of-strings": (
        'a=list<string>[["all","the","leaves","are","brown"],["california","dreaming"]]',
        "i32[2,0]",
        f"a=list<string>[{WORDS}]",
        'a=list<string>[["california","dreaming"],["one","one"],["all","the","leaves","are","brown"],'
        '["three","three","three"],["four","four","four","four"]]',
    ),
    "cu-s-listlist-null": (
        "a=list<list<int32>>[[[1,1,1,1],[2,2,2,2]],[[3,3,3,3],[]],∅]",
        "i32[2,0,4]",
        "a=list<list<int32>>[[[9,9,9],[8,8,8]],[[6],[5]],[[3],[2]],[[9,9],[8,8]],[[6,6],[5,5]],[[3,3],[2,2]]]",
        "a=list<list<int32>>[[[3,3,3,3],[]],[[6],[5]],[[1,1,1,1],[2,2,2,2]],[[9,9],[8,8]],∅,[[3,3],[2,2]]]",
    ),
    "cu-s-struct-simple1": (
        "a=struct<f:int32>[{f:0},{f:1},{f:2},{f:3},{f:∅},∅]",
        "i32[-2,0,5]",
        "a=struct<f:int32>[{f:50},{f:∅},{f:70},∅,{f:90},{f:100}]",
        "a=struct<f:int32>[{f:1},{f:∅},{f:70},∅,{f:0},{f:2}]",
    ),
    "cu-s-struct-mask-regression": (
        "a=struct<f:int32>[{f:20}]",
        "i32[2]",
        "a=struct<f:int32>[{f:0},{f:∅},{f:2}]",
        "a=struct<f:int32>[{f:0},{f:∅},{f:20}]",
    ),
    "cu-s-dict": (
        'a=dictionary<string>["xxx","bbb","aaa","ccc"]',
        "i32[0,2,3,7]",
        'a=dictionary<string>["eee","aaa","ddd","bbb","ccc","ccc","ccc","eee","aaa"]',
        'a=dictionary<string>["xxx","aaa","bbb","aaa","ccc","ccc","ccc","ccc","aaa"]',
    ),
    "cu-s-zero-col": ("2 rows", "i32[0,3]", "5 rows", "5 rows"),
    "cu-se-map-nulls": ("a=i32[1,2,3,4,5,6]", "i32[∅,3,1,-1]", f"a={EIGHT}", "error value"),
    "cu-se-col-count": ("a=i32[1,2,3,4,5,6]", "i32[-3,3,1,-1]", f"a={EIGHT}; b={EIGHT}", "error value"),
    "cu-se-map-float32": ("a=i32[1,2,3,4,5,6]", "f32[-3,3,1,-1]", f"a={EIGHT}", "error logic"),
    "cu-se-map-bool": ("a=i32[1,2,3,4,5,6]", "b[T,F,T,T]", f"a={EIGHT}", "error logic"),
    "cu-se-map-timestamp": ("a=i32[1,2,3,4,5,6]", "timestamp[ms][1,2,3,4]", f"a={EIGHT}", "error logic"),
    "cu-se-dict-key-type": ('a=dictionary<string>["x"]', "i32[0]", "a=dictionary<int64>[1,2,3]", "error type"),
    "cu-ss-basic": ("i32 100", "i32[-3,3,1,-1]", f"a={EIGHT}", "a=i32[10,100,30,100,50,100,70,100]"),
    "cu-ss-null-scalar": ("i32 ∅", "i32[-3,3,1,-1]", f"a={EIGHT}", "a=i32[10,∅,30,∅,50,∅,70,∅]"),
    "cu-ss-int8-map": (
        "i8 100",
        "i8[-3,3,1,-1]",
        "a=i8[10,20,30,40,50,60,70,80]",
        "a=i8[10,100,30,100,50,100,70,100]",
    ),
    "cu-ss-java": (
        'i32 0, str "A"',
        "i32[0,2,-1]",
        'a=i32[-1,-2,-3,-4,-5]; b=str["B","BB","BBB","BBBB","BBBBB"]',
        'a=i32[0,-2,0,-4,0]; b=str["A","BB","A","BBBB","A"]',
    ),
    "cu-ss-empty-map": ("i32 100", "i32[]", f"a={EIGHT}", f"a={EIGHT}"),
    "cu-ss-list-empty-valid": (
        "list<int32> []",
        "i32[1,0]",
        "a=list<int32>[[1,1,1],[8,8],[10,∅,10,∅],[5],[42,42]]",
        "a=list<int32>[[],[],[10,∅,10,∅],[5],[42,42]]",
    ),
    "cu-ss-struct-neg": (
        "struct<f:int32> {f:777}",
        "i32[-1,-5]",
        "a=struct<f:int32>[{f:11},{f:11},{f:22},{f:∅},∅]",
        "a=struct<f:int32>[{f:777},{f:11},{f:22},{f:∅},{f:777}]",
    ),
    "cu-ss-struct-null-field": (
        "struct<f:int32> {f:∅}",
        "i32[0,2]",
        "a=struct<f:int32>[{f:11},{f:11},{f:22},{f:∅},∅]",
        "a=struct<f:int32>[{f:∅},{f:11},{f:∅},{f:∅},∅]",
    ),
    "cu-ss-dict-nulls": (
        "i64 100",
        "i32[7,2,3,1,-3]",
        "a=dictionary<int64>[∅,5,∅,3,7,1,4,2]",
        "a=dictionary<int64>[∅,100,100,100,7,100,4,100]",
    ),
    "cu-sse-count": ("i32 100", "i32[-3,3,1,-1]", f"a={EIGHT}; b={EIGHT}", "error value"),
    "cu-sse-null-map": ("i32 100", "i32[∅,3,1,-1]", f"a={EIGHT}", "error value"),
    "cu-sse-map-bool": ("i32 100", "b[T,F,T,T]", f"a={EIGHT}", "error logic"),
}

# ---- boolean_mask_scatter of a table, of scalars: input, mask, target, answer

MASK = "b[T,F,F,F,T,T,F,T,T,F]"
DOCUMENT, ELEVEN = "a=i32[2,2,3,4,4,7,7,7,8,10]", "i32[2,2,3,4,11,12,7,7,10,10]"
FIVE_WORDS = 'a=str["is","is","a","udf","api"]'

MASK_SCATTER = {
    "cu-b-doc": ("a=i32[1,5,6,8,9]", MASK, DOCUMENT, "a=i32[1,2,3,4,5,6,7,8,9,10]"),
    "cu-b-no-null": ("a=f32[1,5,6,8,9]", MASK, "a=f32[2,2,3,4,11,12,7,7,10,10]", "a=f32[1,2,3,4,5,6,7,8,9,10]"),
    "cu-b-strings": ('a=str["This","cudf"]', "b[T,F,F,T,F]", FIVE_WORDS, 'a=str["This","is","a","cudf","api"]'),
    "cu-b-structs": (
        "a=struct<v:int64>[{v:1},{v:2},{v:3}]",
        "b[T,F,T,F,T,F]",
        "a=struct<v:int64>[{v:4},{v:5},{v:6},{v:7},{v:8},{v:9}]",
        "a=struct<v:int64>[{v:1},{v:5},{v:2},{v:7},{v:3},{v:9}]",
    ),
    "cu-be-mask-int8": ("a=i32[1,5,6,8,9]", "i8[1,0,0,0,1,1,0,1,1,0]", f"a={ELEVEN}", "error type"),
    "cu-be-mask-size": ("a=i32[1,5,6,8,9]", "b[T,F,F,F,T,T,F,T,T]", f"a={ELEVEN}", "error value"),
    "cu-be-too-many-trues": ("a=i32[1,5,6,8,9]", "b[T,F,T,F,T,T,F,T,T,F]", f"a={ELEVEN}", "error value"),
    "cu-b-zero-col": ("2 rows", "b[T,F,T,F]", "4 rows", "4 rows"),
    "cu-bs-doc": ("i32 11", MASK, DOCUMENT, "a=i32[11,2,3,4,11,11,7,11,11,10]"),
    "cu-bs-no-null": ("i32 11", MASK, f"a={ELEVEN}", "a=i32[11,2,3,4,11,11,7,11,11,10]"),
    "cu-bs-string": ('str "cudf"', "b[T,F,F,T,F]", FIVE_WORDS, 'a=str["cudf","is","a","cudf","api"]'),
    "cu-bs-list": (
        "list<int64> [1,2,3,4]",
        "b[T,F,T]",
        "a=list<int64>[[4],[5,6],[7]]",
        "a=list<int64>[[1,2,3,4],[5,6],[1,2,3,4]]",
    ),
    "cu-bse-type": ("i32 0", "b[T,F]", "a=i64[2,2]", "error type"),
    "cu-bse-mask-size": ("i32 0", "b[T,F,F,F,T,T,F,T,T]", f"a={ELEVEN}", "error value"),
}

# ---- segmented gather: lists, map of lists, policy, answer

LISTS = "list<int32>[[1,2,3,4],[5],[6,7],[8,9,10]]"
LETTERS = '["a","b","c","d"],["1","2","3","4"],["x","y","z"]'

SEGMENTED = {
    "cu-n-seg": (
        LISTS,
        "list<int32>[[3,2,1,0],[0],[0,1],[0,2,1]]",
        "DONT_CHECK",
        "list<int32>[[4,3,2,1],[5],[6,7],[8,10,9]]",
    ),
    "cu-n-seg-nullify": (
        LISTS,
        "list<int32>[[3,2,4,0],[0],[0,-3],[0,2,1]]",
        "NULLIFY",
        "list<int32>[[4,3,∅,1],[5],[6,∅],[8,10,9]]",
    ),
    "cu-n-seg-java": (
        'list<string>[["a","b",∅,"c"],∅,[],[∅,"A","B","C","D"]]',
        "list<int32>[[-3,0,2,3,4],[],[1],[1,-4,5,-1,-6]]",
        "NULLIFY",
        'list<string>[["b","a",∅,"c",∅],∅,[∅],["A","A",∅,"D",∅]]',
    ),
    "cu-n-seg-doc": (
        f"list<string>[{LETTERS}]",
        "list<int32>[[0,1,3,2],[1,3,2],[]]",
        "DONT_CHECK",
        'list<string>[["a","b","d","c"],["2","4","3"],[]]',
    ),
    "cu-n-seg-doc-nullify": (
        f"list<string>[{LETTERS}]",
        "list<int32>[[0,-1,4,-5],[1,3,5],[]]",
        "NULLIFY",
        'list<string>[["a","d",∅,∅],["2","4",∅],[]]',
    ),
}

# ---- the exception classes of the error rows: libcudf's names and those of Python

ERRORS = {
    "error value": ("InvalidArgument", (ValueError,)),
    "error type": ("DataTypeError", (TypeError,)),
    "error logic": ("LogicError", (TypeError, RuntimeError)),
}
