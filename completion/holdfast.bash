# Completion of holdfast for bash.

_holdfast() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= word options
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || { command=$word && break; }
  done
  case $previous in
    -c | --config | --control | --script | --ledger)
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
  esac
  case $command in
    "") options="serve stdio wrap check tools call status chaos config token version help" ;;
    serve) options="--config --listen --log-level --log-format --help" ;;
    stdio) options="--config --log-level --log-format --help" ;;
    wrap) options="--name --log-level --log-format --help --" ;;
    check) options="--config --json --probe --help" ;;
    tools | call) options="--config --control --json --log-level --log-format --help" ;;
    status) options="--control --config --json --help" ;;
    chaos) options="--config --stdio --http --url --era --seed --fault --script --ledger --key --no-sessions --sse --extra-tools --help --" ;;
    config) options="--defaults --schema --manual --help" ;;
    token) options="--name --help" ;;
    help) options="serve stdio wrap check tools call status chaos config token version" ;;
    *) options="--help" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  if [[ $command == check && $current != -* ]]; then
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -F _holdfast holdfast
