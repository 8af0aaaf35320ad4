import type { Fleet } from '../facts/fleet.js';
import { eventsOff } from '../facts/router-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { mayBeUnseen, settingOf, variableOf } from '../launches/settings.js';

const rule: Rule = {
  id: 'event-plane-differs',
  severity: 'error',
  summary: 'A router reads KV events from another event plane than its workers publish to.',
  explanation:
    'Workers publish their KV events to one plane (NATS or ZMQ), and the router listens at the other: its index stays empty, requests go by load alone, and nothing reports it.',
};

/** What carries KV events between Dynamo's programs: `--event-plane`, `DYN_EVENT_PLANE`. */
export const eventPlaneDiffers: LintRule = {
  rule,
  check({ frontends, routers, dynamoWorkers }: Fleet): readonly Finding[] {
    const listening = frontends.filter(
      ({ kvMode, noEvents }) => kvMode !== undefined && noEvents === undefined,
    );
    const listeners = [
      ...listening.map(({ launch }) => launch),
      ...routers.filter((router) => eventsOff(router) === undefined),
    ];
    const [listener] = listeners;
    // With several it is not said which of them reads whose events.
    if (listener === undefined || listeners.length > 1) return [];
    const theirs = planeOf(listener);
    return dynamoWorkers
      .filter(({ publishes }) => publishes !== false)
      .flatMap(({ launch }) => compare(launch, planeOf(launch), listener, theirs));
  },
};

function planeOf(launch: Launch): SettingValue | undefined {
  return settingOf(launch, ['--event-plane'], ['DYN_EVENT_PLANE']);
}

function compare(
  worker: Launch,
  ours: SettingValue | undefined,
  listener: Launch,
  theirs: SettingValue | undefined,
): readonly Finding[] {
  if (ours?.value !== undefined && theirs?.value !== undefined)
    return ours.value === theirs.value
      ? []
      : [
          findingAt(rule, ours.span, {
            message: `${nameOf(worker)} publishes KV events by ${ours.value} (${ours.name}), and ${nameOf(listener)} reads them from ${theirs.value}`,
            advice: `Give all programs of Dynamo the same ${ours.name}.`,
            related: [{ span: theirs.span, says: `${theirs.name} is ${theirs.value}` }],
          }),
        ];
  const set = ours ?? theirs;
  const [silent, other] = ours === undefined ? [worker, listener] : [listener, worker];
  if (set?.value !== 'zmq' || (ours !== undefined && theirs !== undefined)) return [];
  // In a cluster the operator sets variables of its own; and only what has an address of NATS certainly uses it.
  if (silent.site !== undefined || mayBeUnseen(silent) || !usesNats(silent)) return [];
  return [
    findingAt(rule, set.span, {
      severity: 'warning',
      message: `${nameOf(other)} has ${set.name} ${set.value}, and ${nameOf(silent)} has none and an address of NATS, which it takes then`,
      advice: `Give all programs of Dynamo the same ${set.name}.`,
      related: [{ span: silent.at, says: `${nameOf(silent)} has no event plane of its own` }],
    }),
  ];
}

/** Whether nothing but NATS comes into question for a program that names no event plane. */
function usesNats(launch: Launch): boolean {
  const discovery = settingOf(launch, ['--discovery-backend'], ['DYN_DISCOVERY_BACKEND'])?.value ?? 'etcd';
  return variableOf(launch, 'NATS_SERVER') !== undefined && ['etcd', 'kubernetes'].includes(discovery);
}
