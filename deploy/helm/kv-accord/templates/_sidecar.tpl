{{/*
The sidecar of a worker, as one item of a list of containers. For charts of
your own, with this one as a dependency (component: none):

  initContainers:
    {{- include "kv-accord.sidecar" (dict "engine" "http://127.0.0.1:8000") | nindent 8 }}

native: true (the default) makes a native sidecar, for initContainers; false an
ordinary container, for containers. Further keys:
  image       as in the values: repository, tag, digest, pullPolicy
  engine      base URL of the engine's HTTP
  engineKind  auto, vllm, sglang, trtllm, dynamo, other
  model       served model, where the engine does not tell it
  tokensPerBlock  what the engine should have; every live source outranks it
  kvEventSources, kvReplaySources  lists of ZeroMQ endpoints
  tlsSecretName   a Secret with tls.crt, tls.key, ca.crt; see kv-accord.sidecarVolumes
  engineTlsCaSecretName  a Secret whose ca.crt signs the engine's HTTPS certificate; see kv-accord.sidecarVolumes
  readyWhenOffered  true gives it a readiness probe on /readyz?offered: a pod is Ready once a frontend offers its worker
  extraArgs, resources
  extraEnv, extraVolumeMounts  lists, as Kubernetes has them
  securityContext  goes over the default; null takes a field out (OpenShift: dict "runAsUser" nil "runAsGroup" nil)
*/}}
{{- define "kv-accord.sidecar" -}}
{{- $known := list "native" "image" "engine" "engineKind" "model" "tokensPerBlock" "kvEventSources" "kvReplaySources" "tlsSecretName" "engineTlsCaSecretName" "readyWhenOffered" "extraArgs" "extraEnv" "extraVolumeMounts" "resources" "securityContext" -}}
{{- range $key, $_ := . -}}
{{- if not (has $key $known) -}}
{{- fail (printf "kv-accord.sidecar: %q is not known; there are %s" $key (join ", " $known)) -}}
{{- end -}}
{{- end -}}
{{- $image := merge (dict) (default (dict) .image) (dict "repository" "kv-accord" "tag" "0.1.0" "digest" "" "pullPolicy" "IfNotPresent") -}}
{{- $native := true -}}
{{- if hasKey . "native" -}}{{- $native = .native -}}{{- end -}}
- name: kv-accord-sidecar
  image: {{ include "kv-accord.image" (dict "image" $image "appVersion" "0.1.0") }}
  imagePullPolicy: {{ $image.pullPolicy }}
  {{- if $native }}
  restartPolicy: Always
  {{- end }}
  args:
    - sidecar
    - --engine={{ default "auto" .engine }}
    - --engine-kind={{ default "auto" .engineKind }}
    {{- with .model }}
    - --model={{ . }}
    {{- end }}
    {{- with .tokensPerBlock }}
    - --tokens-per-block={{ . }}
    {{- end }}
    {{- with .kvEventSources }}
    - --kv-event-sources={{ join "," . }}
    {{- end }}
    {{- with .kvReplaySources }}
    - --kv-replay-sources={{ join "," . }}
    {{- end }}
    - --listen=0.0.0.0:50061
    - --http-listen=0.0.0.0:9464
    {{- if .tlsSecretName }}
    - --tls-cert=/etc/kv-accord/tls/tls.crt
    - --tls-key=/etc/kv-accord/tls/tls.key
    - --tls-ca=/etc/kv-accord/tls/ca.crt
    - --tls-client-auth=require
    {{- else }}
    - --insecure
    {{- end }}
    {{- if .engineTlsCaSecretName }}
    - --engine-tls-ca=/etc/kv-accord/engine-tls-ca/ca.crt
    {{- end }}
    {{- range .extraArgs }}
    - {{ . | quote }}
    {{- end }}
  env:
    - name: POD_UID
      valueFrom:
        fieldRef:
          fieldPath: metadata.uid
    - name: NODE_NAME
      valueFrom:
        fieldRef:
          fieldPath: spec.nodeName
    - name: TOPOLOGY_ZONE
      valueFrom:
        fieldRef:
          fieldPath: metadata.labels['topology.kubernetes.io/zone']
    - name: TOPOLOGY_REGION
      valueFrom:
        fieldRef:
          fieldPath: metadata.labels['topology.kubernetes.io/region']
    - name: KV_ACCORD_GPU_CLIQUE
      valueFrom:
        fieldRef:
          fieldPath: metadata.labels['nvidia.com/gpu.clique']
    {{- with .extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - name: kva-grpc
      containerPort: 50061
    - name: kva-http
      containerPort: 9464
  # The sidecar's own health, never the engine's: that starts after it. The kubelet's gRPC probe speaks plaintext only.
  startupProbe:
    {{- if .tlsSecretName }}
    httpGet:
      path: /startupz
      port: kva-http
      scheme: HTTPS
    {{- else }}
    grpc:
      port: 50061
      service: kvaccord.v1.Capabilities
    {{- end }}
    periodSeconds: 1
    failureThreshold: 60
  livenessProbe:
    {{- if .tlsSecretName }}
    httpGet:
      path: /livez
      port: kva-http
      scheme: HTTPS
    {{- else }}
    grpc:
      port: 50061
      service: kvaccord.v1.Capabilities
    {{- end }}
    periodSeconds: 10
    failureThreshold: 3
  {{- if .readyWhenOffered }}
  readinessProbe:
    httpGet:
      path: /readyz?offered
      port: kva-http
      {{- if .tlsSecretName }}
      scheme: HTTPS
      {{- end }}
    periodSeconds: 2
  {{- end }}
  resources:
    {{- if .resources }}
    {{- toYaml .resources | nindent 4 }}
    {{- else }}
    requests:
      cpu: 50m
      memory: 128Mi
    limits:
      memory: 512Mi
    {{- end }}
  {{- $security := include "kv-accord.containerSecurity" . | fromYaml }}
  {{- range $field, $value := .securityContext }}
  {{- if kindIs "invalid" $value }}
  {{- $_ := unset $security $field }}
  {{- else }}
  {{- $_ := set $security $field $value }}
  {{- end }}
  {{- end }}
  securityContext:
    {{- toYaml $security | nindent 4 }}
  {{- if or .tlsSecretName .engineTlsCaSecretName .extraVolumeMounts }}
  volumeMounts:
    {{- if .tlsSecretName }}
    - name: kv-accord-tls
      mountPath: /etc/kv-accord/tls
      readOnly: true
    {{- end }}
    {{- if .engineTlsCaSecretName }}
    - name: kv-accord-engine-tls-ca
      mountPath: /etc/kv-accord/engine-tls-ca
      readOnly: true
    {{- end }}
    {{- with .extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* The volumes that go with it, given the same values; nothing without Secrets. */}}
{{- define "kv-accord.sidecarVolumes" -}}
{{- if .tlsSecretName }}
- name: kv-accord-tls
  secret:
    secretName: {{ .tlsSecretName }}
{{- end }}
{{- if .engineTlsCaSecretName }}
- name: kv-accord-engine-tls-ca
  secret:
    secretName: {{ .engineTlsCaSecretName }}
{{- end }}
{{- end }}
