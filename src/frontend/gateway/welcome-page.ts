import { type HttpAnswer, jsonAnswer, textAnswer } from '../../edge/http/answer.js';
import { html } from '../../edge/http/html.js';
import { APIS } from '../apis/api.js';
import type { RouterPage } from './router-page.js';

/** What stands on the page. */
export interface WelcomeContent {
  readonly version?: string;
  /** Where the status page is, as `--http-listen` says: `127.0.0.1:9091`. Absent: there is none. */
  readonly statusAddress?: string;
  /** Where that of the router is, which is another process. Undefined: there is none, or it is not known. */
  readonly routerPage?: RouterPage | undefined;
}

/** All that the OpenAI server answers. */
const ENDPOINTS: readonly (readonly [endpoint: string, what: string])[] = [
  ...APIS.map(({ path, what }) => [`POST ${path}`, what] as const),
  ['GET /v1/models', 'the models that are served'],
  ['GET /health', 'whether they are served, and why not'],
  ['GET /livez', 'whether this process lives'],
  ['GET /readyz', 'whether it can serve; ?verbose says more'],
  ['GET /metrics', 'metrics for Prometheus'],
];

/** Nothing is loaded, nothing runs, nobody frames it, and its forms go nowhere. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The page at `/`: HTML for who asks for it, JSON likewise, else plain text. Nothing of a request stands in it. */
export function welcomePage(accept: string | undefined, content: WelcomeContent): HttpAnswer {
  const { version, statusAddress, routerPage } = content;
  const title = `kv-accord frontend ${version ?? ''}`.trimEnd();
  const [status, page] = statusText(statusAddress, routerPage);
  const answer = formOf(accept);
  if (answer === 'json')
    return varied(
      jsonAnswer(200, {
        program: 'kv-accord frontend',
        version: version ?? null,
        endpoints: ENDPOINTS.map(([endpoint, what]) => ({ endpoint, what })),
        status_page: statusAddress ?? page ?? null,
      }),
    );
  if (answer === 'text') {
    const width = Math.max(...ENDPOINTS.map(([endpoint]) => endpoint.length));
    const lines = ENDPOINTS.map(([endpoint, what]) => `  ${endpoint.padEnd(width)}  ${what}`);
    return varied(
      textAnswer(
        200,
        [title, '', ...lines, '', page === undefined ? status : `${status} ${page}`].join('\n'),
      ),
    );
  }
  const rows = ENDPOINTS.map(
    ([endpoint, what]) => html`<tr><td><code>${endpoint}</code></td><td>${what}</td></tr>`,
  );
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 50rem; padding: 0 1rem; }
h1 { font-size: 1.1rem; } td { padding: .2rem 1.5rem .2rem 0; vertical-align: top; }
</style>
</head>
<body>
<h1>${title}</h1>
<p>An OpenAI-compatible server over a fleet of workers.</p>
<table>${rows}</table>
<p>${status} ${page === undefined ? '' : html`<a href="${page}">${page}</a>`}</p>
</body>
</html>
`;
  return varied(
    { status: 200, contentType: 'text/html; charset=utf-8', body: document.text },
    { 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' },
  );
}

/** What is said of a status page, and its URL where it can be opened from here. */
function statusText(
  address: string | undefined,
  routerPage: RouterPage | undefined,
): readonly [words: string, url?: string] {
  if (address !== undefined) return [`Status page, by --http-listen: ${address}, path /`];
  if (routerPage === undefined) return ['There is no status page.'];
  const { url, router, isLocal } = routerPage;
  return isLocal
    ? [`Status page of the router (${router}), on its machine alone (its --http-listen): ${url}`]
    : [`Status page of the router (${router}), with what is routed here:`, url];
}

function formOf(accept: string | undefined): 'html' | 'json' | 'text' {
  if (accept?.includes('text/html') === true) return 'html';
  return accept?.includes('application/json') === true ? 'json' : 'text';
}

function varied(answer: HttpAnswer, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  return { ...answer, headers: { ...headers, vary: 'accept' } };
}
