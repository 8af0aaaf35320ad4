import { nameSome } from '../../core/text/lists.js';

/** One group's claim to a name. */
export interface NameClaim {
  readonly group: string;
  /** Its workers that serve the name: each is one vote. */
  readonly workers: number;
}

/** A name that several groups claim. */
export interface NameConflict {
  readonly name: string;
  /** The group that has it all the same, because most of the workers that serve the name are its own; undefined where none has. */
  readonly owner: string | undefined;
  /** Who claims it and what to change, in words for an operator. */
  readonly text: string;
}

/**
 * Whose a name is. One claim is no question. Of several, the group has it whose
 * workers are more than half of all that serve the name, so that a single
 * worker cannot take a name from others, nor take it out of service; else
 * no model has it, because a request could come to the wrong model.
 */
export function settleName(
  name: string,
  claims: readonly NameClaim[],
): NameConflict | { readonly owner: string } {
  const [first, ...others] = claims;
  if (first !== undefined && others.length === 0) return { owner: first.group };
  const all = claims.reduce((sum, { workers }) => sum + workers, 0);
  const owner = claims.find(({ workers }) => workers * 2 > all)?.group;
  const named = nameSome(claims.map(({ group, workers }) => `"${group}" (${workers} of ${all} workers)`));
  const fate = owner === undefined ? 'no request for it is routed' : `requests for it go to "${owner}" alone`;
  return {
    name,
    owner,
    text: `The model name "${name}" is served by several models: ${named}; ${fate}. Give each model names of its own (--served-model-name).`,
  };
}
