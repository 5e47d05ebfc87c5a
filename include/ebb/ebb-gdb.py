# ebb/ebb-gdb.py — shows tensors, views, variables, graphs and what they consist of in gdb as a reader wants to see them.
# SPDX-License-Identifier: BSL-1.0
#
# A program that links the CMake target ebb::gdb loads it by itself. Else:  (gdb) source <where ebb is>/include/ebb/ebb-gdb.py
#
#   tensor, view    f32[2, 3] = {{1, 2, 3}, {4, 5, 6}}
#   variable        f32[2] leaf "w", version 3 = {value = {1, 2}, gradient = {0.5, 0}};  f32 of mse = {value = 0.25};  undefined
#   graph           its equations, as ebb::to_string has them, except that a move shows its attributes where ebb shows what they mean
#
# Structs of these need no printer: gdb shows their members. Printers read memory and call nothing in the program, so they work on core
# files. They find members by name: test/packages/debugger.sh compares what they print with what the program prints.
import re
import struct
import sys

import gdb
import gdb.printing

DYN = 2**64 - 1
DTYPES = {"bool": "bool", "int": "i32", "long": "i64", "long long": "i64", "float": "f32", "double": "f64"}
FLAT_BYTES = 32768  # gdb refuses values of more than 64 KiB


def class_of(t):
    """The namespace and the name of a class of ebb: ('ebb::v0_avx2_fma::', 'tensor'); the namespace names the instruction set."""
    match = re.match(r"(ebb::v\d+_\w+::)(\w+)(<|$)", t.strip_typedefs().unqualified().tag or "")
    return (match[1], match[2]) if match else (None, None)


def arguments_of(t):
    """The template arguments of a type, as text."""
    text = t.strip_typedefs().unqualified().tag
    text = text[text.index("<") + 1 : text.rindex(">")]
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<([{") - (c in ">)]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def declared_extents(t):
    return [int(re.match(r"\d+", a)[0]) for a in arguments_of(t)[1:]]


def dtype_name(t):
    t = t.strip_typedefs().unqualified()
    return {"bfloat16": "bf16", "float16": "f16"}.get(class_of(t)[1]) or DTYPES[t.name]


def type_of_dtype(namespace, name):
    if name in ("bf16", "f16"):
        return gdb.lookup_type(namespace + {"bf16": "bfloat16", "f16": "float16"}[name])
    return gdb.lookup_type({"boolean": "bool", "i32": "int", "i64": "long", "f32": "float", "f64": "double"}[name])


def enumerator(value):
    return str(value).split("::")[-1]


def counts_at(value, count):
    """`count` numbers of type size_t at the address of a value, whatever the standard library calls its members."""
    p = value.address.cast(gdb.lookup_type("unsigned long").pointer())
    return [int(p[i]) for i in range(count)]


def shape_in(t, layout):
    """The extents of an array type whose dynamic ones are in a layout."""
    shape = declared_extents(t)
    if DYN in shape:
        given = iter(counts_at(layout["dynamic_"], shape.count(DYN)))
        shape = [next(given) if n == DYN else n for n in shape]
    return shape


def array_at(element, data, shape):
    """An array of gdb's at an address; of a large one the first part. Its printed form has more elements than gdb shows by default."""
    room = max(FLAT_BYTES // element.sizeof, 1)
    t, filled = element, 1
    for n in reversed(shape):
        take = min(n, max(room // filled, 1))
        t, filled = t.array(take - 1), filled * take
        if take < n:
            room = 1
    return data.cast(t.pointer()).dereference()


def text_of(element, shape):
    return dtype_name(element) + ("[" + ", ".join(map(str, shape)) + "]" if shape else "")


class array_printer:
    """Elements at an address, as nested braces."""

    def __init__(self, element, data, shape):
        self.element, self.data, self.shape = element, data, shape

    def to_string(self):
        text = text_of(self.element, self.shape)
        return text if self.shape else text + " " + self.data.cast(self.element.pointer()).dereference().format_string()

    def children(self):
        if not self.shape or 0 in self.shape:
            return
        step = self.element.sizeof
        for n in self.shape[1:]:
            step *= n
        start, row = int(self.data), step // self.element.sizeof
        limit = gdb.parameter("print elements") or sys.maxsize  # gdb itself counts the elements of each row anew
        for i in range(self.shape[0]):
            if row > 1 and i * row >= limit:
                yield "[%d]" % i, "%d more" % (self.shape[0] - i)
                return
            yield "[%d]" % i, array_at(self.element, gdb.Value(start + i * step).cast(self.element.pointer()), self.shape[1:])

    def display_hint(self):
        return "array" if self.shape else None


def array_of(value):
    """The element type, the address and the shape of a tensor or view."""
    t = value.type.strip_typedefs()
    element = t.template_argument(0).strip_typedefs().unqualified()
    if class_of(t)[1] == "view":
        return element, value["data_"], shape_in(t, value["layout_"])
    cells = value["cells_"]
    if class_of(cells.type)[1] == "inline_cells":
        return element, cells["cells_"].address, shape_in(t, None)
    return element, cells["block_"]["data_"], shape_in(t, cells["shape_"])


def string_of(s):
    """A std::string_view or std::string."""
    names = [f.name for f in s.type.strip_typedefs().fields()]
    if "_M_str" in names:
        return s["_M_str"].string(length=int(s["_M_len"])) if s["_M_len"] else ""
    if "__data_" in names:
        return s["__data_"].string(length=int(s["__size_"]))
    if "_M_dataplus" in names:
        return s["_M_dataplus"]["_M_p"].string(length=int(s["_M_string_length"]))
    return s.format_string().strip('"')


def vertex_text(namespace, vertex):
    """leaf "w", matmul"""
    name = string_of(vertex["hooks"]["name"]) if vertex["hooks"] else ""
    if vertex["is_leaf"]:
        return 'leaf "%s"' % name if name else "leaf"
    program = vertex.cast(gdb.lookup_type(namespace + "node").pointer())["program"]
    return program["name"].string() + (' "%s"' % name if name else "")


class variable_printer:
    def __init__(self, value):
        self.value, self.t = value, value.type.strip_typedefs()
        self.namespace = class_of(self.t)[0]
        self.element = self.t.template_argument(0).strip_typedefs()
        self.vertex = value["vertex_"]["p_"]
        self.as_leaf = None
        if self.vertex and self.vertex["is_leaf"]:
            self.as_leaf = self.vertex.cast(gdb.lookup_type(self.namespace + "leaf").pointer())

    def to_string(self):
        if not self.vertex and not self.value["defined_"]:
            return "undefined"
        text = text_of(self.element, shape_in(self.t, self.value["shape_"]))
        if self.as_leaf:
            text += " " + vertex_text(self.namespace, self.vertex)
            if counts_at(self.as_leaf["version"], 1)[0]:
                text += ", version %d" % counts_at(self.as_leaf["version"], 1)[0]
        else:
            text += " of " + vertex_text(self.namespace, self.vertex) if self.vertex else " constant"
        hooks = self.vertex["hooks"]["entries"]["size_"] if self.vertex and self.vertex["hooks"] else 0
        return text + (", hooks: %d" % hooks if hooks else "")

    def children(self):
        if not self.vertex and not self.value["defined_"]:
            return
        shape = shape_in(self.t, self.value["shape_"])
        own = self.as_leaf is None or self.value["defined_"]
        yield "value", self.array(self.element, (self.value["value_"] if own else self.as_leaf["value"])["data_"], shape)
        stored = self.gradient()
        if stored is not None and stored["defined"]:
            name = enumerator(self.as_leaf["gradient_type"]) if self.as_leaf else None
            element = type_of_dtype(self.namespace, name) if name else self.element
            yield "gradient", self.array(element, stored["value"]["data_"], shape)

    def gradient(self):
        if self.as_leaf:
            return self.as_leaf["grad"]
        output = int(self.value["output_"])
        if not self.vertex or not self.vertex["hooks"] or output >= int(self.vertex["hooks"]["retained"]["size_"]):
            return None
        return self.vertex["hooks"]["retained"]["data_"][output]["value"]

    @staticmethod
    def array(element, data, shape):
        return array_at(element, data, shape) if 0 not in shape else "no elements"


class text_printer:
    def __init__(self, text):
        self.text = text

    def to_string(self):
        return self.text


def to_float(bits, name):
    if name == "bfloat16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def short(x, is_double):
    """The shortest text that reads back as x, as std::to_chars writes it; `.0` follows a whole number."""
    if x != x or x in (float("inf"), float("-inf")):
        return ("-" if struct.pack(">d", x)[0] & 0x80 else "") + ("nan" if x != x else "inf")
    for digits in range(17):
        text = "%.*e" % (digits, x)
        if float(text) == x if is_double else struct.pack("<f", float(text)) == struct.pack("<f", x):
            break
    mantissa, exponent = text.split("e")
    scale = int(exponent)
    scientific = mantissa + "e%s%02d" % ("-" if scale < 0 else "+", abs(scale))
    fixed = "%.*f" % (max(digits - scale, 0), x)
    if len(fixed) > len(scientific):
        return scientific
    return fixed if "." in fixed else fixed + ".0"


class vec:
    """A vec<T> as a sequence."""

    def __init__(self, value):
        self.data, self.size = value["data_"], int(value["size_"])

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if not 0 <= i < self.size:
            raise IndexError(i)
        return self.data[i]


class graph_text:
    """graph/print.hpp, in Python."""

    def __init__(self, g):
        self.eq, self.pool, self.shapes, self.out = (vec(g[name]) for name in ("eq", "pool", "shapes", "out"))
        self.subs, self.items = vec(g["subs"]), vec(g["syms"]["items_"])
        shown = {int(o) for o in self.out}
        self.names, self.inline, count = [], [], 0
        for k, e in enumerate(self.eq):
            self.inline.append(self.kind(e) == "literal" and k not in shown)
            if self.inline[k]:
                self.names.append(self.literal(e))
            else:
                self.names.append(self.letter("abcdefghijlopqrstuvwxyz", count))
                count += 1
        self.symbols, count = [], 0
        for i in range(len(self.items)):
            named = self.find(~i) == ~i and enumerator(self.items[i]["origin"]["rule"]) == "argument"
            self.symbols.append(self.letter("nmkpqrstuvw", count) if named else "")
            count += named

    @staticmethod
    def letter(letters, i):
        return letters[i % len(letters)] + (str(i // len(letters)) if i >= len(letters) else "")

    @staticmethod
    def kind(e):
        return enumerator(e["op"]["what"])

    @staticmethod
    def literal(e):
        dtype, bits = enumerator(e["op"]["result"]), int(e["attr"][0]) & DYN
        if dtype == "boolean":
            return "true" if bits else "false"
        if dtype in ("i32", "i64"):
            return str(struct.unpack("<i" if dtype == "i32" else "<q", struct.pack("<Q", bits)[: 4 if dtype == "i32" else 8])[0])
        if dtype in ("bf16", "f16"):
            return short(to_float(bits & 0xFFFF, "bfloat16" if dtype == "bf16" else "float16"), False)
        if dtype == "f32":
            return short(struct.unpack("<f", struct.pack("<Q", bits)[:4])[0], False)
        return short(struct.unpack("<d", struct.pack("<Q", bits))[0], True)

    def find(self, e):
        if e >= 0:
            return e
        s = ~e
        while int(self.items[s]["parent"]) != s:
            s = int(self.items[s]["parent"])
        bound = int(self.items[s]["bound"])
        return bound if bound >= 0 else ~s

    def extent(self, e):
        e = self.find(e)
        if e >= 0:
            return str(e)
        if self.symbols[~e]:
            return self.symbols[~e]
        origin = self.items[~e]["origin"]
        sign = " +-*/"[int(origin["rule"])] if int(origin["rule"]) < 5 else "-"
        return self.part(int(origin["a"])) + sign + self.part(int(origin["b"]))

    def part(self, e):
        found = self.find(e)
        return self.extent(e) if found >= 0 or self.symbols[~found] else "(" + self.extent(e) + ")"

    def type(self, e):
        shape = self.shapes[int(e["shape"])]
        extents = [self.extent(int(shape["e"][i])) for i in range(int(shape["rank"]))]
        dtype = enumerator(e["op"]["result"]).replace("boolean", "bool")
        return dtype + ("[" + ", ".join(extents) + "]" if extents else "")

    def attributes(self, e):
        kind, attr = self.kind(e), [int(e["attr"][0]), int(e["attr"][1])]
        if kind == "elementwise":
            return " each use" if attr[0] else ""
        if kind == "input":
            return " %d" % attr[0]
        if kind == "index":
            return " along %d" % attr[0]
        if kind == "reduce":
            return " over" + "".join(" %d" % a for a in range(attr[0], attr[1]))
        if kind == "broadcast":
            return " along" + "".join(" %d" % a for a in range(8) if attr[0] >> a & 1)
        if kind == "scan":
            return " along %d" % attr[0] + (" reversed" if attr[1] & 1 else "") + (" exclusive" if attr[1] & 2 else "")
        if kind == "solve":
            return ((" upper" if attr[1] & 2 else " lower") if attr[1] & 1 else "") + (" unit" if attr[1] & 4 else "")
        if kind == "factor":
            return " or NaN" if attr[1] else ""
        if kind == "contract":
            return ""
        if kind in ("gather", "scatter"):
            return " each along" + "".join(" %d" % a for a in range(attr[0])) if attr[0] > 0 else ""
        return (" with %d" % attr[0] if any(attr) else "") + (" %d" % attr[1] if attr[1] else "")

    def application(self, e):
        if self.kind(e) == "literal":
            return self.literal(e)
        text, transposes = string_of(e["op"]["name"]), self.kind(e) in ("contract", "solve")
        for j in range(int(e["count"])):
            text += " " + self.names[int(self.pool[int(e["first"]) + j])]
            if transposes and int(e["attr"][0]) >> j & 1:
                text += "^T"
        return text + self.attributes(e)

    def lines(self, indent=""):
        for k, e in enumerate(self.eq):
            if self.inline[k]:
                continue
            yield indent + self.names[k] + " = " + self.application(e) + " : " + self.type(e)
            if int(e["sub"]) >= 0:
                yield from graph_text(self.subs[int(e["sub"])]).lines(indent + "  ")
        results = [("nothing" if int(o) < 0 else self.names[int(o)]) for o in self.out]
        yield indent + " ".join(["return"] + results)


class vec_printer:
    def __init__(self, value):
        self.items = vec(value)

    def to_string(self):
        return "%d items" % len(self.items)

    def children(self):
        for i in range(len(self.items)):
            yield "[%d]" % i, self.items[i]

    def display_hint(self):
        return "array"


def storage_text(value):
    if not value["data_"]:
        return "no memory"
    owners, bytes_ = counts_at((value["data_"].cast(gdb.lookup_type("unsigned long").pointer()) - 8).dereference(), 2)
    return "%d bytes, %d owner%s" % (bytes_, owners, "" if owners == 1 else "s")


def counted_text(value):
    if not value["p_"]:
        return "null"
    namespace, name = class_of(value["p_"].type.target())
    return vertex_text(namespace, value["p_"]) if name == "vertex" else None


def printer_of(value):
    t = value.type
    if t.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value, t = value.referenced_value(), t.target()
    if t.strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
        return None
    name = class_of(t)[1]
    if name == "variable" and value.type.strip_typedefs().fields()[0].is_base_class:  # of integers or bools: their array
        value = value.cast(value.type.strip_typedefs().fields()[0].type)
        name = "tensor"
    if name in ("tensor", "view"):
        return array_printer(*array_of(value))
    if name == "variable":
        return variable_printer(value)
    if name == "graph":
        return text_printer("\n".join(graph_text(value).lines()))
    if name in ("bfloat16", "float16"):
        return text_printer("%g" % to_float(int(value["bits"]), name))
    if name in ("vec", "objects"):
        return vec_printer(value)
    if name == "storage":
        return text_printer(storage_text(value))
    if name == "layout":
        extents = [int(re.match(r"\d+", a)[0]) for a in arguments_of(t) if a]
        given = iter(counts_at(value["dynamic_"], extents.count(DYN)) if DYN in extents else [])
        return text_printer("[" + ", ".join(str(next(given) if n == DYN else n) for n in extents) + "]")
    if name == "counted":
        text = counted_text(value)
        return text_printer(text) if text else None
    return None


class printers(gdb.printing.PrettyPrinter):
    def __call__(self, value):
        try:
            return printer_of(value)
        except (gdb.error, KeyError, ValueError):  # not initialized, optimized out, or of another version: gdb shows the members
            return None


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers("ebb"), replace=True)
