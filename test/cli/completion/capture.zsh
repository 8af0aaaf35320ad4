# Types a line and a Tab into a real interactive zsh and prints what it offers.
# Arguments: the completion script, the line. After the method of
# zsh-capture-completion: compadd, through which every offer goes, is wrapped.
emulate -L zsh
zmodload zsh/zpty || exit 1
zpty inner "zsh -f -i"
zpty -w inner "PROMPT=''; RPS1=''; unsetopt zle_bracketed_paste"
zpty -w inner "autoload -Uz compinit; compinit -D -u; source ${(q)1}"
zpty -w inner "source ${(q)0:A:h}/capture-inner.zsh; echo -E - READY\$((1+1))"
while zpty -r inner line; do [[ $line == *READY2* ]] && break; done
zpty -w -n inner "$2"$'\t'
integer inside=0
while zpty -r inner line; do
  line=${line%$'\r\n'}
  if [[ $line == *@@BEGIN@@* ]]; then inside=1; continue; fi
  if [[ $line == *@@END@@* ]]; then break; fi
  (( inside )) && print -rl -- $line
done
zpty -d inner
