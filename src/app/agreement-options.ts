import type { AgreementOptions } from '../core/agreement/state/options.js';

/** How an operator wants a fleet to agree; what is left out of `AgreementOptions` follows from the command. */
export interface AgreementSettings
  extends Pick<
    AgreementOptions,
    | 'minWorkers'
    | 'onMissing'
    | 'collectTimeoutMs'
    | 'settleMs'
    | 'graceMs'
    | 'topology'
    | 'tokenProbes'
    | 'frontendUses'
    | 'pairPolicy'
  > {
  /** A block size in tokens that holds whatever the workers report; undefined takes theirs. */
  readonly kvCacheBlockSize: number | undefined;
  /** Default: `load-only` under `kvCacheBlockSize`, else `quarantine`. */
  readonly mismatchedWorkers: AgreementOptions['mismatchedWorkers'] | undefined;
  /** Left out where the frontend has an index of its own, which knows nothing of re-hashed blocks. Default `refuse`. */
  readonly blockSizePolicy?: AgreementOptions['blockSizePolicy'];
}

/** The rules of a fleet's agreement. `isStaticDiscovery`: the list of workers never changes. */
export function agreementOptionsOf(
  settings: AgreementSettings,
  rest: Pick<AgreementOptions, 'onChange' | 'kvEvents' | 'isStaticDiscovery'>,
): AgreementOptions {
  const { kvCacheBlockSize } = settings;
  return {
    minWorkers: settings.minWorkers,
    onMissing: settings.onMissing,
    collectTimeoutMs: settings.collectTimeoutMs,
    settleMs: settings.settleMs,
    graceMs: settings.graceMs,
    overrideTokensPerBlock: kvCacheBlockSize,
    blockSizePolicy: settings.blockSizePolicy ?? 'refuse',
    mismatchedWorkers:
      settings.mismatchedWorkers ?? (kvCacheBlockSize === undefined ? 'quarantine' : 'load-only'),
    topology: settings.topology,
    tokenProbes: settings.tokenProbes,
    pairPolicy: settings.pairPolicy,
    checksSideChannels: true,
    frontendUses: settings.frontendUses,
    ...rest,
  };
}
