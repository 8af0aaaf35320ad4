import { TRTLLM_DEFAULT_TOKENS } from '../../../../engines/trtllm/default-sizes.js';
import { askedWorkers, twinsOf } from '../facts/asked-workers.js';
import { type Fleet, namesOf } from '../facts/fleet.js';
import { dividesBlocks } from '../facts/picker-sockets.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { replaceNumber } from '../fixes/fixes.js';
import { type DisaggregatedServers, type Gateway, type Launch, nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, numberOf } from '../launches/settings.js';
import { sizesOf } from './worker-sizes.js';

/** Block sizes of routers of others, and of the workers that they may have. */
export function gatewayMismatches(rule: Rule, fleet: Fleet): readonly Finding[] {
  return fleet.gateways.flatMap((launch) => {
    const { gateway } = launch;
    if (launch.program === 'smg') return smgAndWorkers(rule, launch, fleet);
    if (gateway === undefined) return [];
    return gateway.kind === 'trtllm-disaggregated'
      ? disaggregated(rule, launch, gateway, fleet)
      : pickerAndWorkers(rule, launch, gateway, fleet);
  });
}

/** The one size of all workers that a router of others may have; undefined where they differ, where none is written, or where one's is in a place that is not seen. */
function oneSize(
  fleet: Fleet,
  router: Launch,
): { readonly tokens: number; readonly sized: readonly WorkerFacts[] } | undefined {
  const plain = askedWorkers(fleet, router);
  if (plain.some(({ unseen }) => unseen !== undefined)) return undefined;
  const sized = plain.filter(({ size }) => size?.setting !== undefined);
  const [tokens, ...others] = [...new Set(sized.map(({ size }) => size?.tokens))];
  return tokens === undefined || others.length > 0 ? undefined : { tokens, sized };
}

/** llm-d's picker. Which of several it is for is not in the files: then nothing is said. */
function pickerAndWorkers(rule: Rule, launch: Launch, gateway: Gateway, fleet: Fleet): readonly Finding[] {
  const { blockSize, defaultBlockSize, release } = gateway;
  const known = oneSize(fleet, launch);
  const pickers = fleet.gateways.filter((one) => one.gateway?.defaultBlockSize !== undefined);
  const own = blockSize === undefined ? defaultBlockSize : numberOf(blockSize);
  if (own !== undefined && known === undefined && pickers.length === 1)
    return oddWorkers(rule, launch, { gateway, own }, fleet);
  if (own === undefined || known === undefined || pickers.length > 1 || own === known.tokens) return [];
  const { tokens, sized } = known;
  const divides = dividesBlocks(gateway);
  // Blocks of events are split into smaller ones, and that works.
  if (divides === true && tokens % own === 0) return [];
  const setting = blockSize?.name ?? 'blockSize';
  return [
    findingAt(rule, blockSize?.span ?? launch.at, {
      severity: divides === false ? 'error' : 'warning',
      message: `${launch.program} uses a block size of ${own} tokens (${blockSize === undefined ? 'the default' : setting}), and ${namesOf(sized)} ${tokens}`,
      consequence: differingBlocks(divides, own, tokens, release?.text),
      advice: `Set ${setting} to ${tokens}, as the workers have it.`,
      fix:
        blockSize === undefined
          ? undefined
          : replaceNumber(blockSize, tokens, `Set ${setting} to ${tokens}, as the workers have it`),
      related: sizesOf(sized),
    }),
  ];
}

/** What a picker makes of events with blocks of another size. */
function differingBlocks(
  divides: boolean | undefined,
  own: number,
  tokens: number,
  release: string | undefined,
): string {
  const skips = `every KV event with fewer than ${own} tokens, and all that follow from it`;
  if (divides === true)
    return `It skips ${skips}: it knows only a part of what workers hold, and says nothing of it.`;
  if (divides === false)
    return `The picker ${release ?? ''} takes no KV event whose blocks are of another size: it finds no block of any worker, and its debug log alone says so. Requests go by its other scorers.`;
  return `Up to 0.8 the picker takes no such KV event: it finds no block of any worker, and its debug log alone says so. From 0.9 on it ${tokens % own === 0 ? 'divides the blocks, and nothing is lost' : `skips ${skips}`}.`;
}

/** Of workers of one model those that do not fit the picker, where others do. */
function oddWorkers(
  rule: Rule,
  picker: Launch,
  { gateway, own }: { readonly gateway: Gateway; readonly own: number },
  fleet: Fleet,
): readonly Finding[] {
  const fits = ({ size }: WorkerFacts): boolean =>
    size?.setting !== undefined &&
    (dividesBlocks(gateway) === true ? size.tokens % own === 0 : size.tokens === own);
  const workers = askedWorkers(fleet, picker);
  return workers.flatMap((worker) => {
    const { launch, size } = worker;
    const right = twinsOf(worker, workers).filter(fits);
    const wanted = right[0]?.size?.tokens;
    if (size?.setting === undefined || wanted === undefined || fits(worker)) return [];
    return [
      findingAt(rule, size.setting.span, {
        severity: 'warning',
        message: `${nameOf(launch)} has a block size of ${size.tokens} tokens (${size.setting.name}), and ${picker.program} uses ${own}, as ${namesOf(right)} does, which serves the same model`,
        consequence: `The picker knows nothing, or only a part, of what this worker holds, and says nothing of it: requests go to the others.`,
        advice: `Set ${size.setting.name} to ${wanted}, as the others have it.`,
        fix: replaceNumber(
          size.setting,
          wanted,
          `Set ${size.setting.name} to ${wanted}, as the others have it`,
        ),
        related: sizesOf(right),
      }),
    ];
  });
}

/** smg takes the size of events; its own is for the time before the first one. */
function smgAndWorkers(rule: Rule, launch: Launch, fleet: Fleet): readonly Finding[] {
  const setting = flagOf(launch, '--block-size');
  const known = oneSize(fleet, launch);
  const own = numberOf(setting);
  // It starts the small router of Python in its place, which looks at no blocks.
  if (flagOf(launch, '--mini-lb') !== undefined) return [];
  if (setting === undefined || own === undefined || known === undefined || own === known.tokens) return [];
  const { tokens, sized } = known;
  return [
    findingAt(rule, setting.span, {
      severity: 'note',
      message: `smg has --block-size ${own}, and ${namesOf(sized)} ${tokens}`,
      consequence:
        "Its number counts until the first KV event says the workers' own; without events it has no effect.",
      advice: `Set --block-size to ${tokens}, or leave it out.`,
      fix: replaceNumber(setting, tokens, `Set --block-size to ${tokens}, as the workers have it`),
      related: sizesOf(sized),
    }),
  ];
}

function disaggregated(
  rule: Rule,
  launch: Launch,
  { context, generation }: Gateway,
  fleet: Fleet,
): readonly Finding[] {
  if (context === undefined || generation === undefined) return [];
  return [
    ...contextAndGeneration(rule, launch, context, generation),
    ...serversOfTheirOwn(rule, launch, fleet),
    ...[context, generation].flatMap((servers) => routerAndServers(rule, launch, servers, fleet)),
  ];
}

/** Servers that are started by commands of their own, beside the router: `trtllm-serve MODEL --extra_llm_api_options FILE`. */
function serversBeside({ workers }: Fleet): readonly WorkerFacts[] {
  return workers.filter(({ launch }) => launch.program === 'trtllm-serve');
}

/** Which of them are context and which generation servers does not matter: all need one size. */
function serversOfTheirOwn(rule: Rule, launch: Launch, fleet: Fleet): readonly Finding[] {
  const sized = serversBeside(fleet).filter(({ size }) => size !== undefined);
  const [first] = sized;
  const other = sized.find(({ size }) => size?.tokens !== first?.size?.tokens);
  const setting = other?.size?.setting ?? first?.size?.setting;
  if (first?.size === undefined || other?.size === undefined || setting === undefined) return [];
  return [
    findingAt(rule, setting.span, {
      message: `servers of ${launch.program} have block sizes of ${first.size.tokens} and ${other.size.tokens} tokens`,
      consequence:
        'Blocks go from context to generation servers as they are. With different sizes the transfer is refused, and requests fail.',
      advice: 'Give all of them the same kv_cache_config.tokens_per_block.',
      related: sizesOf([first, other]),
    }),
  ];
}

function sizeOf({ tokensPerBlock, hasCacheConfig }: DisaggregatedServers): number | undefined {
  return tokensPerBlock === undefined && hasCacheConfig ? TRTLLM_DEFAULT_TOKENS : numberOf(tokensPerBlock);
}

function contextAndGeneration(
  rule: Rule,
  launch: Launch,
  context: DisaggregatedServers,
  generation: DisaggregatedServers,
): readonly Finding[] {
  const [first, second] = [sizeOf(context), sizeOf(generation)];
  const setting = generation.tokensPerBlock ?? context.tokensPerBlock;
  if (first === undefined || second === undefined || first === second || setting === undefined) return [];
  return [
    findingAt(rule, setting.span, {
      message: `the generation servers of ${launch.program} have a block size of ${second} tokens, and its context servers ${first}`,
      consequence:
        'Blocks go from context to generation servers as they are. With different sizes the transfer is refused, and requests fail.',
      advice: 'Give both the same kv_cache_config.tokens_per_block.',
      related: related([context.tokensPerBlock, generation.tokensPerBlock]),
    }),
  ];
}

function routerAndServers(
  rule: Rule,
  launch: Launch,
  servers: DisaggregatedServers,
  fleet: Fleet,
): readonly Finding[] {
  const { routerType, routerTokensPerBlock } = servers;
  if (routerType?.value !== 'kv_cache_aware') return [];
  const own = routerTokensPerBlock === undefined ? TRTLLM_DEFAULT_TOKENS : numberOf(routerTokensPerBlock);
  const beside = serversBeside(fleet);
  const isOne = beside.length > 0 && beside.every(({ size }) => size?.tokens === beside[0]?.size?.tokens);
  const tokens = sizeOf(servers) ?? (isOne ? beside[0]?.size?.tokens : undefined);
  if (own === undefined || tokens === undefined || own === tokens) return [];
  return [
    findingAt(rule, (routerTokensPerBlock ?? routerType).span, {
      message: `the kv_cache_aware router of ${launch.program} uses a block size of ${own} tokens${routerTokensPerBlock === undefined ? ' by default' : ''}, and its servers ${tokens}`,
      advice: `Set tokens_per_block of the router to ${tokens}.`,
      fix:
        routerTokensPerBlock === undefined
          ? undefined
          : replaceNumber(routerTokensPerBlock, tokens, `Set tokens_per_block of the router to ${tokens}`),
      related: related([servers.tokensPerBlock]),
    }),
  ];
}

function related(
  settings: readonly (SettingValue | undefined)[],
): readonly { readonly span: SettingValue['span']; readonly says: string }[] {
  return settings.flatMap((setting) =>
    setting === undefined ? [] : [{ span: setting.span, says: `${setting.name} is ${setting.value}` }],
  );
}
