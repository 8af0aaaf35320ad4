{{/* Secrets that the process reads, by the folder below /etc/kv-accord: name of the Secret, or empty. */}}
{{- define "kv-accord.secrets" -}}
tls: {{ .Values.tls.secretName | quote }}
token: {{ .Values.token.secretName | quote }}
{{- if eq .Values.component "frontend" }}
api-keys: {{ .Values.apiKeys.secretName | quote }}
engine-api-key: {{ .Values.engines.apiKey.secretName | quote }}
engine-tls-ca: {{ .Values.engines.tlsCa.secretName | quote }}
{{- end }}
{{- end }}

{{- define "kv-accord.mounts" -}}
{{- range $folder, $secret := include "kv-accord.secrets" . | fromYaml }}
{{- if $secret }}
- name: {{ $folder }}
  mountPath: /etc/kv-accord/{{ $folder }}
  readOnly: true
{{- end }}
{{- end }}
{{- end }}

{{- define "kv-accord.volumes" -}}
{{- range $folder, $secret := include "kv-accord.secrets" . | fromYaml }}
{{- if $secret }}
- name: {{ $folder }}
  secret:
    secretName: {{ $secret }}
{{- end }}
{{- end }}
{{- end }}

{{/* The same for the picker. */}}
{{- define "kv-accord.eppMounts" -}}
{{- range $folder, $secret := dict "tls" .Values.tls.secretName "token" .Values.token.secretName }}
{{- if $secret }}
- name: {{ $folder }}
  mountPath: /etc/kv-accord/{{ $folder }}
  readOnly: true
{{- end }}
{{- end }}
{{- end }}

{{- define "kv-accord.eppVolumes" -}}
{{- range $folder, $secret := dict "tls" .Values.tls.secretName "token" .Values.token.secretName }}
{{- if $secret }}
- name: {{ $folder }}
  secret:
    secretName: {{ $secret }}
{{- end }}
{{- end }}
{{- end }}

{{/* OpenTelemetry's own variables, which the frontend reads. */}}
{{- define "kv-accord.tracing" -}}
{{- with .Values.tracing }}
{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
- name: OTEL_SERVICE_NAME
  value: {{ default (include "kv-accord.fullname" $) .serviceName | quote }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: OTEL_RESOURCE_ATTRIBUTES
  {{- $pairs := list (printf "k8s.namespace.name=%s" $.Release.Namespace) "k8s.pod.name=$(POD_NAME)" }}
  {{- range $name, $value := .resourceAttributes }}
  {{- $pairs = append $pairs (printf "%s=%s" $name $value) }}
  {{- end }}
  value: {{ join "," $pairs | quote }}
{{- with .sampler }}
- name: OTEL_TRACES_SAMPLER
  value: {{ . }}
{{- end }}
{{- with .samplerArg }}
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ . | quote }}
{{- end }}
{{- if .headers.secretName }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ .headers.secretName }}
      key: {{ .headers.key }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
