import type { SideChannelForm } from '../descriptor/engine-descriptor.js';

/**
 * The versions whose listener takes a form (`nixl/base_scheduler.py`, `_nixl_handshake_listener`). It unpacks exactly three
 * values, two in versions before: a message of another shape ends its thread, the engine stays healthy, and no transfer
 * from it succeeds until it is restarted. So only releases that were tried or whose source was read are here, and no builds
 * between them. 0.32.0 and 0.33.0 were tried. Their listeners unpack the same three values and send the same
 * `NixlHandshakePayload`; its hash covers the same fields, of which the connector's version went from 14 to 15
 * (`nixl/metadata.py`), so that 0.32 and 0.33 refuse each other.
 */
const FORMS: readonly { readonly versions: RegExp; readonly form: SideChannelForm }[] = [
  { versions: /^0\.3[23]\.\d{1,3}(?:\+[\w.]+)?$/, form: 'nixl-3' },
];

/** How a vLLM's side channel is asked; undefined where that is not known for sure. */
export function vllmSideChannelForm(connector: string, version: string): SideChannelForm | undefined {
  if (connector !== 'nixl') return undefined;
  return FORMS.find(({ versions }) => versions.test(version))?.form;
}
