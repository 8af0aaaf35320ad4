import type { KubernetesApi } from '../../../edge/kubernetes/api.js';
import { KubernetesError } from '../../../edge/kubernetes/kubernetes-error.js';

/** Objects that are asked for in one count; a fleet has a few workloads. */
const MAX_QUESTIONS = 200;

const TOO_MANY = `the pods have more than ${MAX_QUESTIONS} controllers`;

/** What is asked of the cluster for one count. */
export class CountQuestions {
  readonly #api: KubernetesApi;
  readonly #namespace: string;
  readonly #signal: AbortSignal;
  readonly #answers = new Map<string, unknown>();
  /** Controllers whose own controllers mattered. */
  readonly parents: Set<string> = new Set();
  /** Whether the cluster left a question open: a refusal and an absence are answers, a silence is none. */
  isUnanswered = false;

  constructor(api: KubernetesApi, namespace: string, signal: AbortSignal) {
    this.#api = api;
    this.#namespace = namespace;
    this.#signal = signal;
  }

  ask(apiVersion: string, plural: string, name: string): Promise<unknown> {
    return this.get(pathOf(apiVersion, this.#namespace, plural, name));
  }

  /** The object, or why there is none. The same question is asked once. */
  async get(path: string): Promise<unknown> {
    if (this.#answers.has(path)) return this.#answers.get(path);
    if (this.#answers.size >= MAX_QUESTIONS) return new KubernetesError('refused', TOO_MANY);
    let answer: unknown;
    try {
      answer = await this.#api.get({ path, signal: this.#signal });
    } catch (error) {
      if (this.#signal.aborted || !(error instanceof KubernetesError)) throw error;
      answer = error;
      if (isSilence(error)) this.isUnanswered = true;
    }
    this.#answers.set(path, answer);
    return answer;
  }
}

/** Where the API has an object. */
export function pathOf(apiVersion: string, namespace: string, plural: string, name: string): string {
  const root = apiVersion.includes('/') ? '/apis' : '/api';
  const parts = ['namespaces', namespace, plural, name].map(encodeURIComponent);
  return `${root}/${apiVersion.split('/').map(encodeURIComponent).join('/')}/${parts.join('/')}`;
}

/** Whether an error says nothing of what was asked for. */
function isSilence({ code }: KubernetesError): boolean {
  return code !== 'forbidden' && code !== 'not_found';
}

/** What is wrong with the count where a question was answered with an error. */
export function unanswered(error: KubernetesError): string {
  if (!isSilence(error) || error.message === TOO_MANY) return uncounted(error.message);
  return `--min-workers auto: ${error.message}. What was expected last still counts.`;
}

/** What is wrong with the count where a workload does not say how many pods it is to have. */
export function uncounted(why: string): string {
  return `--min-workers auto: ${why.replace(/\.$/, '')}. The workers that are listed are counted in its place.`;
}
