import { describe, expect, it } from 'vitest';
import { pickerConfig } from '../../../../src/tools/doctor/fixes/picker-config.js';
import { pickerRefusalText } from '../../../../src/tools/doctor/logs/general/picker-config-errors.js';

const CREATED =
  "failed to load the configuration - plugin instantiation failed: failed to create plugin 'a' (type: b-scorer): ";

const REFUSED: readonly (readonly [error: string, says: string])[] = [
  [
    `${CREATED}failed to parse the parameters of the 'by-label' filter - json: cannot unmarshal string into Go struct field byLabelParameters.validValues of type []string`,
    'Write validValues as a list ([a, b]) in the parameters of b-scorer (a), under plugins of the EndpointPickerConfig',
  ],
  [
    "failed to load the configuration - failed to instantiate plugins - failed to instantiate the plugin type 'prefix-cache-scorer' - failed to parse the parameters of the prefix-cache-scorer plugin. Error: json: cannot unmarshal string into Go struct field Config.hashBlockSize of type int",
    'Write hashBlockSize as a number without quotes in the parameters of prefix-cache-scorer, under plugins of the EndpointPickerConfig',
  ],
  [
    `${CREATED}header-label-affinity-scorer headerName is required`,
    'Set headerName in the parameters of b-scorer (a), under plugins of the EndpointPickerConfig: it has no default',
  ],
  [
    `${CREATED}nonCachedTokens parameter of prefix disaggregation decider cannot be negative`,
    'Correct nonCachedTokens in the parameters of b-scorer (a), under plugins of the EndpointPickerConfig: it cannot be negative',
  ],
  [
    'failed to load the configuration - there must be at least one scheduling profile in the configuration',
    'Add schedulingProfiles: [{ name: default, plugins: [{ pluginRef: NAME }, …] }] with the names under plugins to the EndpointPickerConfig',
  ],
  [
    'failed to load the configuration - failed to decode configuration JSON/YAML: error converting YAML to JSON: yaml: line 7: mapping values are not allowed in this context',
    'Correct the YAML of the EndpointPickerConfig at line 7 and the one above it (line 7: mapping values are not allowed in this context): spaces for indentation, text with ": " in quotes',
  ],
  [
    'failed to load the configuration - failed to load flow control config: failed to create registry config: plugin "round-robin" not found',
    'Add round-robin under plugins of the EndpointPickerConfig ({ type: round-robin }), or correct the section that refers to it',
  ],
];

describe('what an endpoint picker refuses of its configuration', () => {
  it.each(REFUSED)('%s', (error, says) => {
    expect(pickerConfig(pickerRefusalText(`: ${error}`)).says).toBe(says);
  });

  it('is said without what the loader wraps around it', () => {
    expect(pickerRefusalText(`: ${CREATED}invalid config: ttftSource must be "a" or "b", got "c"`)).toBe(
      'EndpointPickerConfig, plugin b-scorer (a): ttftSource must be "a" or "b", got "c"',
    );
  });

  it('are arguments, of the picker and of the sidecar', () => {
    expect(
      pickerConfig(
        'Failed to validate flags: both the "pool-name" and "endpoint-selector" flags can not be set at the same time',
      ).says,
    ).toContain('with one of --pool-name and --endpoint-selector, without the other');
    expect(
      pickerConfig('Failed to validate flags: invalid tls-min-version "1.1": unknown TLS version').says,
    ).toContain('Correct --tls-min-version of the endpoint picker');
    expect(
      pickerConfig(
        "llm-d's sidecar: --inference-pool must be in format 'namespace/name' or 'name', not multiple slashes",
      ).says,
    ).toContain('Correct --inference-pool of the sidecar: it must be in format');
    expect(
      pickerConfig("llm-d's sidecar: flags --configuration and --configuration-file are mutually exclusive")
        .says,
    ).toContain('with one of --configuration and --configuration-file');
  });
});
