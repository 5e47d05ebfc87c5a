#!/usr/bin/env bash
# test/pages.sh — checks README.md and the pages beside the code: their code, output, links and names of files.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/pages.sh <root> <build directory>     with the examples that were built there
#   bash test/pages.sh <root>                       all except outputs
#
# Code after a line `<!-- file -->` must be in that file. A block that begins with `$ bash examples/run.sh <name> <arguments>` must be the
# output of that program, where `...` matches any text. An error that a compiler prints must be in the line of the header that it names.
# Links, their headings, and names of files in backticks must exist.
set -uo pipefail
cd "${1:-$(dirname "$0")/..}" || exit 1
build=${2:-}
failed=0
complain() { printf '%s: %s\n' "$page" "$1"; failed=1; }
declare -A headings  # of each page that a link names one of

check_output() {  # check_output command wanted
  local name arguments printed
  read -ra arguments <<<"${1#'$ bash examples/run.sh '}"
  name=${arguments[0]}
  [ -n "$build" ] || return
  [[ $name != *_mpi || -e $build/examples/example.$name ]] || { echo "not run: examples/$name, since there is no MPI"; return; }
  [[ $name != python || -e $build/examples/example.$name ]] || { echo "not run: examples/$name, since pybind11 or Python is not there"; return; }
  printed=$("$build/examples/example.$name" "${arguments[@]:1}" 2>&1) || complain "examples/$name fails"
  wanted=$2 printed=$printed awk 'BEGIN {
    rest = ENVIRON["printed"]; n = split(ENVIRON["wanted"], part, /\.\.\./)
    for (i = 1; i <= n; ++i) {
      at = index(rest, part[i])
      if (part[i] == "" && i > 1) at = 1
      if (!at || (i == 1 && at != 1)) { missing = part[i]; sub(/^\n+/, "", missing); sub(/\n.*/, "", missing); print missing; exit 1 }
      rest = substr(rest, at + length(part[i]))
    }
    if (part[n] != "" && rest != "") { print "more than that:" rest; exit 1 }
  }' || complain "bash examples/run.sh ${arguments[*]} does not print that"
}

check_page() {
  local line block= inside= of= target anchor directory content
  directory=$(dirname "$page")
  while IFS= read -r line; do
    if [ -z "$inside" ] && [[ $line == '```'* ]]; then
      inside=1 block=
    elif [ -n "$inside" ] && [[ $line == '```' ]]; then
      inside=
      if [ -n "$of" ]; then
        content=$(cat "$of" 2>/dev/null) || complain "there is no $of"
        [[ $content == *"${block%$'\n'}"* ]] || complain "$of does not hold: ${block%%$'\n'*}"
        checked=$((checked + 1))
      fi
      if [[ $block == '$ bash examples/run.sh '* ]]; then
        target=${block#*$'\n'}
        check_output "${block%%$'\n'*}" "${target%$'\n'}"
        checked=$((checked + 1))
      fi
      of=
    elif [ -n "$inside" ]; then
      block+=$line$'\n'
      if [[ $line =~ ^(ebb/[a-z_/]+\.hpp):([0-9]+):[0-9]+:\ error:.*(\[ebb\ E[0-9]+\].*)$ ]]; then  # a compiler's message: its sentence is in that line
        content=$(sed -n "${BASH_REMATCH[2]}p" "include/${BASH_REMATCH[1]}" 2>&1)
        [[ $content == *"${BASH_REMATCH[3]}"* ]] || complain "${BASH_REMATCH[1]}:${BASH_REMATCH[2]} has no ${BASH_REMATCH[3]}"
        checked=$((checked + 1))
      fi
    elif [[ $line =~ ^'<!-- '(.*)' -->'$ ]]; then
      of=${BASH_REMATCH[1]}
    elif [[ $line == *']('* || $line == *'`'*/*'`'* ]]; then  # most lines start no process
      while read -r target; do
        [[ -z $target || $target == *://* ]] && continue
        anchor= content=$page
        [[ $target != *'#'* ]] || anchor=${target#*'#'}
        target=${target%%'#'*}
        if [ -n "$target" ]; then
          content=$directory/$target
          [ -e "$content" ] || { complain "there is no $content"; continue; }
        fi
        checked=$((checked + 1))
        [ -n "$anchor" ] || continue
        [ -n "${headings[$content]:-}" ] || headings[$content]=$'\n'$(sed -nE 's/^#+ //p' "$content" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-')$'\n'
        [[ ${headings[$content]} == *$'\n'"$anchor"$'\n'* ]] || complain "$content has no heading $anchor"
      done < <(grep -oE '\]\([^)]+\)' <<<"$line" | sed 's/^](//; s/)$//')
      while read -r target; do
        [ -n "$target" ] || continue
        compgen -G "$target" >/dev/null || compgen -G "include/$target" >/dev/null || compgen -G "include/ebb/$target" >/dev/null ||
          complain "there is no $target"
        checked=$((checked + 1))
      done < <(grep -oE '`[^` ]+/[^` ]+\.(hpp|cpp|sh|md|txt|json|py|cmake)`' <<<"$line" | tr -d '`' | grep -v '[<>$]')
    fi
  done <"$page"
  [ -z "$inside" ] || complain "a block of code does not end"
}

checked=0
for page in README.md CONTRIBUTING.md examples/README.md examples/*/README.md bench/README.md include/ebb/README.md include/ebb/op/README.md test/packages/README.md .github/*.md test/data/golden/README.md; do
  [ -e "$page" ] && check_page
done
for page in examples/*/main.cpp; do [ -e "${page%main.cpp}README.md" ] || complain "its page is missing"; done
for page in examples/*/README.md; do grep -qF '**Change it:**' "$page" || complain "does not say how to change the program"; done
page=examples/functions/README.md
stages=$(sed -nE 's/.* names\[\] = \{(.*)\};/\1/p' include/ebb/pass/pipeline.hpp | tr -d '"')
tr '\n' ' ' <$page | grep -qF "a stage on the way: $stages, or" || complain "does not name the stages $stages"
page=include/ebb/README.md
rows=$(sed -n '/^## Words$/,/^## Notes$/p' $page | sed -nE 's/^\| ([^|]*[^| ]) +\| .*/\1/p' | sed 's/, /\n/g')
(($(wc -l <<<"$rows") > 50)) || complain 'has few words'
twice=$(sort <<<"$rows" | uniq -d)
[ -z "$twice" ] || complain "has several rows for: $twice"
lines=$(wc -l <README.md)
page=README.md
((lines <= 200)) || complain "$lines lines, 200 are allowed"
((checked > 40)) || complain "only $checked links, files and outputs were found"
echo "$checked links, files, pieces of code and outputs checked"
exit $failed
