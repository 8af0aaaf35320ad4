import { isIP } from 'node:net';
import { onOneLine } from '../../../core/text/printable.js';
import { listAt, textAt } from '../../../edge/kubernetes/read-json.js';
import { formatTcp } from '../../../edge/platform/address.js';
import type { Endpoint } from '../source.js';
import type { ClusterMembers } from './kubernetes-source.js';
import { onePerAddress } from './one-per-address.js';
import { clueOf, type PodClue } from './pod-controllers.js';

/** Longest part of the scheduler's words that a message repeats. */
const MAX_WORDS_CHARS = 200;

/** RFC 1123, as the API server asks for it: what has another name was not made by it. */
export const POD_NAME: RegExp = /^[a-z0-9][a-z0-9.-]{0,252}$/;

/** What is kept of a pod. */
export interface ListedPod {
  readonly name: string;
  readonly uid: string | undefined;
  readonly ip: string | undefined;
  readonly draining: boolean;
  /** No node is found for it yet: nothing of it runs. */
  readonly unscheduled: boolean;
  /** Why it has no address yet; empty when it has one. */
  readonly pending: string;
  readonly clue: PodClue;
}

/** Reads a pod; undefined for one that has ended, which no longer counts. */
export function readPod(object: unknown): ListedPod | undefined {
  const name = textAt(object, 'metadata', 'name');
  const phase = textAt(object, 'status', 'phase') ?? 'Pending';
  if (name === undefined || !POD_NAME.test(name) || phase === 'Succeeded' || phase === 'Failed')
    return undefined;
  const ip = textAt(object, 'status', 'podIP') ?? textAt(listAt(object, 'status', 'podIPs')[0], 'ip');
  const clue = clueOf(object);
  const isAddress = ip !== undefined && isIP(ip) !== 0;
  return {
    name,
    uid: textAt(object, 'metadata', 'uid'),
    ip: isAddress ? ip : undefined,
    draining: clue.draining,
    unscheduled: !isAddress && textAt(object, 'spec', 'nodeName') === undefined,
    pending: isAddress ? '' : pendingMessage(object, phase),
    clue,
  };
}

/** `its pod has no address yet (Pending, Unschedulable: 0/4 nodes are available)`. */
function pendingMessage(object: unknown, phase: string): string {
  const unscheduled = listAt(object, 'status', 'conditions').find(
    (condition) => textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'status') === 'False',
  );
  const reason = textAt(unscheduled, 'reason');
  const message = textAt(unscheduled, 'message');
  const why = reason === undefined ? '' : `, ${reason}${message === undefined ? '' : `: ${message}`}`;
  return onOneLine(`its pod has no address yet (${phase}${why}`, MAX_WORDS_CHARS).concat(')');
}

export interface PodMembersOptions {
  readonly port: number;
  /** What a member is called. */
  readonly nameOf: (pod: string) => string;
  /** What was asked for, for the message when there is none. */
  readonly asked: string;
}

/** The members among pods. Those without an address are members too: they are the ones to wait for. */
export function membersOfPods(
  pods: readonly ListedPod[],
  { port, nameOf, asked }: PodMembersOptions,
): ClusterMembers {
  const sorted = [...pods].sort((a, b) => (a.name < b.name ? -1 : 1));
  const endpoints = onePerAddress(
    sorted.map(({ name, uid, ip, draining, unscheduled, pending }): Endpoint => {
      const place = ip === undefined ? { pending } : { address: formatTcp(ip, port) };
      return {
        target: nameOf(name),
        ...place,
        ...(draining ? { draining } : {}),
        ...(unscheduled ? { unscheduled } : {}),
        ...(uid === undefined ? {} : { identity: uid }),
      };
    }),
  );
  return {
    endpoints,
    problems:
      endpoints.length > 0 ? [] : [`no pods have the labels ${asked}; check the selector and the namespace`],
    pods: sorted.map(({ clue }) => clue),
  };
}
