import type { JSX } from 'preact';
import { store } from '../browser/stored.js';

/** Asks for a token. It stays in this tab, and is sent to this server alone. */
export function SignIn({ problem, onToken }: { readonly problem: string; onToken(): void }): JSX.Element {
  return (
    <form
      class="sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        const given = new FormData(event.currentTarget).get('token');
        store('token', typeof given === 'string' ? given.trim() : '');
        onToken();
      }}
    >
      <h1>Access token</h1>
      <p role="alert">{problem}</p>
      <label>
        Token, as in <code>--token-file</code> of the server
        <input name="token" type="password" autocomplete="off" spellcheck={false} required autofocus />
      </label>
      <button type="submit">Show the fleet</button>
      <p class="dim">The token stays in this tab until you close it.</p>
    </form>
  );
}
