import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { workerName } from '../../core/text/worker-name.js';
import type { ViewDocument, ViewWorker } from '../../core/view/view-document.js';
import { askJson } from '../browser/ask.js';
import { STATE_ADVICE } from '../model/advice.js';
import { duration, fullNumber, percent, shortNumber } from '../model/format.js';
import { holdingOf, loadOf } from '../model/loads.js';
import { placeHash } from '../model/place.js';
import { Empty, Facts, Name, Section, Spark, Tone } from './parts.js';
import { history, holdingsById, loadsById, sampleCount } from './state.js';
import { Entries } from './timeline.js';
import { useAsked } from './use-asked.js';
import { type WorkerAnswer, WorkerReport } from './worker-report.js';

/** One worker: what it is, what it does, and why that is believed. */
export function WorkerView({
  document,
  target,
}: {
  readonly document: ViewDocument;
  readonly target: string;
}): JSX.Element {
  const worker = document.workers.find((each) => each.target === target);
  const back = (
    <p class="back">
      <a href={placeHash('fleet')}>← Fleet</a> <span class="dim">Esc</span>
    </p>
  );
  if (worker === undefined)
    return (
      <>
        {back}
        <Empty>
          No worker with the address <Name text={target} /> is listed now; the timeline says when it left.
        </Empty>
      </>
    );
  const entries = document.timeline.filter(({ workerNumber }) => workerNumber === worker.id).reverse();
  return (
    <>
      {back}
      <Head worker={worker} />
      <div class="columns">
        <Section title="Identity">
          <Facts
            facts={[
              ['model', <Name key="group" text={worker.group || 'not known yet'} />],
              ['address', <Name key="target" text={worker.target} />],
              ['worker id', worker.workerId === '' ? '' : <Name key="id" text={worker.workerId} />],
              ['instance', worker.instanceId === '' ? '' : <Name key="instance" text={worker.instanceId} />],
              ['engine', worker.engine === undefined ? '' : `${worker.engine} ${worker.engineVersion ?? ''}`],
              ['role', worker.role ?? ''],
              ['node', worker.node ?? ''],
              ['rack', worker.rack ?? ''],
              ['zone', worker.zone ?? ''],
              ['GPUs', worker.gpus ?? ''],
              ['NVLink fabric', worker.fabric ?? ''],
            ]}
          />
        </Section>
        <BlockSize worker={worker} />
        <CacheView worker={worker} />
        <Traffic worker={worker} />
      </div>
      <Report worker={worker} />
      <Section title="Timeline of this worker">
        <Entries entries={entries} nowMs={document.atMs} />
      </Section>
    </>
  );
}

function Head({ worker }: { readonly worker: ViewWorker }): JSX.Element {
  const advice = STATE_ADVICE[worker.shown];
  return (
    <section class={`headline ${worker.tone}`}>
      <strong class="verdict">
        <Tone tone={worker.tone} text={worker.shown} />
      </strong>
      <div class="lines">
        <h2>
          <Name text={workerName(worker)} />
        </h2>
        {worker.why === '' ? <p class="small">{advice?.means}</p> : <p>{worker.why}</p>}
        {worker.why === '' || advice === undefined || advice.todo === '' ? null : (
          <p class="small">{advice.todo}</p>
        )}
      </div>
      <span class="act plainly">
        requests: <b>{worker.requests}</b>
      </span>
    </section>
  );
}

function BlockSize({ worker }: { readonly worker: ViewWorker }): JSX.Element {
  const { tokensPerBlock, declaredTokensPerBlock, rehashedTokensPerBlock, source, evidence } = worker;
  return (
    <Section title="Block size">
      <p class="big">
        {tokensPerBlock === undefined ? 'not known' : <b>{tokensPerBlock}</b>}
        {tokensPerBlock === undefined ? '' : ' tokens per block'}
      </p>
      <Facts
        facts={[
          ['read from', source?.replaceAll('_', ' ') ?? ''],
          ['evidence', evidence === undefined || evidence === '' ? '' : <code key="raw">{evidence}</code>],
          [
            'declared',
            declaredTokensPerBlock === undefined ? (
              ''
            ) : (
              <Tone
                key="declared"
                tone="bad"
                text={`${declaredTokensPerBlock}: its engine has another size`}
              />
            ),
          ],
          [
            're-hashed into',
            rehashedTokensPerBlock === undefined ? '' : `${rehashedTokensPerBlock} by its sidecar`,
          ],
        ]}
      />
    </Section>
  );
}

function CacheView({ worker }: { readonly worker: ViewWorker }): JSX.Element {
  const { cacheView, cacheViewReason, canary, canaryReason } = worker;
  const row = loadsById.value.get(worker.id);
  const held = holdingsById.value.get(worker.id);
  const results = loadOf(row, 'results');
  const contradictions = loadOf(row, 'contradictions');
  return (
    <Section title="Cache view and its proof">
      <p class="big">{cacheView === undefined ? 'no index follows it' : <b>{cacheView}</b>}</p>
      <Facts
        facts={[
          ['why', cacheViewReason ?? ''],
          [
            'proof by results',
            results === 0 ? (
              'no result yet'
            ) : (
              <Tone
                key="proof"
                tone={contradictions === 0 ? 'good' : 'warn'}
                text={`${fullNumber(contradictions)} of ${fullNumber(results)} results contradict it`}
              />
            ),
          ],
          ['predicted', results === 0 ? '' : `${fullNumber(loadOf(row, 'predictedTokens'))} cached tokens`],
          ['reported', results === 0 ? '' : `${fullNumber(loadOf(row, 'reportedTokens'))} cached tokens`],
          [
            'differences',
            results === 0
              ? ''
              : `${fullNumber(loadOf(row, 'overTokens'))} predicted too many, ${fullNumber(loadOf(row, 'underTokens'))} too few`,
          ],
          [
            'blocks held',
            held === undefined
              ? ''
              : `${fullNumber(holdingOf(held, 'deviceBlocks'))} device, ${fullNumber(holdingOf(held, 'hostBlocks'))} host, ${fullNumber(holdingOf(held, 'diskBlocks'))} disk, ${fullNumber(holdingOf(held, 'externalBlocks'))} external`,
          ],
          ['canary', canary === undefined ? '' : `${canary}${canaryReason ? `: ${canaryReason}` : ''}`],
        ]}
      />
    </Section>
  );
}

function Traffic({ worker }: { readonly worker: ViewWorker }): JSX.Element {
  // Read, so that rates follow each sample.
  sampleCount.value;
  const row = loadsById.value.get(worker.id);
  const rates = history.ratesOf(worker.id);
  const firstTokens = loadOf(row, 'firstTokens');
  const rate = (value: number | undefined): string =>
    value === undefined ? '' : `, ${shortNumber(value)} per second`;
  return (
    <Section title="Load and requests">
      <p class="big">
        <b>{fullNumber(loadOf(row, 'activeRequests'))}</b> active
        <Spark values={history.curveOf(worker.id, 'decisions')} />
      </p>
      <Facts
        facts={[
          ['active blocks', fullNumber(loadOf(row, 'activeBlocks'))],
          ['prefilling', `${fullNumber(loadOf(row, 'prefillingTokens'))} tokens`],
          ['requests', `${fullNumber(loadOf(row, 'decisions'))}${rate(rates?.requests)}`],
          ['prompt tokens', `${shortNumber(loadOf(row, 'promptTokens'))}${rate(rates?.promptTokens)}`],
          ['output tokens', `${shortNumber(loadOf(row, 'outputTokens'))}${rate(rates?.outputTokens)}`],
          ['cached', percent(loadOf(row, 'reportedTokens'), loadOf(row, 'promptTokens'))],
          [
            'first token',
            firstTokens === 0 ? '' : `${duration(loadOf(row, 'firstTokenMs') / firstTokens)} on average`,
          ],
          ['failed requests', fullNumber(loadOf(row, 'failedRequests'))],
          ['ejections', fullNumber(loadOf(row, 'ejections'))],
        ]}
      />
    </Section>
  );
}

/** Asks for the worker's report, and again after each start of its engine. */
function Report({ worker }: { readonly worker: ViewWorker }): JSX.Element {
  const [answer, setAnswer] = useState<WorkerAnswer | undefined>(undefined);
  const key = `${worker.id} ${worker.instanceId} ${worker.shown}`;
  const problem = useAsked(key, async (isWanted) => {
    const got = await askJson<WorkerAnswer>(`view/workers/${worker.id}`);
    if (isWanted()) setAnswer(got);
  });
  if (problem !== '') return <Empty>Its report cannot be read: {problem}</Empty>;
  if (answer === undefined) return <Empty>Its report is being read.</Empty>;
  return <WorkerReport answer={answer} worker={worker} />;
}
