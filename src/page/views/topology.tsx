import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { countOf } from '../../core/text/lists.js';
import type { ViewDocument } from '../../core/view/view-document.js';
import { askJson } from '../browser/ask.js';
import { fullNumber } from '../model/format.js';
import { type FabricDomain, fabricsOf } from '../model/hosts.js';
import { placedWorkers, type TopologyAnswer } from '../model/placed-workers.js';
import { pairsOf } from '../model/role-pairs.js';
import { GroupChoice } from './group-choice.js';
import { HostCard, LinkLegend } from './host-card.js';
import { PairStates } from './pair-states.js';
import { Empty, Section } from './parts.js';
import { RolePairsView } from './role-pairs-view.js';
import { SearchField } from './search-field.js';
import { place } from './state.js';
import { useAsked } from './use-asked.js';
import { usePairs } from './use-pairs.js';

/** Hosts that are drawn before the reader asks for more. */
const HOSTS_SHOWN = 12;
/** Answers that are read: 100 workers each. */
const MAX_ANSWERS = 100;

/** Machines with their GPUs and links, by NVLink fabric; and pairs of prefill and decode. */
export function TopologyView({ document }: { readonly document: ViewDocument }): JSX.Element {
  const { parameters } = place.value;
  const group = parameters['group'] ?? '';
  const text = (parameters['text'] ?? '').toLowerCase();
  const [answers, setAnswers] = useState<readonly TopologyAnswer[]>([]);
  // Reports change seldom: they are read again when a worker comes, goes or starts again.
  const key = document.workers.map(({ id, instanceId }) => `${id} ${instanceId}`).join();
  const problem = useAsked(key, async (isWanted) => {
    const got: TopologyAnswer[] = [];
    let from = '';
    do {
      const answer: TopologyAnswer = await askJson(`view/topology${from}`);
      if (!isWanted()) return;
      got.push(answer);
      setAnswers([...got]);
      from = answer.next === undefined ? '' : `?from=${answer.next}`;
    } while (from !== '' && got.length < MAX_ANSWERS);
  });
  const workers = placedWorkers(answers, document.workers).filter(
    (worker) => group === '' || worker.group === group,
  );
  const fabrics = fabricsOf(workers)
    .map(({ name, hosts }) => ({
      name,
      hosts: hosts.filter(
        (host) =>
          text === '' ||
          [host.name, host.rack, host.zone, host.fabric, ...host.workers.map((worker) => worker.name)]
            .join(' ')
            .toLowerCase()
            .includes(text),
      ),
    }))
    .filter(({ hosts }) => hosts.length > 0);
  const pairs = pairsOf(workers);
  const judged = usePairs(document.workers.some(({ role }) => role === 'prefill' || role === 'decode'));
  const judgedGroups = judged.groups.filter((each) => group === '' || each.group === group);
  return (
    <>
      <GroupChoice groups={document.models.map((model) => model.group)} chosen={group} />
      <div class="toolbar" role="search">
        <SearchField placeholder="Search nodes, racks, workers" label="Search nodes, racks, workers" />
        <LinkLegend />
      </div>
      {problem === '' ? null : <Empty>The topology cannot be read: {problem}</Empty>}
      {fabrics.length === 0 && problem === '' ? <Empty>No worker has reported what it runs on.</Empty> : null}
      {judged.problem === '' ? null : <Empty>The pairs cannot be read: {judged.problem}</Empty>}
      {judgedGroups.map((each) => (
        <PairStates key={each.group} pairs={each} />
      ))}
      {pairs.map((each) => (
        <RolePairsView key={each.group} pairs={each} />
      ))}
      {fabrics.map((fabric) => (
        <Fabric key={fabric.name} fabric={fabric} />
      ))}
    </>
  );
}

function Fabric({ fabric: { name, hosts } }: { readonly fabric: FabricDomain }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  // Machines of which something is known come first.
  const sorted = [...hosts].sort((a, b) => Number(a.gpus.length === 0) - Number(b.gpus.length === 0));
  const shown = isOpen ? sorted : sorted.slice(0, HOSTS_SHOWN);
  const gpus = hosts.reduce((sum, host) => sum + host.gpus.length, 0);
  return (
    <Section
      title={name === '' ? 'Hosts without an NVLink fabric between them' : `NVLink fabric ${name}`}
      note={`${countOf(hosts.length, 'host')}, ${countOf(gpus, 'GPU')}`}
    >
      <div class={name === '' ? 'hosts' : 'hosts fabric'}>
        {shown.map((host) => (
          <HostCard key={`${host.name} ${host.workers[0]?.id}`} host={host} />
        ))}
      </div>
      {sorted.length > HOSTS_SHOWN ? (
        <button type="button" class="link" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show fewer' : `Show ${fullNumber(sorted.length - HOSTS_SHOWN)} more hosts`}
        </button>
      ) : null}
    </Section>
  );
}
