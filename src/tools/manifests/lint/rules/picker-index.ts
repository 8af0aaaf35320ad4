import { askedWorkers } from '../facts/asked-workers.js';
import type { Fleet } from '../facts/fleet.js';
import { socketsOf, usesEngineKeys } from '../facts/picker-sockets.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { type Gateway, isLlmdPicker, type Launch, nameOf } from '../launches/launch.js';
import { flagOf } from '../launches/settings.js';
import { textOfWord, UNKNOWN } from '../shell/words.js';
import { type Span, textAt } from '../text/span.js';

const rule: Rule = {
  id: 'picker-index-empty',
  severity: 'error',
  summary:
    'The endpoint picker of llm-d has an index that no KV event reaches, that nothing asks, or that its release does not make; or it does not start, as a profile names a plugin that is not there.',
  explanation:
    'The index stays empty, and every worker has the score 0 for every prompt. Neither the picker nor a worker reports it: a ZeroMQ socket waits for ever for its other end.',
};

/** An `EndpointPickerConfig` whose precise prefix cache plugin can know nothing. */
export const pickerIndexEmpty: LintRule = {
  rule,
  check: (fleet) => {
    const pickers = fleet.gateways.filter(({ gateway }) => isLlmdPicker(gateway));
    const [picker] = pickers;
    const ignored = fleet.gateways.flatMap((launch) => ignoredMode(launch));
    if (picker === undefined) return ignored;
    const unasked = pickers.flatMap((launch) => [...undefinedRef(launch), ...unaskedPlugin(launch)]);
    // Which of several is for which worker is not in the files.
    return [...ignored, ...unasked, ...(pickers.length > 1 ? [] : reception(picker, fleet))];
  },
};

function ignoredMode({ program, gateway }: Launch): readonly Finding[] {
  const mode = gateway?.ignoredMode;
  if (mode === undefined) return [];
  return [
    findingAt(rule, mode.span, {
      severity: 'warning',
      message: `the ${program} ${mode.version} takes no notice of mode: ${mode.value ?? ''}, and has no index of KV events`,
      consequence:
        'The mode is one of 0.2. From 0.3 on this scorer guesses from its own decisions, whatever its workers publish, and its block size and hash seed are not read; nothing reports it.',
      advice:
        'Use type: precise-prefix-cache-scorer without mode, before workers that publish KV events. Take mode out where a guess is meant.',
    }),
  ];
}

function undefinedRef({ program, gateway }: Launch): readonly Finding[] {
  const named = gateway?.undefinedRef;
  if (named === undefined) return [];
  return [
    findingAt(rule, named.span, {
      message: `a schedulingProfile of the ${program} names ${named.value}, and no plugin has this name`,
      consequence:
        'The picker refuses the configuration ("references undefined plugin") and ends as it starts; requests then go as failureMode of the InferencePool says.',
      advice: `Name a plugin of the list in pluginRef, or add one with type: ${named.value} to plugins.`,
    }),
  ];
}

function unaskedPlugin({ program, gateway }: Launch): readonly Finding[] {
  const plugin = gateway?.unaskedPlugin;
  if (plugin === undefined) return [];
  return [
    findingAt(rule, plugin.span, {
      message: `no schedulingProfile of the ${program} names the plugin ${plugin.value}`,
      consequence: 'Its index is kept, and decides nothing: requests go by the other scorers alone.',
      advice: `Add pluginRef: ${plugin.value} with a weight to a schedulingProfile, or take the plugin out.`,
    }),
  ];
}

function reception(picker: Launch, fleet: Fleet): readonly Finding[] {
  const { gateway } = picker;
  if (gateway === undefined || (gateway.reception === undefined && gateway.release === undefined)) return [];
  const { connects, endpoint } = socketsOf(gateway);
  if (connects === false && endpoint === undefined && gateway.reception?.endpoint === undefined)
    return [
      findingAt(rule, gateway.reception?.at ?? picker.at, {
        message: `${picker.program} has kvEventsConfig with discoverPods: false and no zmqEndpoint: it listens to no worker`,
        advice:
          'Set discoverPods: true with podDiscoveryConfig.socketPort as the workers publish, or zmqEndpoint: tcp://*:5557 for workers that connect to it.',
      }),
    ];
  return askedWorkers(fleet, picker)
    .filter(({ launch }) => launch.backend === 'vllm')
    .flatMap(({ launch }) => unreached(picker, gateway, launch));
}

/** A worker whose socket and the picker's never meet. */
function unreached(picker: Launch, gateway: Gateway, worker: Launch): readonly Finding[] {
  const published = endpointOf(worker);
  if (published === undefined) return [];
  const { text, span, isBound, port, isOwn } = published;
  const { reception, release } = gateway;
  const { connects, endpoint, podPort: wanted } = socketsOf(gateway);
  // One that is written and not known waits somewhere, too.
  const listens = endpoint !== undefined || reception?.endpoint !== undefined;
  const by = release === undefined ? picker.program : `${picker.program} ${release.text}`;
  const related = [
    {
      span: reception?.at ?? picker.at,
      says: reception === undefined ? `${by} has no kvEventsConfig` : `${picker.program} has kvEventsConfig`,
    },
  ];
  if (isOwn)
    return [
      findingAt(rule, span, {
        message: `${nameOf(worker)} connects to its own pod (${text}), where ${by} does not wait`,
        consequence:
          'vLLM waits where its endpoint names no host, and connects to any other. No event leaves the pod: the index stays empty, and every worker has the score 0 for every prompt. Nothing reports it.',
        advice:
          connects === true
            ? `Let the worker wait (tcp://*:${port ?? 'PORT'}): the picker connects to the pods.`
            : `Name the picker's Service in the worker's endpoint (tcp://PICKER:${/:(\d+)$/.exec(endpoint ?? '')?.[1] ?? '5557'}).`,
        related,
      }),
    ];
  if (isBound && connects === false && listens)
    return [
      findingAt(rule, span, {
        message: `${nameOf(worker)} waits for subscribers at ${text}, and ${by} waits for workers at ${endpoint ?? ''}${reception?.endpoint === undefined ? ' by default' : ''}: none of them connects`,
        advice: `Name the picker's Service in the worker's endpoint (tcp://PICKER:${/:(\d+)$/.exec(endpoint ?? '')?.[1] ?? '5557'})${usesEngineKeys(gateway) === true ? '' : ', or set discoverPods: true'}.`,
        related,
      }),
    ];
  if (!isBound && connects === true && !listens)
    return [
      findingAt(rule, span, {
        message: `${nameOf(worker)} connects to ${text}, and ${picker.program} listens nowhere (discoverPods, no zmqEndpoint): it connects to the pods`,
        advice:
          'Let the worker bind its endpoint (tcp://*:PORT), with the port of podDiscoveryConfig.socketPort.',
        related,
      }),
    ];
  const own = /:(\d+)$/.exec(endpoint ?? '')?.[1];
  if (!isBound && own !== undefined && port !== undefined && port !== own && !mayLead(picker, port, own))
    return [
      findingAt(rule, span, {
        severity: 'warning',
        message: `${nameOf(worker)} connects to port ${port}, and ${by} waits at ${endpoint ?? ''}${reception?.endpoint === undefined ? ' by default' : ''}`,
        consequence: `Unless a Service leads from port ${port} to ${own}, no event reaches the picker: its index stays empty, and every worker has the score 0 for every prompt.`,
        advice: `Give the worker's endpoint the port ${own}, or the picker's zmqEndpoint the port ${port}.`,
        related,
      }),
    ];
  if (
    isBound &&
    connects === true &&
    !listens &&
    wanted !== undefined &&
    port !== undefined &&
    port !== wanted
  )
    return [
      findingAt(rule, span, {
        message: `${nameOf(worker)} publishes KV events at port ${port}, and ${by} connects to port ${wanted} of the pods${reception?.podPort === undefined ? ' by default' : ''}`,
        advice: `Set podDiscoveryConfig.socketPort to ${port}, or the port of --kv-events-config to ${wanted}.`,
        related:
          reception?.podPort === undefined
            ? related
            : [{ span: reception.podPort.span, says: `socketPort is ${wanted}` }],
      }),
    ];
  return [];
}

/** Whether a Service of the picker's file may lead from one port to the other: then the one stands there, and the other beside the endpoint that has it. */
function mayLead({ at, gateway }: Launch, from: string, to: string): boolean {
  const { text } = at.source;
  const timesOf = (port: string): number => [...text.matchAll(new RegExp(`\\b${port}\\b`, 'g'))].length;
  return timesOf(from) > 0 && (gateway?.reception?.endpoint === undefined || timesOf(to) > 1);
}

/**
 * Where a vLLM worker publishes, as far as it is written whole. vLLM binds an endpoint that names
 * no host (`*`, `::`, and by default `tcp://*:5557`), and connects to any other (`vllm/distributed/kv_events.py`). Port 0 is any.
 */
function endpointOf(launch: Launch):
  | {
      readonly text: string;
      readonly span: Span;
      readonly isBound: boolean;
      readonly port: string | undefined;
      /** Whether it is the address of its own pod. */
      readonly isOwn: boolean;
    }
  | undefined {
  const config = flagOf(launch, '--kv-events-config');
  const text = config === undefined ? '' : textOfWord(config);
  const own = config === undefined ? undefined : ownAddress(launch, text, textAt(config.span));
  if (config !== undefined && own !== undefined)
    return { ...own, span: config.span, isBound: false, isOwn: true };
  const [, written] = /"endpoint"\s*:\s*"(tcp:\/\/[^"\\]*)"/.exec(text) ?? [];
  const isLeftOut = config?.value !== undefined && !text.includes('"endpoint"');
  const endpoint = (isLeftOut ? 'tcp://*:5557' : written)?.replaceAll(UNKNOWN, '…');
  if (
    config === undefined ||
    endpoint === undefined ||
    !/^[!-~…]+$/.test(endpoint) ||
    /[${}<>]/.test(endpoint)
  )
    return undefined;
  const [, host = '', port] = /^tcp:\/\/(.*?)(?::(\d+))?$/.exec(endpoint) ?? [];
  const isBound = /[*]|::/.test(host);
  // A host that is not known as a whole names another one where a part of it is a name.
  if (
    host === '0.0.0.0' ||
    (endpoint.includes('…') && (isBound || !/[a-z0-9]/i.test(host) || port === undefined))
  )
    return undefined;
  return { text: endpoint, span: config.span, isBound, port: port === '0' ? undefined : port, isOwn: false };
}

/** An endpoint at the address of its own pod, which a variable of the container has: `tcp://$(POD_IP):5557`. */
function ownAddress(
  { container }: Launch,
  text: string,
  written: string,
): { readonly text: string; readonly port: string } | undefined {
  const [, port] = new RegExp(`"endpoint"\\s*:\\s*"tcp://${UNKNOWN}:(\\d+)"`).exec(text) ?? [];
  const [, variable = '', name = ''] =
    /endpoint\\?"\s*:\s*\\?"tcp:\/\/(\$[({]?([A-Za-z_]\w*)[)}]?):/.exec(written) ?? [];
  const isOwn = container?.env.some((one) => one.name === name && one.isPodAddress === true) === true;
  return port !== undefined && isOwn ? { text: `tcp://${variable}:${port}`, port } : undefined;
}
