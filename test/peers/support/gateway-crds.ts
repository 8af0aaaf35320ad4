import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Kube } from './kube.js';

/** Names of the definitions in `test/fixtures/gateway-crds`. */
type GatewayCrd =
  | 'inferencepools-v1'
  | 'inferencepools-v1alpha2'
  | 'inferenceobjectives-v1alpha2'
  | 'httproutes';

/** The real definition of a kind of the Gateway API or of its Inference Extension. */
function gatewayCrd(name: GatewayCrd): object {
  const file = new URL(`../../fixtures/gateway-crds/${name}.yaml`, import.meta.url);
  return parse(readFileSync(file, 'utf8')) as object;
}

/** Installs definitions, and waits until the API server serves them. */
export async function installGatewayCrds(kube: Kube, ...names: readonly GatewayCrd[]): Promise<void> {
  await kube.apply(names.map(gatewayCrd));
  const { status, stderr } = await kube.kubectl([
    ...['wait', '--for=condition=established', '--timeout=30s', 'crd', '--all'],
  ]);
  if (status !== 0) throw new Error(stderr);
}
