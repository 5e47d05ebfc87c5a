#!/usr/bin/env bash
# test/reference.sh — checks include/ebb/op/README.md, the reference of all functions and ops: it is what the headers say.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/reference.sh <root>              checks
#   bash test/reference.sh <root> --write      writes the reference anew
#   bash test/reference.sh <root> --names      prints a line for each function and op: header, name, op or function that it calls
#
# A row is the comment `///` at a function, and that of its op or struct where the function's own says nothing. Fields that are missing
# have the defaults of op/call.hpp. Base classes, element types, autocast class and derivative are read from the struct. The names that
# PyTorch, NumPy and SciPy have are in test/data/names.txt: that is the only thing that a header does not say.
set -uo pipefail
cd "${1:-.}" && export LC_ALL=C.UTF-8
page=include/ebb/op/README.md
folders=(op special order reductions shapes linalg nn stats geometry)

headers() { local folder; echo include/ebb/trace/functions.hpp; for folder in "${folders[@]}"; do [ ! -d include/ebb/$folder ] || printf '%s\n' include/ebb/$folder/*.hpp; done; }

rows() {  # rows page|names
  awk -v what="$1" '
  function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
  # Splits a comment into its text and its fields; `Dtype, Error: as max.` are two fields.
  function read_comment(id, text,   rest, at, length_of_key, key, names, n, i, value) {
    rest = "   " text
    gsub(/Shape and Dtype: /, "Shape, Dtype: ", rest)
    gsub(/, for all of them: /, ": ", rest)
    key = "Text"
    for (;;) {
      at = match(rest, /(^|[ ])((Shape|Dtype|Saves|Error|Throws|Source|Domain|Derivative|Special|Autocast)(, (Shape|Dtype|Saves|Error|Throws|Source))*: )/)
      length_of_key = RLENGTH
      value = trim(at ? substr(rest, 1, at - 1) : rest)
      n = split(key, names, ", ")
      # Text after the first sentence of these fields is a remark.
      if (key != "Text" && key ~ /Shape|Dtype|Saves|Error/ && match(value, /[.] +[A-Za-z]/)) {
        field[id, "Special"] = field[id, "Special"] (field[id, "Special"] == "" ? "" : " ") trim(substr(value, RSTART + 1))
        value = substr(value, 1, RSTART)
      }
      for (i = 1; i <= n; ++i) if (value != "") field[id, names[i]] = value
      if (!at) break
      key = substr(rest, at, length_of_key)
      rest = substr(rest, at + length_of_key)
      key = trim(key); sub(/:$/, "", key)
    }
    # `All other fields as max`: its fields are those of max where nothing else is said. The note may stand after any field.
    if (match(text, /([Ff]ields|[Aa]ll else) as [a-z_0-9:]+/)) {
      value = substr(text, RSTART, RLENGTH); sub(/.* as /, "", value)
      like[id] = value
    }
    for (i in known) if ((id, i) in field) {
      sub(/ *(All |Other |All other )?([Ff]ields|[Aa]ll else) as [a-z_0-9:]+( and [a-z_0-9:]+)?(\.|, but )/, "", field[id, i])
      if (field[id, i] == "") delete field[id, i]
    }
  }
  # The first of a struct, its bases and the op that it calls, that has the property.
  function property(id, name,   steps) {
    for (steps = 0; id != "" && steps < 9; ++steps) {
      if ((id, name) in prop) return prop[id, name]
      id = base[id]
    }
    return ""
  }
  function resolved(name, from) {  # the struct that a name means, seen from a header
    if (name in is_struct) return name
    if (("op::" name) in is_struct) return "op::" name
    if (("functions::" name) in is_struct) return "functions::" name
    return ""
  }
  function get(id, name, depth,   other) {
    if ((id, name) in field) return field[id, name]
    if (depth > 4) return ""
    if (id in like && name != "Text" && name != "Domain") {
      other = like[id]
      if (!(("f:" other) in header_of) && !(other in is_struct)) other = resolved(other)
      else if (("f:" other) in header_of && ("f:" other) != id) other = "f:" other
      if (other != "" && other != id) { other = get(other, name, depth + 1); if (other != "") return other }
    }
    if (id in header_of && (("h:" header_of[id]), name) in field && !is_elementwise(id)) return field["h:" header_of[id], name]
    if (id in calls && calls[id] in is_struct) return get(calls[id], name, depth + 1)
    if (id in base && base[id] in is_struct && (id ~ /^op::/ || name != "Text")) return get(base[id], name, depth + 1)
    return ""
  }
  BEGIN {
    n = split("Text Shape Dtype Saves Error Throws Source Domain Derivative Special Autocast", list, " ")
    for (i = 1; i <= n; ++i) known[list[i]] = 1
    while ((getline line < "test/data/names.txt") > 0) {
      if (line ~ /^#/ || line == "") continue
      n = split(line, word, " ")
      short = word[1]; sub(/^op::/, "", short)
      sub(/=$/, short, word[2]); sub(/=$/, short, word[3])
      torch[word[1]] = word[2]; numpy[word[1]] = word[3]
    }
  }
  FNR == 1 {
    depth = 0; space = ""; nested = ""; comment = ""; current = ""; current_f = ""; last_doc = ""; preamble = ""
    file = FILENAME; sub(/^include\/ebb\//, "", file)
    files[++file_count] = file
    about[file] = $0; sub(/^[^—]*— /, "", about[file])
  }
  # Fields in the comment at the beginning of a header are those of its functions that say nothing else.
  space == "" && /^\/\/ .*(Shape|Dtype|Saves|Error)(, for all of them)?: / { preamble = preamble " " substr($0, 4) }
  /^#pragma once/ { if (preamble != "") read_comment("h:" file, preamble); preamble = "" }
  /^namespace ebb::inline EBB_ABI/ { space = $0; sub(/^namespace ebb::inline EBB_ABI(::)?/, "", space); sub(/ *\{.*/, "", space); outer = space; next }
  /^namespace [a-z_:]+ \{/ && !/^namespace ebb/ { space = outer == "" ? $2 : outer "::" $2; next }
  /^}  \/\/ namespace ebb::/ { space = "none"; comment = ""; next }
  /^}  \/\/ namespace / { space = outer; comment = ""; next }
  /^\/\/\/ ?/ {
    line = $0; sub(/^\/\/\/ ?/, "", line)
    if (line ~ /^ / && line !~ /[A-Z][a-z]+: /) next  # an example
    if (match(line, /   +(const |auto |[a-z_0-9]+[<(]).*$/) && substr(line, RSTART) !~ /[A-Z][a-z]+: /) line = substr(line, 1, RSTART - 1)
    comment = comment (comment == "" ? "" : " ") trim(line); next
  }
  /^(template |  requires)/ { if (/^template/) templated = $0; next }
  # A struct of an op or of a function.
  /^struct [a-z_0-9]+/ && /\{/ {
    id = (space == "" ? "" : space "::") $2; sub(/:+$/, "", id); gsub(/[{;]/, "", id)
    if (id ~ /</) { comment = ""; next }
    is_struct[id] = 1; struct_file[id] = file; current = id; order[++structs] = id
    if (comment != "") read_comment(id, comment)
    if (match($0, / : .*\{/)) {
      name = substr($0, RSTART + 3, RLENGTH - 4); sub(/ *$/, "", name)
      if (name ~ /^(call|detail::[a-z_]+)<.*>$/) { sub(/^[a-z_:]+</, "", name); sub(/[,>].*/, "", name) }
      sub(/[<,].*/, "", name)
      base[id] = name ~ /::/ ? name : (space == "" ? "" : space "::") name
    }
    templated = ""; comment = ""
    if ($0 ~ /\};?$/) current = ""
    next
  }
  /^struct / { comment = ""; next }
  current != "" && /^};/ { current = ""; comment = ""; next }
  current != "" && /^  static constexpr std::string_view name = "/ { name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name); prop[current, "name"] = name; next }
  current != "" && /^  static constexpr domain accepts = domain::/ { name = $0; sub(/.*domain::/, "", name); sub(/;.*/, "", name); prop[current, "accepts"] = name; next }
  current != "" && /^  static constexpr precision autocast = / { name = $0; sub(/.*autocast = /, "", name); sub(/;.*/, "", name); prop[current, "autocast"] = name; next }
  current != "" && /^  static constexpr (auto|cotangents<[0-9]>|vec<int>) pull\(/ {
    if ($0 ~ /return grads\(.*\); }$/) { name = $0; sub(/.*return grads\(/, "", name); sub(/\); }$/, "", name) }
    else name = "rule"
    prop[current, "pull"] = name; 
    next
  }
  # A function that users call.
  space == "" && /^inline constexpr (detail::)?[a-z_]*call[a-z_]*(<.*>)? [a-z_0-9]+\{/ {
    name = $0; sub(/\{.*/, "", name); sub(/.* /, "", name)
    id = "f:" name
    header_of[id] = file; functions[++function_count] = id; is_object[id] = 1
    name = $0
    if (match(name, /<.*>/)) { name = substr(name, RSTART + 1, RLENGTH - 2); sub(/[,<].*/, "", name) }
    else { sub(/^inline constexpr /, "", name); sub(/ .*/, "", name); if (name in base) name = base[name] }
    calls[id] = name
    # An object without a comment below another one shares its comment, unless its op has one.
    if (comment != "") read_comment(id, comment)
    else if (name !~ /^op::/ && last_object != "") same_as[id] = last_object
    last_object = comment != "" || id in same_as ? id : ""
    comment = ""; next
  }
  space == "" && /^constexpr auto [a-z_0-9]+\(.*&/ && !/operand<|apply_function/ {
    name = $3; sub(/\(.*/, "", name)
    id = "f:" name
    if (!(id in header_of) || header_of[id] != file) {
      if (id in header_of) id = id "@" file
      header_of[id] = file; functions[++function_count] = id; axes[id] = templated
      if (comment != "") read_comment(id, comment)
      else if (last_doc != "") same_as[id] = last_doc
      last_doc = id
    } else if (comment != "" && !((id, "Text") in field)) read_comment(id, comment)
    current_f = id; comment = ""; next
  }
  current_f != "" && !(current_f in calls) && /(functions|op)::[a-z_0-9]+/ {
    match($0, /(functions|op)::[a-z_0-9]+/); calls[current_f] = substr($0, RSTART, RLENGTH)
  }
  /^}/ { current_f = "" }
  { comment = ""; last_object = ""; if ($0 != "}" && $0 !~ /^ /) last_doc = "" }

  function md(s) { gsub(/\|/, "\\|", s); gsub(/</, "\\&lt;", s); gsub(/\*/, "\\*", s); gsub(/~/, "\\~", s); return s }
  function bare(s) { sub(/\.$/, "", s); return s }
  function derivative(id,   target, d, at, i, n, part, opened) {
    d = get(id, "Derivative", 0)
    if (d != "") return bare(d)
    target = id in calls ? calls[id] : id
    if (get(id, "Dtype", 0) ~ /no gradient/ || get(id, "Saves", 0) ~ /no gradient/) return "none"
    if (target !~ /^op::/ || !(target in is_struct)) return "that of its parts"
    d = property(target, "pull")
    if (d == "" ) return "none"
    if (d ~ /^nothing$/) return "0"
    if (d == "rule") return "a rule of its own"
    # emit_on<op>({}, x) is op(x)
    gsub(/emit_on</, "", d); gsub(/>\(\{\}, /, "(", d); gsub(/nothing/, "none", d); gsub(/op::/, "", d)
    if (d ~ /[{}>]|sum_over|broadcast|reshape|permute|attribute|shape_number|functions/) return "a rule of its own"
    return "`" d "`"
  }
  function cast_class(id,   target, c, n) {
    c = get(id, "Autocast", 0)
    if (c != "") return bare(c)
    target = id in calls ? calls[id] : id
    if (!(target in is_struct)) return "that of its parts"
    c = property(target, "autocast")
    for (n = 0; n < 5 && c ~ /::autocast$/; ++n) { sub(/::autocast$/, "", c); c = property(c, "autocast") }
    # `Axes == 3 ? full : as_is`: the name of the function ends with the number of axes
    if (c ~ /^Axes == 3 \? /) { if (id ~ /3d$/) sub(/^.*\? /, "", c); else sub(/^.* : /, "", c); sub(/ : .*/, "", c) }
    if (c ~ /\?/) return "see its header"
    sub(/precision::/, "", c)
    if (c == "" || c == "as_is") return "-"
    return c
  }
  function dtypes(id,   d, target, a) {
    d = get(id, "Dtype", 0)
    if (d != "") return bare(d)
    target = id in calls ? calls[id] : id
    a = property(target, "accepts")
    if (a == "real") return "promoted; integers give float"
    if (a == "boolean") return "bool"
    if (a == "signed_number") return "promoted; bool is refused"
    if (a == "bits") return "integers and bool"
    if (a == "integer") return "integers"
    return "promoted"
  }
  function is_elementwise(id,   steps) {
    if (id in calls) id = calls[id]
    for (steps = 0; id != "" && steps < 9; ++steps) { if (id ~ /elementwise$/) return 1; id = base[id] }
    return 0
  }
  function print_row(id, shown,   text, first, rest, at, shape, name, error, special) {
    text = get(id, "Text", 0)
    if (id in calls && calls[id] in is_struct && (text == "" || text !~ /\.$/)) {
      first = field[calls[id], "Text"]
      if (first != "" && first != text) text = text (text == "" ? "" : ": ") first
    }
    # Text after the first sentence, or after a semicolon in it, is about special values.
    at = match(text, /[.;:] +[A-Za-z]/)
    if (match(text, /\. +/)) { first = substr(text, 1, RSTART - 1); rest = substr(text, RSTART + RLENGTH) } else { first = text; rest = "" }
    special = trim(rest)
    if (get(id, "Domain", 0) != "") special = special (special == "" ? "" : " ") "Domain: " get(id, "Domain", 0)
    if (get(id, "Special", 0) != "") special = special (special == "" ? "" : " ") get(id, "Special", 0)
    if (get(id, "Throws", 0) != "") special = special (special == "" ? "" : " ") "Throws " get(id, "Throws", 0)
    shape = get(id, "Shape", 0)
    if (shape == "") shape = id ~ /^op::/ && !is_elementwise(id) ? "that of its function" : "broadcast"
    error = get(id, "Error", 0); if (error == "") error = "exact"
    name = id; sub(/^f:/, "", name); sub(/@.*/, "", name)
    printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", shown, md(bare(trim(first))), md(bare(shape)), md(dtypes(id)), md(bare(special)),
      md(bare(get(id, "Saves", 0) == "" ? "nothing" : get(id, "Saves", 0))), md(bare(error)), derivative(id), cast_class(id),
      name in torch ? torch[name] : "-", name in numpy ? numpy[name] : "-"
  }
  END {
    for (i = 1; i <= function_count; ++i) if (functions[i] in same_as) {
      id = functions[i]; for (key in known) if ((same_as[id], key) in field) field[id, key] = field[same_as[id], key]
      if (same_as[id] in like) like[id] = like[same_as[id]]
    }
    for (i = 1; i <= function_count; ++i) { id = functions[i]; if (calls[id] in is_struct) called[calls[id]] = 1 }
    for (k = 1; k <= file_count; ++k) {
      file = files[k]; title = 0
      for (i = 1; i <= function_count + structs; ++i) {
        if (i <= function_count) { id = functions[i]; if (header_of[id] != file) continue }
        else {
          id = order[i - function_count]
          if (struct_file[id] != file || id in called || id !~ /^op::/ || !((id, "name") in prop)) continue
        }
        name = id; sub(/^f:/, "", name); sub(/@.*/, "", name)
        if (what == "names") { print file, name, (id in calls ? calls[id] : "-"); continue }
        if (!title++) {
          printf "\n## %s\n\n%s\n\n", file, md(about[file])
          print "| name | definition | shape | dtype | special values, refusals | saves | error | derivative | autocast | PyTorch | NumPy, SciPy |"
          print "|---|---|---|---|---|---|---|---|---|---|---|"
        }
        shown = name ~ /^op::/ ? "*" name "*" : "`" name "`"
        print_row(id, shown)
      }
    }
  }' $(headers)
}

whole_page() {
  cat <<'PAGE'
# Reference

All functions that may be called on arrays, terms and variables, and the ops that they apply, as the comments at their code say:
`bash test/reference.sh . --write` writes this page. Functions of `op/` come with `<ebb/ebb.hpp>`, those of another folder with the header
of its name: `<ebb/special.hpp>`.

* Ops in italics have no function of their name: operators, other functions or derivatives apply them.
* Shape: "broadcast" is that of the operands, broadcast. The compiler refuses static extents that do not fit, the call others.
* Dtype: "promoted" is the common one of the operands. bf16 and f16 are computed in float and rounded once, if nothing else is said.
* Error is in units in the last place (ulp), in normal results. "exact" is the correctly rounded result.
* Derivative: the gradients of the operands, where `g` is that of the result, `out` the result. They are ops too, and have derivatives.
* Autocast: `low` casts operands to the context's dtype, `full` to float, `widest` to the widest among them, `-` leaves them.
* PyTorch: names are those in `torch`; `F` is `torch.nn.functional`. NumPy: names are those in `numpy`; `sp` is `scipy`.
PAGE
  rows page
}

case ${2:-} in
  --write) whole_page >$page ;;
  --names) rows names ;;
  *)
    diff <(whole_page) $page >/dev/null || { echo "$page is not what the headers say: bash test/reference.sh . --write"; exit 1; }
    count=$(grep -cE '^\| [`*]' $page)
    ((count > 400)) || { echo "$page has only $count rows: are functions declared in another way?"; exit 1; }
    echo "$count functions and ops are in $page" ;;
esac
