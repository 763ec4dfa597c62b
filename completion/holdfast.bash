# Completion of holdfast for bash.

_holdfast() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= word options
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    [[ $command == dlq ]] && command="dlq $word" && break
    command=$word
    [[ $command == dlq ]] || break
  done
  local filters="--tool --provider --class --since --until --priority --fingerprint --limit"
  local classes="unreachable misconfigured breaker_open local_limit session_lost not_sent connection_lost timed_out
    rate_limited unavailable server_error bad_reply rpc_error rejected unauthorized unknown_tool conflict redirected
    tool_error tool_error_transient unexpected_result result_misfit schema input_required cancelled deadline unknown gateway_died"
  case $previous in
    -c | --config | --control | --script | --ledger | --state)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --log-level)
      mapfile -t COMPREPLY < <(compgen -W "error warn info debug" -- "$current")
      return
      ;;
    --era)
      mapfile -t COMPREPLY < <(compgen -W "legacy modern both" -- "$current")
      return
      ;;
    --log-format)
      mapfile -t COMPREPLY < <(compgen -W "human json" -- "$current")
      return
      ;;
    --status)
      mapfile -t COMPREPLY < <(compgen -W "dead replaying replayed discarded quarantined any" -- "$current")
      return
      ;;
    --class)
      mapfile -t COMPREPLY < <(compgen -W "$classes" -- "$current")
      return
      ;;
    --force-executed)
      mapfile -t COMPREPLY < <(compgen -W "no" -- "$current")
      return
      ;;
  esac
  case $command in
    "") options="serve stdio wrap check tools call status explain report validate dlq chaos config token version help" ;;
    serve) options="--config --listen --state --log-level --log-format --help" ;;
    stdio) options="--config --state --log-level --log-format --help" ;;
    wrap) options="--name --state --log-level --log-format --help --" ;;
    check) options="--config --json --probe --audit --min-score --help" ;;
    tools | call) options="--config --control --json --log-level --log-format --help" ;;
    status) options="--control --config --watch --json --help" ;;
    explain) options="--control --config --state --json --help" ;;
    report) options="--since --html --price --state --config --json --help" ;;
    validate) options="--repair --json --help" ;;
    dlq) options="list show replay discard requeue export import analyze watch --help" ;;
    "dlq list" | "dlq analyze") options="$filters --status --state --config --json --help" ;;
    "dlq show") options="--show-secrets --state --config --json --help" ;;
    "dlq replay") options="$filters --all --dry-run --rate --concurrency --ramp-up --stop-on --reconcile --force-executed --patch
      --control --state --config --json --help" ;;
    "dlq discard" | "dlq requeue") options="$filters --status --all --reason --state --config --json --help" ;;
    "dlq export") options="$filters --status --show-secrets --state --config --json --help" ;;
    "dlq import") options="--state --config --json --help" ;;
    "dlq watch") options="$filters --state --config --json --help" ;;
    chaos) options="--config --stdio --http --url --era --seed --fault --script --ledger --key --no-sessions --sse --extra-tools --help --" ;;
    config) options="--defaults --schema --manual --help" ;;
    token) options="--name --help" ;;
    help) options="serve stdio wrap check tools call status explain report validate dlq chaos config token version" ;;
    *) options="--help" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  if [[ ($command == check || $command == validate || $command == "dlq import") && $current != -* ]]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -F _holdfast holdfast
