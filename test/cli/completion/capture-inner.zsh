# Sourced by the interactive zsh of capture.zsh.
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
zstyle ':completion:*' verbose false
begin-mark() { print -r -- '@@BEGIN@@' }
end-mark() { print -r -- '@@END@@' }
compprefuncs=(begin-mark)
comppostfuncs=(end-mark)
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a hits
  builtin compadd -A hits "$@"
  local hit
  for hit in $hits; do print -r -- "$hit"; done
  builtin compadd "$@"
}
