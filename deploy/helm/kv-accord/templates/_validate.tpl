{{/* Refuses values that do not fit together, in words, before anything is changed in the cluster. */}}
{{- define "kv-accord.validate" -}}
{{- $workers := .Values.workers -}}
{{- $find := $workers.find -}}
{{- if and (eq $find "graph") (not $workers.graph) -}}
{{- fail "workers.find is graph, and workers.graph is empty: set it to the name of the DynamoGraphDeployment" -}}
{{- end -}}
{{- if and (ne $find "graph") $workers.graph -}}
{{- fail (printf "workers.graph is given, and workers.find is %s: set workers.find=graph, or remove workers.graph" $find) -}}
{{- end -}}
{{- if and (eq $find "targets") (not $workers.targets) -}}
{{- fail "workers.find is targets, and workers.targets is empty: list them, such as workers.targets={dns:///workers:50061}" -}}
{{- end -}}
{{- if and (ne $find "targets") $workers.targets -}}
{{- fail (printf "workers.targets is given, and workers.find is %s: set workers.find=targets, or remove workers.targets" $find) -}}
{{- end -}}
{{- if and (eq $find "targets") (eq (toString $workers.min) "auto") -}}
{{- fail "workers.min is auto, and workers.find is targets, which names no workload to count by: give a number, or find the workers by service, pods or graph" -}}
{{- end -}}
{{- if not $workers.labels -}}
{{- /* null takes a value out before the schema looks at it. */ -}}
{{- fail "workers.labels must have a label: without one, every pod of the namespace would be a worker" -}}
{{- end -}}
{{- if ne .Values.component "frontend" -}}
{{- range $name, $enabled := dict "ingress.enabled" .Values.ingress.enabled "httpRoute.enabled" .Values.httpRoute.enabled "tracing.endpoint" .Values.tracing.endpoint -}}
{{- if $enabled -}}
{{- fail (printf "%s is set, and component is %s: only the frontend serves requests" $name $.Values.component) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.epp.enabled (ne (include "kv-accord.workersNamespace" .) .Release.Namespace) -}}
{{- fail (printf "epp.enabled is true, and workers.namespace is %s: an InferencePool names a picker of its own namespace, so install this release there" .Values.workers.namespace) -}}
{{- end -}}
{{- if and .Values.epp.enabled (not .Values.epp.pool.create) (not .Values.epp.pool.name) -}}
{{- fail "epp.enabled is true, epp.pool.create is false, and epp.pool.name is empty: set it to the name of the InferencePool" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled is true, and httpRoute.parentRefs is empty: name the Gateway, such as httpRoute.parentRefs[0].name=public" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.enabled is true, and ingress.hosts is empty: give at least one, such as ingress.hosts[0].host=llm.example" -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas is %d, more than autoscaling.maxReplicas, which is %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- if and .enabled (not .targetCPUUtilizationPercentage) (not .targetMemoryUtilizationPercentage) (not .metrics) -}}
{{- fail "autoscaling.enabled is true, and nothing says by what: set autoscaling.targetCPUUtilizationPercentage or autoscaling.metrics" -}}
{{- end -}}
{{- end -}}
{{- /* A Deployment's selector is fixed. Without this the upgrade would fail after it has changed the Services. */ -}}
{{- $deployed := lookup "apps/v1" "Deployment" .Release.Namespace (include "kv-accord.fullname" .) -}}
{{- if $deployed -}}
{{- $labels := $deployed.spec.selector.matchLabels -}}
{{- $component := index $labels "app.kubernetes.io/component" -}}
{{- if and (eq (index $labels "app.kubernetes.io/instance" | default "") .Release.Name) $component (ne $component .Values.component) (ne .Values.component "none") -}}
{{- fail (printf "component cannot be changed from %s to %s in an upgrade, and nothing was changed: install component=%s as another release, and uninstall %s when it is no longer needed" $component .Values.component .Values.component .Release.Name) -}}
{{- end -}}
{{- end -}}
{{- end }}
