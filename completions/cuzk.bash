# SPDX-License-Identifier: MIT OR Apache-2.0
# bash completion of cuzk: commands and options are read from the program's own help, so that they never differ from it.
_cuzk() {
  local cur prev words cword
  if declare -F _init_completion >/dev/null; then
    _init_completion || return
  else
    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
  fi
  local program=${words[0]}
  case $prev in
    --c1 | --meta | --vanilla | --params | --out | --proof | --vk | --compact | --randomness | --toxic-waste | --against | --config | --ca | --cert | --key | --token-file)
      COMPREPLY=($(compgen -f -- "$cur"))
      return ;;
    --circuit)
      COMPREPLY=($(compgen -W "$("$program" circuit list 2>/dev/null | awk 'NR > 1 {print $1}')" -- "$cur"))
      return ;;
    --priority) COMPREPLY=($(compgen -W "low normal high critical" -- "$cur")); return ;;
    --progress) COMPREPLY=($(compgen -W "always never auto" -- "$cur")); return ;;
    --group) COMPREPLY=($(compgen -W "g1 g2" -- "$cur")); return ;;
    --scalars) COMPREPLY=($(compgen -W "random bits ones" -- "$cur")); return ;;
    --sector-size) COMPREPLY=($(compgen -W "2KiB 4KiB 16KiB 32KiB 8MiB 512MiB 32GiB 64GiB" -- "$cur")); return ;;
    --api) COMPREPLY=($(compgen -W "1.0 1.1 1.2" -- "$cur")); return ;;
    --threads | --seed | --sectors | --sector-number | --partition | --log2 | --runs | --peer | --addr | --listen | --status-listen | --set | --fake | --timeout | \
      --miner | --sector | --request-id | --registered-proof | --count | --concurrency | --duration | --warmup | --mix) return ;;
  esac
  local list
  list=$("$program" help 2>/dev/null | awk '/^commands:/ {on = 1; next} on && /^  / {print substr($0, 3, 20)} on && !/^  / {exit}')
  if ((cword == 1)); then
    COMPREPLY=($(compgen -W "$(awk '{print $1}' <<<"$list" | sort -u) --help --version" -- "$cur"))
    return
  fi
  if ((cword == 2)) && [[ $cur != -* ]]; then
    local second
    second=$(awk -v g="${words[1]}" '$1 == g {print $2}' <<<"$list")
    if [[ -n $second ]]; then
      COMPREPLY=($(compgen -W "$second" -- "$cur"))
      return
    fi
  fi
  if [[ $cur == -* ]]; then
    local command=("${words[1]}")
    [[ -z $(awk -v g="${words[1]}" '$1 == g {print $2}' <<<"$list") || ${words[2]} == -* ]] || command+=("${words[2]}")
    COMPREPLY=($(compgen -W "$("$program" "${command[@]}" --help 2>/dev/null | grep -o '^  --[a-z0-9-]*')" -- "$cur"))
    return
  fi
  if ((cword == 2)) && [[ ${words[1]} == submit ]]; then
    COMPREPLY=($(compgen -W "porep winning-post window-post snap" -- "$cur"))
    return
  fi
  case "${words[1]} ${words[2]}" in
    "params generate" | "circuit digest" | "circuit count" | "circuit compile")
      COMPREPLY=($(compgen -W "$("$program" circuit list 2>/dev/null | awk 'NR > 1 {print $1}')" -- "$cur")) ;;
    "circuit check") COMPREPLY=($(compgen -f -W "porep winning-post window-post snap" -- "$cur")) ;;
    "circuit witness" | "bench prove" | "bench single" | "bench batch") COMPREPLY=($(compgen -W "porep winning-post window-post snap" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}
complete -F _cuzk cuzk
