import { type Content, placeOf, readContent } from './content.js';
import { KubernetesError } from './kubernetes-error.js';

/** What shows the API server who asks. Secret: it must reach no message. */
export interface Credentials {
  /** Goes behind `Bearer`. */
  readonly token?: string;
  /** PEM, both or none. */
  readonly certificate?: string;
  readonly key?: string;
}

/** Where credentials come from. */
export interface Login {
  /** For messages: a file, a field or a program; never a secret. */
  readonly from: string;
  /** What to show now. Rejects with a `KubernetesError`. */
  credentials(): Promise<Credentials>;
  /** The server did not take what was shown: what is kept is not to be shown again. */
  refused(): void;
  /** Ends what still runs for an answer; nothing is asked afterwards. */
  close(): void;
}

/** Contents as they are at each request: files may have been rotated. */
export class ContentLogin implements Login {
  readonly from: string;
  readonly #token: Content | undefined;
  readonly #certificate: Content | undefined;
  readonly #key: Content | undefined;

  constructor(contents: {
    readonly token?: Content | undefined;
    readonly certificate?: Content | undefined;
    readonly key?: Content | undefined;
  }) {
    this.#token = contents.token;
    this.#certificate = contents.certificate;
    this.#key = contents.key;
    const shown = contents.token ?? contents.certificate;
    this.from = shown === undefined ? 'nowhere: there are no credentials' : placeOf(shown);
  }

  async credentials(): Promise<Credentials> {
    const [token, certificate, key] = await Promise.all(
      [this.#token, this.#certificate, this.#key].map((content) =>
        content === undefined ? undefined : readContent(content),
      ),
    );
    return {
      ...(token === undefined ? {} : { token: checkedToken(token, this.from) }),
      ...(certificate === undefined || key === undefined ? {} : { certificate, key }),
    };
  }

  /** Nothing is kept. */
  refused(): void {}

  /** Nothing runs. */
  close(): void {}
}

/** A token without the line break that files end with. */
export function checkedToken(text: string, from: string): string {
  const token = text.trim();
  // What a header cannot hold would be refused by undici, with the token in its message.
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new KubernetesError(
    'no_configuration',
    `${from}: ${token === '' ? 'is empty' : 'holds no token: there are characters in it that no token has'}`,
  );
}
