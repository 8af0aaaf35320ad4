import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import type { Refusal } from '../kustomize/refusal.js';

/** What kubectl does not build. */
export const kustomizationRefused: Rule = {
  id: 'kustomization-refused',
  severity: 'note',
  summary: 'A kustomization is one that kubectl refuses to build, and nothing of it is deployed.',
  explanation:
    'The command kubectl apply -k ends with an error before it applies anything. Lint looked at what it would have made.',
};

/** Why kustomizations are refused. `isUnrestricted`: a script of the set builds them with `--load-restrictor LoadRestrictionsNone`. */
export function findRefused(refusals: readonly Refusal[], isUnrestricted: boolean): readonly Finding[] {
  return refusals
    .filter(({ kind }) => kind !== 'outside' || !isUnrestricted)
    .map(({ kind, span, what }) =>
      findingAt(kustomizationRefused, span, {
        message:
          kind === 'outside'
            ? `the kustomization names ${what}, a file outside of its own folder`
            : `the kustomization has ${what} twice`,
        advice:
          kind === 'outside'
            ? 'Move the file below the kustomization, make a base of its folder, or build with kustomize build --load-restrictor LoadRestrictionsNone.'
            : 'Name one of the two, or change the first by a patch.',
      }),
    );
}
