import type { Content } from './content.js';
import type { Login } from './login.js';

/** How one API server is reached, and as whom. */
export interface ClusterAccess {
  /** http or https; may have a path, without a slash at its end. */
  readonly server: URL;
  readonly namespace: string;
  /** Who must have signed its certificate; undefined for the public authorities that Node knows. */
  readonly ca: Content | undefined;
  /** The name that its certificate must have, where that is not the server's host. */
  readonly serverName: string | undefined;
  /** Its certificate is not looked at. */
  readonly skipsVerification: boolean;
  readonly login: Login;
}
