{{/* A name of at most 40 characters. What is longer ends in a digest, so that two long names stay two. */}}
{{- define "kv-accord.short" -}}
{{- if gt (len .) 40 -}}
{{- printf "%s-%s" (trunc 31 . | trimSuffix "-") (sha256sum . | trunc 8) -}}
{{- else -}}
{{- . | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "kv-accord.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- include "kv-accord.short" .Values.fullnameOverride -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- include "kv-accord.short" .Release.Name -}}
{{- else -}}
{{- include "kv-accord.short" (printf "%s-%s" .Release.Name $name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* In front of the names of objects in the workers' namespace, where releases of several namespaces may meet. */}}
{{- define "kv-accord.atWorkers" -}}
{{- if eq (include "kv-accord.workersNamespace" .) .Release.Namespace -}}
{{- include "kv-accord.fullname" . -}}
{{- else -}}
{{- include "kv-accord.short" (printf "%s-%s" .Release.Namespace (include "kv-accord.fullname" .)) -}}
{{- end -}}
{{- end }}

{{- define "kv-accord.selector" -}}
app.kubernetes.io/name: kv-accord
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Values.component }}
{{- end }}

{{- define "kv-accord.labels" -}}
{{ include "kv-accord.selector" . }}
{{ include "kv-accord.common" . }}
{{- end }}

{{/* The picker, which is installed beside the component. */}}
{{- define "kv-accord.eppName" -}}
{{- printf "%s-epp" (include "kv-accord.fullname" .) -}}
{{- end }}

{{- define "kv-accord.eppSelector" -}}
app.kubernetes.io/name: kv-accord
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: epp
{{- end }}

{{- define "kv-accord.eppLabels" -}}
{{ include "kv-accord.eppSelector" . }}
{{ include "kv-accord.common" . }}
{{- end }}

{{- define "kv-accord.poolName" -}}
{{- default (include "kv-accord.fullname" .) .Values.epp.pool.name -}}
{{- end }}

{{/* The proxies of gateways: in this namespace by the label of the Gateway API, in another by a label of the namespace. */}}
{{- define "kv-accord.gateways" -}}
- podSelector:
    matchExpressions:
      - key: gateway.networking.k8s.io/gateway-name
        operator: Exists
- namespaceSelector:
    matchLabels:
      {{- toYaml .Values.epp.gatewayNamespaceLabels | nindent 6 }}
{{- end }}

{{- define "kv-accord.common" -}}
app.kubernetes.io/part-of: kv-accord
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "kv-accord.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "kv-accord.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "kv-accord.workersNamespace" -}}
{{- default .Release.Namespace .Values.workers.namespace -}}
{{- end }}

{{- define "kv-accord.workersService" -}}
{{- default (printf "%s-workers" (include "kv-accord.atWorkers" .)) .Values.workers.service.name -}}
{{- end }}

{{/* The pods of the workers, as labels. */}}
{{- define "kv-accord.workerLabels" -}}
{{- if eq .Values.workers.find "graph" -}}
nvidia.com/dynamo-graph-deployment-name: {{ .Values.workers.graph }}
{{- else -}}
{{- toYaml .Values.workers.labels -}}
{{- end -}}
{{- end }}

{{/* The flags by which the workers are found. */}}
{{- define "kv-accord.findWorkers" -}}
{{- $workers := .Values.workers -}}
{{- $namespace := include "kv-accord.workersNamespace" . -}}
{{- if eq $workers.find "service" -}}
- --workers=k8s://{{ $namespace }}/{{ include "kv-accord.workersService" . }}:{{ $workers.port }}
{{- else if eq $workers.find "pods" -}}
{{- $pairs := list -}}
{{- range $name, $value := $workers.labels -}}
{{- $pairs = append $pairs (printf "%s=%s" $name $value) -}}
{{- end -}}
- {{ printf "--workers=k8s://%s?selector=%s&port=%v" $namespace (join "%2C" $pairs) $workers.port | quote }}
{{- else if eq $workers.find "graph" -}}
- --dynamo-graph={{ $namespace }}/{{ $workers.graph }}
{{- else -}}
{{- range $workers.targets }}
- --workers={{ . }}
{{- end -}}
{{- end }}
{{ include "kv-accord.agreement" . }}
{{- end }}

{{/* The flags of how they agree. */}}
{{- define "kv-accord.agreement" -}}
{{- $workers := .Values.workers -}}
- --min-workers={{ $workers.min }}
- --on-missing={{ $workers.onMissing }}
{{- if eq (default "refuse" $workers.blockSizePolicy) "rehash" }}
- --block-size-policy=rehash
{{- end }}
{{- with $workers.collectTimeout }}
- --collect-timeout={{ . }}
{{- end }}
{{- with .Values.expectedModels }}
- {{ printf "--expected-models=%s" (join "," .) | quote }}
{{- end }}
{{- end }}

{{- define "kv-accord.image" -}}
{{- $image := .image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default .appVersion $image.tag }}
{{- end -}}
{{- end }}

{{- define "kv-accord.containerSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}
