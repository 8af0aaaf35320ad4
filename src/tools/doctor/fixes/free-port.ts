import type { Repair } from './repair.js';

/** "('0.0.0.0', 8000): address already in use", "tcp://*:5557", "port: 29500", "address ::1:30000". */
const PORT =
  /(?:\('[\w.:*]{0,60}', (?=\d)|\btcp:\/\/[^\s:/]{1,60}:|\bport:? ?=? ?(?=\d)|\b(?:\d{1,3}\.){3}\d{1,3}:|\[::\]:|\bPort )(\d{2,5})\b/;
/** Where PyTorch's ranks of one engine meet, unless another one is set. */
const RENDEZVOUS = '29500';

/** Frees the port that an error names, or gives the program another one; undefined where it names none. */
export function freePort(sentence: string): Repair | undefined {
  const port = PORT.exec(sentence)?.[1];
  if (port === undefined) return undefined;
  const another =
    port === RENDEZVOUS
      ? 'give this program another one (MASTER_PORT; --master-port of vLLM, --dist-init-addr or --nccl-port of SGLang)'
      : 'give this program another one (--port, or the setting that has this number)';
  return {
    says: `Free port ${port}: ss -ltnp "sport = :${port}" shows the process that has it, as a rule one of an earlier start, which has to end; or ${another}`,
    why: 'Two processes of one host (hostNetwork counts as one) cannot listen at one port. Ranks and engines count up from a base port: leave room between those of two engines.',
    commands: [`ss -ltnp "sport = :${port}"    # on the host, or in the pod: who has it`],
  };
}
