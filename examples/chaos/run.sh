#!/bin/sh
# Tests an "agent" (here a loop of `holdfast call`) against a server that breaks on purpose, and then asks the server's
# own ledger whether anything was done twice: examples/chaos/run.sh [HOLDFAST]
set -eu
holdfast=${1:-holdfast}
calls=6
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
mkfifo "$dir/port"
"$holdfast" chaos --config "$here/chaos.yaml" --ledger "$dir/ledger" >"$dir/port" &
server=$!
trap 'kill "$server"; rm -rf "$dir"' EXIT
read -r port <"$dir/port"
echo "{\"mcpServers\": {\"shop\": {\"url\": \"http://127.0.0.1:$port/mcp\"}}}" >"$dir/gateway.json"

ask() {
  "$holdfast" call --config "$dir/gateway.json" "$@"
}

answered=0
for i in $(seq "$calls"); do
  if ask shop__stock "{\"order\":\"o$i\"}"; then
    answered=$((answered + 1))
  fi
  ask shop__charge "{\"order\":\"o$i\"}" || echo "order o$i: the agent was told that it failed, or may have"
done

twice=$(grep '^charge ' "$dir/ledger" | cut -d ' ' -f 2 | sort | uniq -d)
echo "$answered of $calls questions were answered; $(grep -c '^charge ' "$dir/ledger") charges; twice: ${twice:-none}"
test "$answered" = "$calls" && test -z "$twice"
