import { followFleet } from '../../../src/app/follow-fleet.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import type { Catalogue } from '../../../src/fleet/catalogue/catalogue.js';
import { EngineAsker } from '../../../src/frontend/engine-access/engine-asker.js';
import { isOnSidecarsHost } from '../../../src/frontend/engine-access/key-hosts.js';
import { EndpointBook } from '../../../src/frontend/picker/endpoints/endpoint-book.js';
import type { PickerOptions } from '../../../src/frontend/picker/picker.js';
import { createTokenSource } from '../../../src/frontend/tokens/token-source.js';
import type { Stage } from '../../../src/tools/demo/stage.js';
import { type Gateway, PickerHarness } from '../../frontend/picker/picker-harness.js';
import type { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';

/** What a client of a played gateway got, and what the picker said of its request. */
export interface GatewayAnswer {
  readonly status: number;
  readonly text: string;
  /** Headers that the picker set. */
  readonly set: Readonly<Record<string, string>>;
  readonly removed: readonly string[];
}

/** A picker over the real parts of an aggregator on a stage, and a gateway in front of it that is played. */
export interface PickerOverStage {
  readonly harness: PickerHarness;
  /** What is served now. */
  catalogue(): Catalogue;
  /** One request from the client to the engine and back. `leaveAfterHead`: the client goes when the answer begins. */
  ask(
    body: Readonly<Record<string, unknown>>,
    options?: { readonly headers?: Readonly<Record<string, string>>; readonly leaveAfterHead?: boolean },
  ): Promise<GatewayAnswer>;
}

/** Brings it up; `given`: where workers are asked, by their names, in place of what they report. */
export async function pickerOverStage(
  stage: Stage,
  given: ReadonlyMap<string, string>,
  open: OpenThings,
  options: Partial<PickerOptions> = {},
): Promise<PickerOverStage> {
  const { aggregator } = stage;
  const clock = systemClock;
  const logger = new RecordingLogger();
  let catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  open.add(
    followFleet(aggregator.fleet, given, { logger }, (served) => {
      catalogue = served.catalogue;
    }),
  );
  const tokens = await createTokenSource({ tokenizer: 'engine', engineTimeoutMs: 5_000 }, { clock, logger });
  open.add(() => tokens.close());
  const engines = new EngineAsker({ mayHaveKeys: isOnSidecarsHost }, { clock });
  open.add(() => engines.close());
  const harness = new PickerHarness(options, {
    clock,
    logger,
    catalogue: () => catalogue,
    endpoints: () => new EndpointBook(catalogue, new Map()),
    routing: aggregator.routing,
    tokens,
    engines,
  });
  open.add(() => harness.picker.drain(0));
  await harness.start();
  return {
    harness,
    catalogue: () => catalogue,
    ask: async (body, { headers = {}, leaveAfterHead = false } = {}) => {
      const stream = harness.open();
      const asked = { model: 'demo-model', max_tokens: 4, ...body };
      stream.head(headers).body(asked);
      await stream.until(2);
      const { refusal, set, removed } = stream;
      if (refusal !== undefined)
        return { status: refusal.status, text: JSON.stringify(refusal.body), set, removed };
      const answer = await fetch(
        `http://${set['x-gateway-destination-endpoint']?.split(',')[0]}/v1/completions`,
        {
          method: 'POST',
          headers: headersAfter(headers, stream),
          body: JSON.stringify(asked),
        },
      );
      stream.answerHead({
        ':status': String(answer.status),
        'content-type': answer.headers.get('content-type') ?? '',
        'x-envoy-upstream-service-time': '1',
      });
      if (leaveAfterHead) {
        stream.call.cancel();
        await stream.ended();
        await answer.body?.cancel();
        return { status: answer.status, text: '', set, removed };
      }
      const text = await answer.text();
      stream.answerBody(text);
      stream.call.end();
      await stream.ended();
      return { status: answer.status, text, set, removed };
    },
  };
}

/** The headers of a request as the endpoint gets them. */
function headersAfter(sent: Readonly<Record<string, string>>, { set, removed }: Gateway): Headers {
  const headers = new Headers({ ...sent, 'content-type': 'application/json' });
  for (const name of removed) headers.delete(name);
  for (const [name, value] of Object.entries(set)) if (name !== 'content-length') headers.set(name, value);
  return headers;
}
