{{- /* The image, by digest if there is one. */ -}}
{{- define "claimcheck.image" -}}
{{- $image := .Values.image -}}
{{- $name := required "image.repository is required: an image that your nodes can pull" $image.repository -}}
{{- if $image.digest -}}
{{ $name }}@{{ $image.digest }}
{{- else -}}
{{ $name }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* The mode of quota in the user's configuration; empty if there is none. YAML reads a bare Off as false. */ -}}
{{- define "claimcheck.quota" -}}
{{- if .Values.config -}}
{{- $mode := dig "quota" "mode" "Off" (include "claimcheck.configuration" . | fromYaml) -}}
{{- if eq (toString $mode) "false" -}}Off{{- else -}}{{ $mode }}{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
The text of the user's configuration. It becomes a block scalar, so each of its lines has to be indented; `nindent` ends lines at line
feeds alone, YAML at other characters as well.
*/ -}}
{{- define "claimcheck.configurationText" -}}
{{- $text := .Values.config | replace "\r\n" "\n" -}}
{{- if regexMatch `[\r\x{85}\x{2028}\x{2029}]` $text -}}
{{- fail "config: write line breaks as \\n: there is a \\r, U+0085, U+2028 or U+2029" -}}
{{- end -}}
{{- regexReplaceAll `\s+$` $text "" -}}
{{- end -}}

{{- /* The user's configuration, or an error that says what is wrong with it. */ -}}
{{- define "claimcheck.configuration" -}}
{{- $config := fromYaml (include "claimcheck.configurationText" .) -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "config: %s" $config.Error) -}}
{{- end -}}
{{- range list "listen" "tls" -}}
{{- if hasKey $config . -}}
{{- fail (printf "config: remove %s, which the chart sets" .) -}}
{{- end -}}
{{- end -}}
{{- $serves := ternary "CustomResources" "BuiltIn" (eq .Values.mode "crd-served") -}}
{{- if ne (dig "apiServer" "serves" "BuiltIn" $config) $serves -}}
{{- fail (printf "config: apiServer.serves must be %s in this mode" $serves) -}}
{{- end -}}
{{- $quota := toString (dig "quota" "mode" "Off" $config) -}}
{{- if and (not (has $quota (list "Off" "false"))) (eq .Values.mode "built-in-guard") (not .Values.clientAuthority) -}}
{{- fail "config: quota.mode needs clientAuthority, the authority of the API server's client certificate" -}}
{{- end -}}
{{- $feasibility := dig "policies" "feasibility" dict $config -}}
{{- $watches := eq (dig "apiServer" "devices" "Inventory" $config) "Watch" -}}
{{- if and (eq (toString $feasibility.mode) "Enforce") $watches (not $feasibility.insecureSkipClientVerify) (eq .Values.mode "built-in-guard") (not .Values.clientAuthority) -}}
{{- fail "config: policies.feasibility.mode needs clientAuthority, the authority of the API server's client certificate, as only the API server may ask about devices" -}}
{{- end -}}
{{- $ledgers := printf "%s-ledgers" .Release.Namespace -}}
{{- if and (eq .Values.mode "crd-served") (ne (dig "quota" "namespace" $ledgers $config) $ledgers) -}}
{{- fail (printf "config: remove quota.namespace: the service may write its ledgers into %s only" $ledgers) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- /*
The labels of namespaces for whose changes the API server calls the webhook, as a list of CEL strings: those that the
configuration guards. Arguments: the chart, and the list without a configuration.
*/ -}}
{{- define "claimcheck.guardedLabels" -}}
{{- $chart := index . 0 -}}
{{- if $chart.Values.config -}}
{{- $policies := dig "policies" dict (include "claimcheck.configuration" $chart | fromYaml) -}}
{{- $guard := dig "adminAccessLabels" dict $policies -}}
{{- $labels := ternary $guard.labels (dig "adminAccess" "labels" list $policies) (hasKey $guard "labels") -}}
{{- $keys := list "resource.kubernetes.io/admin-access" -}}
{{- range $labels -}}
{{- $keys = append $keys .key -}}
{{- end -}}
{{- $strings := list -}}
{{- range uniq $keys -}}
{{- $is_key := regexMatch `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$` . -}}
{{- if or (not $is_key) (gt (splitList "/" . | first | len) 253) -}}
{{- fail (printf "config: %q is not the key of a label" .) -}}
{{- end -}}
{{- $strings = append $strings (printf "'%s'" .) -}}
{{- end -}}
{{- join ", " $strings -}}
{{- else -}}
{{- index . 1 -}}
{{- end -}}
{{- end -}}
