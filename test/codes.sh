#!/usr/bin/env bash
# test/codes.sh — checks the codes of compile errors: each has one sentence, a case that must not compile, and its line in the list.
# SPDX-License-Identifier: BSL-1.0
#
#   bash test/codes.sh <root>              checks
#   bash test/codes.sh <root> --write      writes the list, include/ebb/ERRORS.md, anew
set -uo pipefail
cd "${1:-.}" && export LC_ALL=C.UTF-8
list=include/ebb/ERRORS.md

# Each sentence with its code and its header: literals that follow one another are one.
sentences() {
  grep -rlF '"[ebb E' include --include='*.hpp' | sort | while IFS= read -r header; do
    tr '\n' ' ' <"$header" | grep -oE '"\[ebb E[0-9]{4}\] ([^"\\]|\\.)*"( *"([^"\\]|\\.)*")*' |
      sed -E 's/" *"//g; s/^"\[ebb (E[0-9]{4})\] (.*)"$/\1\t\2/; s/\\(.)/\1/g' | sed "s~\$~\t${header#include/ebb/}~"
  done | sort -u
}
all=$(sentences)

page() {
  cat <<'PAGE'
# Errors

All compile errors of the library, by code. Each is one sentence at the user's line; `test/*/*.fail.cpp` has a case for each.
`bash test/codes.sh . --write` writes this list.

| code | sentence | header |
|---|---|---|
PAGE
  sed -E 's/\|/\\|/g' <<<"$all" | awk -F '\t' '$1 "\t" $2 == last { headers = headers ", " $3; next }
    last { print "| " row " | " headers " |" } { last = $1 "\t" $2; row = $1 " | " $2; headers = $3 } END { print "| " row " | " headers " |" }'
}
if [ "${2:-}" = --write ]; then page >$list; exit; fi

failed=0
complain() { echo "$1"; failed=1; }
(($(wc -l <<<"$all") > 100)) || complain "only $(wc -l <<<"$all") sentences were found"
while read -r code; do
  complain "$code has several sentences: $(grep "^$code" <<<"$all" | cut -f 2 | sort -u | tr '\n' ';')"
done < <(cut -f 1,2 <<<"$all" | sed -E 's/\t(ebb::)?[a-z_]+( of a variable)?(: *| *takes)/\t/' | sort -u | cut -f 1 | uniq -d)
while read -r code; do complain "$code has no case that must not compile"; done < <(
  comm -23 <(cut -f 1 <<<"$all" | sort -u) <(grep -rhoE 'EXPECT: E[0-9]{4}( |$)' test --include='*.fail.cpp' | grep -oE 'E[0-9]{4}' | sort -u))
diff <(page) $list >/dev/null || complain "$list is not what the headers say: bash test/codes.sh . --write"
[ $failed -ne 0 ] || echo "$(cut -f 1 <<<"$all" | sort -u | wc -l) codes, each with one sentence and a case"
exit $failed
