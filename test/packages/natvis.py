# test/packages/natvis.py — checks ebb.natvis without Visual Studio: it is well-formed XML, and a compiler finds each member it names.
# SPDX-License-Identifier: BSL-1.0
#
#   python3 test/packages/natvis.py <installed ebb.natvis> <include/ebb/base/config.hpp> <compiler> <flags...>
#
# Each expression becomes a line in a member function of a class that derives from the type, compiled without access control. Then a member
# is misspelled, and the compiler must complain.
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

SPACE = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
# For each type objects of the debugger may have: the C++ type, and what $T1 is there.
TYPES = {
    "inline_cells": [("ebb::inline_cells<float, 2, 3>", "float")],
    "shared_cells": [("ebb::shared_cells<double, ebb::dyn, 2>", "double"), ("ebb::shared_cells<float, 100, 200>", "float")],
    "tensor": [("ebb::tensor<float, 2, 3>", "float"), ("ebb::tensor<ebb::bfloat16, ebb::dyn>", "ebb::bfloat16")],
    "view": [("ebb::view<const float, ebb::dyn>", "const float")],
    "layout": [("ebb::layout<2, ebb::dyn>", "2")],
    "storage": [("ebb::storage", "")],
    "variable": [("ebb::variable<float, 2>", "float"), ("ebb::variable<double>", "double")],
    "gradient": [("ebb::gradient", "")],
    "counted": [("ebb::counted<ebb::vertex>", "ebb::vertex")],
    "vec": [("ebb::vec<int>", "int")],
    "graph": [("ebb::graph", "")],
    "equation": [("ebb::equation", "")],
    "shape": [("ebb::shape", "")],
}
# Each of these must be shown: struct members are shown by these entries, too.
WANTED = {"tensor", "view", "variable", "graph"}


def expressions(t):
    for e in t.iter():
        if "Condition" in e.attrib:
            yield e.attrib["Condition"]
        if e.tag == SPACE + "DisplayString":
            for text in re.findall(r"(?<!\{)\{([^{}]+)\}(?!\})", e.text.replace("{{", "").replace("}}", "")):
                yield re.sub(r",(s|en|d|x)$", "", text)
        elif e.tag[len(SPACE) :] in ("Size", "ValuePointer", "Item", "ExpandedItem"):
            yield e.text


def fail(problem):
    sys.exit("ebb.natvis: " + problem)


natvis, config, compiler = sys.argv[1], open(sys.argv[2]).read(), sys.argv[3:]
root = xml.parse(natvis).getroot()
if root.tag != SPACE + "AutoVisualizer":
    fail("the root is " + root.tag)

version = re.search(r"define EBB_ABI EBB_JOIN\((\w+),", config)[1]
namespaces = [version + isa + options for isa in re.findall(r"define EBB_ISA (\w+)", config) for options in ("", "_noexcept", "_profile", "_lapack")]
found = {}
for t in root.iter(SPACE + "Type"):
    match = re.fullmatch(r"ebb::(\w+)::(\w+)(<\*>)?", t.attrib["Name"])
    if not match:
        fail("unexpected name " + t.attrib["Name"])
    found.setdefault(match[1], {})[match[2]] = t
if sorted(found) != sorted(namespaces):
    fail("it has entries for %s, and base/config.hpp knows %s" % (sorted(found), sorted(namespaces)))
for namespace, types in found.items():
    if set(types) != set(TYPES) or not WANTED <= set(types):
        fail("%s has entries for %s, expected are %s" % (namespace, sorted(types), sorted(TYPES)))
    for name, t in types.items():
        text = xml.tostring(t).decode()
        if set(re.findall(r"ebb::(v\d+_\w+?)::", text)) != {namespace}:
            fail("the entry for %s in %s names another namespace" % (name, namespace))

program, count = '#include <ebb/autograd/variable.hpp>\n#include <ebb/graph/graph.hpp>\n', 0
for name, t in found[namespaces[0]].items():
    for cpp, argument in TYPES[name]:
        lines = []
        for e in expressions(t):
            e = e.replace("ebb::%s::" % namespaces[0], "ebb::").replace("$T1", argument)
            lines.append("    (void)(%s);" % e)
        if not lines:
            fail("the entry for %s shows nothing" % name)
        program += "struct probe_%d : %s {\n  void show() {\n%s\n  }\n};\n" % (count, cpp, "\n".join(lines))
        count += 1


def compiled(text):
    return subprocess.run(compiler + ["-fno-access-control", "-w", "-fsyntax-only", "-x", "c++", "-"], input=text, text=True, capture_output=True)


result = compiled(program)
if result.returncode:
    fail("a compiler does not find what it names:\n" + "\n".join(l for l in result.stderr.split("\n") if "error" in l))
if not compiled(program.replace("vertex_", "vertez_", 1)).returncode:
    fail("this test accepts a member that does not exist")
print("ebb.natvis: %d types in %d namespaces, %d lines of expressions compile" % (len(TYPES), len(namespaces), program.count("(void)(")))
