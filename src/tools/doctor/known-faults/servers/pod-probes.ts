import type { KnownFault } from '../known-fault.js';

/** Events of kubelets about containers of engines, routers and pickers that are probed. */
export const POD_PROBES: readonly KnownFault[] = [
  {
    id: 'pod_startup_probe',
    cause: 'program_ended',
    needles: ['failed startup probe, will be restarted'],
    pattern: /Container (\S{1,80}) failed startup probe/,
    says: 'Kubernetes restarts $1 before it has started: its startup probe ran out of time',
    why: 'An engine loads weights, compiles and captures graphs for minutes, longer than failureThreshold times periodSeconds of its probe. It begins again each time, and never gets ready.',
    cure: 'Raise startupProbe.failureThreshold of $1 to 120 with periodSeconds: 30 (an hour), at /health of the port of the engine',
    commands: ['kubectl get pod POD -o yaml | grep -A10 startupProbe'],
  },
  {
    id: 'pod_liveness_probe',
    cause: 'program_ended',
    needles: ['failed liveness probe, will be restarted'],
    pattern: /Container (\S{1,80}) failed liveness probe/,
    follows: ['pod_liveness_too_early', 'pod_probe_path_missing'],
    says: 'Kubernetes restarts $1: its liveness probe failed',
    why: 'An engine that is busy (long prefills, no CPU for its API server) or hangs does not answer in timeoutSeconds; the restart loses its KV cache and ends its transfers.',
    cure: 'Raise timeoutSeconds (10) and failureThreshold (6) of the livenessProbe of $1, give it more CPU, and read what it did before: kubectl logs POD --previous',
    commands: ['kubectl logs POD -c $1 --previous --tail=50'],
  },
  {
    id: 'pod_liveness_too_early',
    cause: 'program_ended',
    needles: ['Liveness probe failed: '],
    // Three in a row end a container by default; what ended by itself is refused once or twice while it comes back.
    pattern:
      /\(x(?:[3-9]|\d{2,6}) over .{1,200}Liveness probe failed: .{1,200}(?:connection refused|could not connect|failed to connect)/,
    follows: ['pod_startup_probe'],
    says: 'Kubernetes restarts a container whose port is not open yet: its liveness probe begins before the program serves',
    why: 'An engine opens its port when its weights are loaded and its graphs are captured, after minutes. A liveness probe that is refused until then ends it each time, and it begins again.',
    cure: 'Give the container a startupProbe on the same path and port (failureThreshold: 120, periodSeconds: 30): the livenessProbe waits for it. Where the program does serve, set the port of the probes to its --port, with --host 0.0.0.0',
    commands: ['kubectl get pod POD -o yaml | grep -A10 -E "startupProbe|livenessProbe"'],
  },
  {
    id: 'pod_probe_path_missing',
    cause: 'program_ended',
    needles: ['probe failed: HTTP probe failed with statuscode: 404'],
    pattern: /(Liveness|Readiness|Startup) probe failed: HTTP probe/,
    says: 'a $1 probe of Kubernetes asks for a path that the program does not have (404): the pod is ended, or never gets ready',
    why: 'The path or the port of the probe is of another program or release: vLLM, SGLang, their simulators and routers have /health (llm-d-inference-sim from 0.1.2 on), Triton /v2/health/ready, Ray Serve /-/healthz.',
    cure: 'Set httpGet of the probe to a path that the program has (path: /health, port: that of its --port), or run a release that has it; curl inside the pod shows which',
    commands: [
      'kubectl exec POD -- sh -c \'curl -s -o /dev/null -w "%{http_code}\\n" localhost:8000/health\'',
    ],
  },
  {
    id: 'engine_ended_while_starting',
    cause: 'program_ended',
    needles: ['KeyboardInterrupt: terminated'],
    isSign: true,
    // Somebody who watches a start ends it, too.
    mayBeMeant: true,
    follows: ['pod_startup_probe', 'pod_liveness_too_early'],
    says: 'an engine got SIGTERM while it was still starting: of its probe, where it runs on Kubernetes',
    why: 'A startup, liveness or readiness probe with a failureThreshold below the time that the model takes to load ends the container, which then begins again.',
    cure: 'Raise failureThreshold of its startupProbe (120 with periodSeconds: 30 is an hour); kubectl get events has "failed startup probe, will be restarted" where this is it',
    commands: ['kubectl get events --sort-by=.lastTimestamp | grep -i probe'],
  },
];
