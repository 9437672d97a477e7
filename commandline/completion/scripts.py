r"""The scripts: each asks ``claimcheck __complete WORD…`` what the last word can become.

The words on the line go there as they were typed, and what comes back is only compared and inserted: neither is evaluated.
"""

from __future__ import annotations

_BASH = r"""# bash completion for claimcheck
__claimcheck_complete() {
    local cur=${COMP_WORDS[COMP_CWORD]} typed= line directive=0 at
    local -a words=()
    COMPREPLY=()
    # Bash splits words at "=": put them together again.
    for ((at = 1; at <= COMP_CWORD; at++)); do
        line=${COMP_WORDS[at]}
        if [[ ${#words[@]} -gt 0 && ( $line == "=" || $typed == *= ) && $COMP_WORDBREAKS == *"="* ]]; then
            typed+=$line
            words[${#words[@]}-1]=$typed
        else
            typed=$line
            words+=("$line")
        fi
    done
    [[ $cur == "=" ]] && cur=
    local prefix=${typed%"$cur"}
    while IFS= read -r line; do
        if [[ $line == :* ]]; then
            directive=${line#:}
        elif [[ -n $line ]]; then
            line=${line%%$'\t'*}
            COMPREPLY+=("${line#"$prefix"}")
        fi
    done < <(claimcheck __complete "${words[@]}" 2>/dev/null)
    if type compopt &>/dev/null; then
        case $directive in 2 | 6) compopt -o nospace 2>/dev/null ;; esac
        case $directive in 4 | 6) compopt +o default 2>/dev/null ;; esac
    fi
}
complete -o default -F __claimcheck_complete claimcheck
"""

_ZSH = r"""#compdef claimcheck
_claimcheck() {
    local line directive=0
    local -a values shown options
    for line in "${(@f)$(claimcheck __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == :* ]]; then
            directive=${line#:}
        elif [[ -n $line ]]; then
            values+=("${line%%$'\t'*}")
            shown+=("${line/$'\t'/  -- }")
        fi
    done
    if (( ${#values} )); then
        if (( directive & 2 )); then options=(-S ''); fi
        compadd -l "${options[@]}" -d shown -a -- values
    elif (( ! (directive & 4) )); then
        compset -P '-*='
        _files
    fi
}
if [[ $funcstack[1] == _claimcheck ]]; then
    _claimcheck "$@"
else
    compdef _claimcheck claimcheck
fi
"""

_FISH = r"""# fish completion for claimcheck
function __claimcheck_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l directive 0
    set -l found 0
    for line in (claimcheck __complete $words[2..-1] 2>/dev/null)
        switch $line
            case ':*'
                set directive (string sub -s 2 -- $line)
            case '?*'
                set found 1
                printf '%s\n' $line
        end
    end
    if test $found -eq 0 -a $directive -eq 0
        set -l option (string match -r -- '^--[^=]*=' (commandline -ct))
        for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' (commandline -ct)))
            printf '%s%s\n' "$option" $path
        end
    end
end
complete -c claimcheck -f -a '(__claimcheck_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
