#!/usr/bin/env bash
# The step "Validate" of action.yml: PATHS and ARGUMENTS have one entry per line, and are never evaluated.
set -euo pipefail

lines() { printf '%s\n' "$1" | sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d'; }

mapfile -t paths < <(lines "$PATHS")
mapfile -t arguments < <(lines "$ARGUMENTS")
if [ -n "$KUBE_VERSION" ]; then
  arguments+=(--kube-version "$KUBE_VERSION")
fi
exec "$RUNNER_TEMP/claimcheck/bin/claimcheck" validate -o github -o "sarif=$SARIF_FILE" "${arguments[@]}" -- "${paths[@]}"
