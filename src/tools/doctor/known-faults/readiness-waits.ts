import type { KnownFault } from './known-fault.js';

/** What a script, a test or a launcher says when the servers that it waited for did not come up: what they failed of is in their own logs. */
export const READINESS_WAITS: readonly KnownFault[] = [
  {
    id: 'not_ready_in_time',
    cause: 'program_ended',
    needles: [
      'failed to start in ',
      'failed to start within',
      'nodes are ready after',
      'nodes to be ready',
      'become ready within',
      'become ready in ',
      'become healthy within',
      'become healthy in ',
      'waiting for server to ',
      'waiting for the server to ',
    ],
    above: ['is not ready yet', 'is not healthy yet'],
    // What a script would print is none.
    pattern:
      /^(?!.{0,400}(?:\becho\b|\bprintf?\b|\braise \w|\bthrow\b|\blog_\w{1,20} ["']|\$\{))(?:.{0,600}?\b((?:[Nn]ode|[Ww]orker|[Ss]erver|[Ee]ngine) [\w.:/-]{4,80}) is not (?:ready|healthy) yet)?.{0,1000}?\b((?:[Ss]erver|[Ee]ngine|[Ww]orker|[Rr]outer|[Nn]ode|vLLM|SGLang|Not all nodes)\b.{0,120}?(?:failed to start (?:in|within)|(?:did not|didn't) (?:become|get) (?:ready|healthy) (?:in|within)|are ready after) (?:time|the timeout|\d{1,6} ?(?:s\b|sec|min))|Failed to wait for all nodes to be ready|[Tt]imed? ?out (?:while )?waiting for (?:the )?server to (?:start|become|be ready))/,
    isSign: true,
    says: 'what was waited for did not come up in time: $2 ($1)',
    why: 'A script, a test or a launcher gave up. The server that it waited for has ended, still loads its model, or listens where the script does not ask; a router that is started behind such a wait never runs.',
    cure: 'Read the log of the server that is not ready, and ask it from where the script runs (curl -i http://HOST:PORT/health): start it again where it has ended, correct host and port where it answers elsewhere, and raise the time limit where it still loads',
    commands: ['curl -i http://HOST:PORT/health', 'ss -ltnp | grep PORT    # on the host of that server'],
  },
];
