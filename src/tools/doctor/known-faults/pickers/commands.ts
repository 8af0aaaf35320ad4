/** Commands that rows of pickers share. */

/** What the endpoint picker was configured with. */
export const SHOW_PICKER_CONFIG =
  "kubectl get cm -o yaml | grep -A40 'kind: EndpointPickerConfig'    # its plugins and profiles";

/** How llm-d's sidecar was started. */
export const SHOW_SIDECAR =
  "kubectl get pod DECODE -o yaml | grep -nE -A12 'routing-proxy|disagg-sidecar|pd-sidecar'    # arguments of the sidecar";
