{{/* Names, labels, the image. */}}

{{- define "barnabas.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "barnabas.fullname" -}}
{{- $name := include "barnabas.name" . -}}
{{- $default := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $default .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "barnabas.host" -}}
{{- printf "%s.%s.svc.%s" (include "barnabas.fullname" .) .Release.Namespace .Values.clusterDomain -}}
{{- end -}}

{{- define "barnabas.selector" -}}
app.kubernetes.io/name: {{ include "barnabas.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "barnabas.labels" -}}
{{- $own := dict "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version) "app.kubernetes.io/version" .Chart.AppVersion "app.kubernetes.io/managed-by" .Release.Service -}}
{{- merge (include "barnabas.selector" . | fromYaml) $own .Values.commonLabels | toYaml -}}
{{- end -}}

{{/* The metadata of an object: a list of the context, the name, and annotations of its own. */}}
{{- define "barnabas.metadata" -}}
{{- $context := index . 0 -}}
metadata:
  name: {{ index . 1 }}
  namespace: {{ $context.Release.Namespace }}
  labels:
    {{- include "barnabas.labels" $context | nindent 4 }}
{{- with merge (dict) (index . 2) $context.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}

{{- define "barnabas.image" -}}
{{- with .Values.image -}}
{{- $path := empty .registry | ternary .repository (printf "%s/%s" .registry .repository) -}}
{{- empty .digest | ternary (printf "%s:%v" $path .tag) (printf "%s@%s" $path .digest) -}}
{{- end -}}
{{- end -}}
