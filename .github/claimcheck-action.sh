#!/usr/bin/env bash
# The step "Validate" of action.yml: PATHS and ARGUMENTS have one entry per line, and are never evaluated.
set -euo pipefail

lines() { printf '%s\n' "$1" | sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d'; }

SARIF_FILE=${SARIF_FILE:-$RUNNER_TEMP/claimcheck.sarif}
case $SARIF_FILE in
  *$'\n'*) echo "sarif-file: a file name of one line is needed" >&2; exit 2 ;;
esac
printf 'sarif-file=%s\n' "$SARIF_FILE" >> "$GITHUB_OUTPUT"

mapfile -t paths < <(lines "$PATHS")
mapfile -t arguments < <(lines "$ARGUMENTS")
if [ -n "$KUBE_VERSION" ]; then
  arguments+=(--kube-version "$KUBE_VERSION")
fi
exec "$RUNNER_TEMP/claimcheck/bin/claimcheck" validate --fail-on-skipped -o github -o "sarif=$SARIF_FILE" "${arguments[@]}" -- "${paths[@]}"
