import { call } from './grpcurl.js';
import type { Served } from './kv-accord.js';
import { until } from './until.js';

/** A report as grpcurl prints it; the fields that the tests look at. 64-bit integers are strings. */
export interface PrintedReport {
  readonly workerId: string;
  readonly instanceId: string;
  readonly revision: string;
  readonly engine?: {
    readonly kind: string;
    readonly version?: string;
    readonly state: string;
    readonly apis?: readonly string[];
  };
  readonly model?: { readonly servedNames?: readonly string[]; readonly tokenProbes?: readonly unknown[] };
  readonly contract?: {
    readonly tokensPerBlock?: number;
    readonly hashUnit?: string;
    readonly dropsLastHitBlock?: boolean;
  };
  readonly blockSizes?: readonly { readonly kind: string; readonly sizeTokens: number }[];
  readonly evidence?: readonly {
    readonly field: string;
    readonly source: string;
    readonly origin: string;
    readonly raw: string;
  }[];
  readonly conflicts?: readonly { readonly field: string; readonly otherValue: string }[];
  readonly kvEventSources?: readonly { readonly endpoint: string; readonly replayEndpoint?: string }[];
  readonly completeness: { readonly state: string; readonly reasons?: readonly string[] };
  readonly digest?: string;
  readonly transfer?: {
    readonly connector?: string;
    readonly role?: string;
    readonly mode?: string;
    readonly engineId?: string;
    readonly compatibilityHash?: string;
    readonly tokensPerBlock?: number;
    readonly blockLayout?: string;
    readonly dtype?: string;
    readonly kvCacheDtype?: string;
    readonly attentionBackend?: string;
    readonly sideChannels?: readonly Readonly<Record<string, string | number>>[];
  };
  readonly canary?: {
    readonly state: string;
    readonly reason?: string;
    readonly results?: readonly Readonly<Record<string, string | number>>[];
  };
}

/** The sidecar's report as `grpcurl -plaintext HOST:PORT kvaccord.v1.Capabilities/GetCapabilities` prints it. */
async function reportOf(sidecar: Served): Promise<PrintedReport> {
  const { report } = await call<{ report: PrintedReport }>(
    sidecar.grpcPort,
    'kvaccord.v1.Capabilities/GetCapabilities',
  );
  return report;
}

/** Waits for a report that fits; asks no more than a few times a second. */
export async function reportThat(
  sidecar: Served,
  what: string,
  fits: (report: PrintedReport) => boolean,
): Promise<PrintedReport> {
  let last: PrintedReport | undefined;
  try {
    return await until(
      `a report of ${sidecar.program.name} ${what}`,
      async () => {
        last = await reportOf(sidecar);
        return fits(last) ? last : false;
      },
      { needs: [sidecar.program] },
    );
  } catch (error) {
    throw new Error(`the last report was ${JSON.stringify(last, undefined, 2)}`, { cause: error });
  }
}

/** Waits for a complete report. */
export function completeReport(sidecar: Served): Promise<PrintedReport> {
  return reportThat(
    sidecar,
    'that is complete',
    ({ completeness }) => completeness.state === 'STATE_COMPLETE',
  );
}

/** Where the block size of a report came from. */
export function sizeEvidence(
  report: PrintedReport,
): NonNullable<PrintedReport['evidence']>[number] | undefined {
  return report.evidence?.find(({ field }) => field === 'contract.tokens_per_block');
}
