import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { AgreementOptions } from '../../src/core/agreement/state/options.js';
import type { CacheView } from '../../src/core/contract/wire/cache-view.js';
import { evidenceSourceName } from '../../src/core/contract/wire/names.js';
import { EngineKind, EvidenceSource } from '../../src/gen/kvaccord/v1/capabilities.js';
import { TestFleet } from '../support/fleet.js';

/**
 * Transcripts of the agreement. Lines that start with `>` are commands, the
 * lines below each are what it must give. `UPDATE_SCENARIOS=1 npx vitest run
 * test/scenarios` writes them again; the diff is the review.
 */
const folder = fileURLToPath(new URL('.', import.meta.url));

function milliseconds(text: string): number {
  const match = /^(\d+)(ms|s)$/.exec(text);
  if (match === null) throw new Error(`not a duration: ${text}`);
  return Number(match[1]) * (match[2] === 's' ? 1_000 : 1);
}

function readOptions(words: readonly string[]): Partial<AgreementOptions> {
  const options: Record<string, unknown> = {};
  for (const word of words) {
    const [name = '', value = ''] = word.split('=');
    if (/Ms$/.test(name)) options[name] = milliseconds(value);
    else if (/^\d+$/.test(value)) options[name] = Number(value);
    else options[name] = value === 'true' ? true : value;
  }
  return options as Partial<AgreementOptions>;
}

const SOURCES: Readonly<Record<string, EvidenceSource>> = {
  declared: EvidenceSource.DECLARED,
  observed: EvidenceSource.OBSERVED_EVENT,
};

const KINDS: Readonly<Record<string, EngineKind>> = {
  dynamo: EngineKind.DYNAMO,
  trtllm: EngineKind.TENSORRT_LLM,
};

/** `a 32 model=tiny instance=a-2 rev=3 unusable=starting draining=true declares=16 source=observed kind=dynamo`. */
function report(fleet: TestFleet, words: readonly string[]): void {
  const [target = '', size = '32', ...rest] = words;
  const given = Object.fromEntries(rest.map((word) => word.split('=') as [string, string]));
  fleet.report(target, {
    size: Number(size),
    ...(given['model'] === undefined ? {} : { model: given['model'] }),
    ...(given['instance'] === undefined ? {} : { instance: given['instance'] }),
    ...(given['rev'] === undefined ? {} : { revision: Number(given['rev']) }),
    ...(given['unusable'] === undefined ? {} : { unusable: given['unusable'] }),
    ...(given['draining'] === undefined ? {} : { draining: true }),
    ...(given['declares'] === undefined ? {} : { declares: Number(given['declares']) }),
    ...optional('source', SOURCES[given['source'] ?? '']),
    ...optional('kind', KINDS[given['kind'] ?? '']),
  });
}

function optional<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>);
}

function show(fleet: TestFleet): string[] {
  const { groups, unassigned, reasons } = fleet.view();
  const lines = reasons.map(({ code, text }) => `no group: ${code}: ${text}`);
  for (const group of groups) {
    const size = group.values?.tokens_per_block ?? '-';
    const gate = `gate ${group.gateOpen ? 'open' : 'shut'}, ${group.ready ? 'ready' : 'not ready'}`;
    lines.push(
      `group ${group.group}: ${group.state}, epoch ${group.epoch}, tokens_per_block ${size}, ${gate}`,
    );
    if (group.gateOpen) lines.push(`  routing ${group.routingMode}: ${group.routingReason}`);
    for (const reason of group.reasons) lines.push(`  because ${reason.code}`);
    for (const member of group.members) {
      const cacheView = member.cacheView === undefined ? '' : `, cache view ${member.cacheView}`;
      lines.push(
        `  ${member.target} ${member.state} ${member.tokensPerBlock ?? '-'} offered ${member.offer}${cacheView}`,
      );
    }
  }
  for (const member of unassigned) lines.push(`no group: ${member.target} ${member.state}: ${member.reason}`);
  return lines;
}

function play(script: string): string {
  let fleet = new TestFleet();
  const out: string[] = [];
  for (const line of script.split('\n')) {
    if (!line.startsWith('>')) {
      if (line.startsWith('#') || line === '') out.push(line);
      continue;
    }
    out.push(line);
    const [command = '', ...words] = line.slice(1).trim().split(/\s+/);
    const before = fleet.effects.length;
    const lines: string[] = [];
    switch (command) {
      case 'fleet':
        fleet = new TestFleet(readOptions(words));
        continue;
      case 'list':
        fleet.do({
          type: 'listed',
          members: words.map((word) => ({ target: word.replace('!', ''), draining: word.endsWith('!') })),
        });
        break;
      case 'report':
        report(fleet, words);
        break;
      case 'broken':
        fleet.broken(words[0] ?? '', words.slice(1).join(' '));
        break;
      case 'alive':
        fleet.alive(words[0] ?? '');
        break;
      case 'cache-view':
        fleet.cacheViewChanged(words[0] ?? '', (words[1] ?? '') as CacheView, words.slice(2).join(' '));
        break;
      case 'mismatch':
        fleet.mismatched(words[0] ?? '', Number(words[1]), Number(words[2] ?? 1));
        break;
      case 'wait':
        fleet.advance(milliseconds(words[0] ?? ''));
        break;
      case 'show':
        lines.push(...show(fleet));
        break;
      default:
        throw new Error(`unknown command ${command}`);
    }
    for (const effect of fleet.effects.slice(before)) {
      if (effect.type === 'log') lines.push(...`${effect.level.toUpperCase()} ${effect.message}`.split('\n'));
      else if (effect.type === 'gate')
        lines.push(`gate of ${effect.group} ${effect.open ? 'opens' : 'shuts'}`);
      else if (effect.type === 'epoch_started') lines.push(`epoch ${effect.epoch} of ${effect.group} starts`);
      else if (effect.type === 'epoch_ended') lines.push(`epoch ${effect.epoch} of ${effect.group} ends`);
      else if (effect.type === 'forget_instance') lines.push(`forget ${effect.instanceId}`);
      else if (effect.type === 'mismatch')
        lines.push(`mismatches of ${effect.worker} + ${effect.count} (${evidenceSourceName(effect.source)})`);
      else if (effect.type === 'refuse') lines.push('the process ends');
    }
    out.push(...lines.map((text) => `    ${text}`));
  }
  return out.join('\n');
}

describe('transcripts', () => {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.txt'))) {
    it(`${file.replace('.txt', '').replaceAll('-', ' ')}`, () => {
      const path = `${folder}/${file}`;
      const script = readFileSync(path, 'utf8');
      const played = play(script);
      if (process.env['UPDATE_SCENARIOS'] === '1') writeFileSync(path, played);
      else expect(played).toBe(script);
    });
  }
});
